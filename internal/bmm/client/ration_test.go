package client

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/values"
)

func TestRation_leavesSomethingForWhoComes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &ration{limit: 120, taken: map[string]int{}}
	greedy, late := &share{of: r, who: "greedy"}, &share{of: r, who: "late"}
	g.Expect(greedy.set(60)).To(Succeed())
	g.Expect(greedy.set(61)).To(MatchError(errNoMemory))
	g.Expect((&share{of: r, who: "greedy"}).set(1)).To(MatchError(errNoMemory), "however many calls they are")
	g.Expect(late.set(30)).To(Succeed())
	g.Expect(late.set(31)).To(MatchError(errNoMemory))
	g.Expect(greedy.set(40)).To(Succeed(), "less is always possible")
	g.Expect(late.set(40)).To(Succeed())
	greedy.release()
	late.release()
	g.Expect(r.total).To(BeZero())
	g.Expect(r.taken).To(BeEmpty())
}

// What the comment in body.go says of the largest object.
func TestDecode_makesNoObjectOfMoreThan2MB(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(values.Size(&Instance{})).To(BeNumerically("<", 1000), "the comment in body.go says so")
	many := "[" + strings.Repeat("{},", (maxValues-10)/2-1) + "{}]"
	for _, field := range []string{
		"interfaces", "infinibandInterfaces", "nvLinkInterfaces", "dpuExtensionServiceDeployments", "statusHistory",
		"machineCapabilities", "rules", "ipAddresses",
	} {
		text := []byte(`{"id":"1","` + field + `":` + many + `}`)
		instance, kind, group := Instance{}, InstanceType{}, NetworkSecurityGroup{}
		_ = decodeObject(text, &instance) // a field may be of another type
		_ = decodeObject(text, &kind)
		_ = decodeObject(text, &group)
		size := max(values.Size(&instance), values.Size(&kind), values.Size(&group))
		t.Logf("%s: %d KiB", field, size>>10)
		NewWithT(t).Expect(size).To(BeNumerically("<", 2<<20), field)
	}
}
