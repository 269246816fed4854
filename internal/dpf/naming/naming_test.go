package naming_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bedplate/bedplate/internal/dpf/naming"
)

func TestUnique_isBoundedAndTellsIdentitiesApart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	long := strings.Repeat("a", 52) + "-b"
	g.Expect(naming.Unique(naming.Label, "a-b-c", "a", "b-c")).NotTo(Equal(naming.Unique(naming.Label, "a-b-c", "a-b", "c")))
	g.Expect(naming.Unique(naming.Label, "a", "x")).To(Equal(naming.Unique(naming.Label, "a", "x")))
	for _, bound := range []int{naming.Release, naming.Label, naming.Object} {
		name := naming.Unique(bound, strings.Repeat(long, 6), "a")
		g.Expect(len(name)).To(BeNumerically("<=", bound))
		g.Expect(validation.IsDNS1123Subdomain(name)).To(BeEmpty())
	}
	g.Expect(naming.Cut(long, 53)).To(Equal(strings.Repeat("a", 52)), "a name doesn't end with a hyphen")
	g.Expect(naming.Cut("a", 53)).To(Equal("a"))
}

// Whoever chooses names may look for two whose hashes begin alike: these two were found in a minute, and differ after 40 bits alone.
func TestUnique_holdsAgainstASearch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, two := naming.Unique(naming.Label, "a", "tenant-405020"), naming.Unique(naming.Label, "a", "tenant-1242767")
	g.Expect(one).NotTo(Equal(two))
	g.Expect(one).To(MatchRegexp(`^a-[a-z2-7]{20}$`), "100 bits")
}
