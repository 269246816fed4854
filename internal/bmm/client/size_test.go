package client

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

func TestSize_isAboutWhatAnObjectTakes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	small := bounds.Size(&Instance{})
	g.Expect(small).To(BeNumerically("<", 1000), "the comment in package bounds says so")
	large := &Instance{Name: "0123456789", Interfaces: make([]Interface, 10), Labels: Labels{"key": "value"}, Created: time.Now()}
	g.Expect(bounds.Size(large)).To(BeNumerically("~", small+10+10*bounds.Size(&Interface{})+72, 50))
}

// What the comment in package bounds says of the largest object.
func TestDecode_makesNoObjectOfMoreThan2MB(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("{},", (bounds.MaxValues-10)/2-1) + "{}]"
	for _, field := range []string{
		"interfaces", "infinibandInterfaces", "nvLinkInterfaces", "dpuExtensionServiceDeployments", "statusHistory",
		"machineCapabilities", "rules", "ipAddresses",
	} {
		text := []byte(`{"id":"1","` + field + `":` + many + `}`)
		instance, kind, group := Instance{}, InstanceType{}, NetworkSecurityGroup{}
		_ = bounds.Decode(text, &instance) // a field may be of another type
		_ = bounds.Decode(text, &kind)
		_ = bounds.Decode(text, &group)
		size := max(bounds.Size(&instance), bounds.Size(&kind), bounds.Size(&group))
		t.Logf("%s: %d KiB", field, size>>10)
		NewWithT(t).Expect(size).To(BeNumerically("<", 2<<20), field)
	}
}
