package providerid_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/powervs/providerid"
)

func TestProviderID_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const text = "ibmpowervs://eu-de/eu-de-1/7845d372-d4e1-46b8-91fc-41051c984601/0d4e1f5a-7e5c-4f6d-8f4b-1a2b3c4d5e6f"
	id, err := providerid.Parse(text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id).To(Equal(providerid.ProviderID{
		Region: "eu-de", Zone: "eu-de-1", Workspace: "7845d372-d4e1-46b8-91fc-41051c984601", VM: "0d4e1f5a-7e5c-4f6d-8f4b-1a2b3c4d5e6f",
	}))
	g.Expect(id.String()).To(Equal(text))
}

func TestProviderID_refusesOtherTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ibmpowervs://", "ibmpowervs://dal/dal10/w", "ibmpowervs://dal/dal10/w/v/x", "ibmpowervs://dal//w/v", "ibmpowervs://dal/dal10/w/",
		"ibmvpc://dal/dal10/w/v", "dal/dal10/w/v", "ibmpowervs:///dal10/w/v", "ibmpowervs://dal/dal10/w/v\n",
	} {
		_, err := providerid.Parse(text)
		NewWithT(t).Expect(err).To(HaveOccurred(), text)
	}
}
