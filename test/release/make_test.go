package release

import (
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
)

// `make generate` and `make crash` end in pipes: what fails within must not be lost.
func TestMake_failsWhereAPipeBreaks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--eval", "broken: ; @false | cat", "broken").CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(out)).To(ContainSubstring("broken] Error 1"))
}
