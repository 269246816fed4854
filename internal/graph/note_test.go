package graph_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// An API server refuses an event whose note is longer, or is cut within a character.
func TestNote_isCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(graph.Note("short: ü")).To(Equal("short: ü"))
	note := graph.Note("x" + strings.Repeat("ü", 1024))
	g.Expect(note).To(HaveLen(1023))
	g.Expect(utf8.ValidString(note)).To(BeTrue())
}
