package examples_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/examples"
)

func TestRender_namesVariablesWithoutValue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	_, err := examples.Render("bmm", map[string]string{"CLUSTER_NAME": "demo"})
	g.Expect(err).To(MatchError(And(ContainSubstring("no value for"), ContainSubstring("BMM_SITE_ID"),
		Not(ContainSubstring("CLUSTER_NAME")))))
}

func TestRender_listsWhatThereIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	_, err := examples.Render("mainframe", nil)
	g.Expect(err).To(MatchError(ContainSubstring("there are: bmm")))
}
