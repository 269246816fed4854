package providerid_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
)

const (
	site     = "517e0000-0000-4000-8000-000000000001"
	instance = "a4049217-2963-4c44-9587-29f168d8a707"
)

func TestProviderID_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	id := providerid.ProviderID{SiteID: site, InstanceID: instance}
	g.Expect(id.String()).To(Equal("nvidia-bmm://" + site + "/" + instance))
	g.Expect(providerid.Parse(id.String())).To(Equal(id))
}

func TestParse_refusesEverythingElse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "nvidia-bmm://", "nvidia-bmm://" + site, "nvidia-bmm://" + site + "/", "nvidia-bmm:///" + instance,
		"nico://org/tenant/site/" + instance, "nvidia-carbide://" + site + "/" + instance,
		"nvidia-bmm://" + site + "/" + instance + "/x",
		"nvidia-bmm://{" + site + "}/" + instance,
		"nvidia-bmm://517E0000-0000-4000-8000-000000000001/" + instance, // others compare it as text
	} {
		_, err := providerid.Parse(text)
		NewWithT(t).Expect(err).To(HaveOccurred(), text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("nvidia-bmm://" + site + "/" + instance)
	f.Add("nvidia-bmm://x/y")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := providerid.Parse(text); err == nil && id.String() != text {
			t.Errorf("%q is read as %q", text, id)
		}
	})
}
