package orphans_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/orphans"
)

// Names are what a tenant's server says, and the report is read by an operator.
func TestPrint_letsNoNameMoveTheCursorOrBeginALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out strings.Builder
	const evil = "a\x1b[2J\r\nNo orphans.\n\u202e"
	g.Expect(orphans.Print(&out, &orphans.Report{
		Orphans: []*orphans.Orphan{{Owner: evil, Kind: "VPC", Name: evil, ID: evil, Status: evil, Why: evil}}, Incomplete: []string{evil},
	})).To(Succeed())
	for line := range strings.Lines(out.String()) {
		g.Expect(line).NotTo(HavePrefix("No orphans."))
		g.Expect(line).NotTo(MatchRegexp(`[\x00-\x09\x0b-\x1f\x7f\x{202e}]`))
	}
}
