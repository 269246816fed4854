package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
)

// docs: why a difference can't be corrected is in the condition. When no remedy helps, that is what the user has to know.
func TestRepair_saysInTheEndWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	f := broken(t, 100)
	f.size, f.stuck = 7, map[string]error{"id-1": fault.Invalidf("set size back to 0")}
	message := ""
	for range 100 {
		c := f.mends()
		if message = c.Message; c.Reason == "Failed" {
			break
		}
		f.clock.Step(poll)
	}
	f.Expect(message).To(ContainSubstring("set size back to 0"))
}
