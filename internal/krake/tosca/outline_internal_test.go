package tosca

import (
	"strings"
	"testing"
)

// Outlines are counted by what they have. So they hold no more: a template may name the same file 80,000 times.
func TestOutline_holdsNoMoreThanItHas(t *testing.T) {
	t.Parallel()
	template, err := Parse("a: &a {artifacts: [" + strings.Repeat("x,", 900) + "x]}\nb: [" + strings.Repeat("*a,", 90) + "*a]\n")
	if err != nil {
		t.Fatal(err)
	}
	files := template.outline().files
	if len(files) != 1 || cap(files) > 8 {
		t.Errorf("%d files take the place of %d", len(files), cap(files))
	}
}
