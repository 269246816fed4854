package optest_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/optest"
)

func TestOperations_toy(t *testing.T) {
	t.Parallel()
	suite(none).Run(t)
}

// The controller makes toys as their specs say, and later changes all but one field: its object is Ready, and no test that looks at
// one field at a time would miss another one.
func TestSuite_findsAFieldThatIsIgnored(t *testing.T) {
	finds(t, ignoresColor, "outside it isn't what a new object")
}

func TestSuite_findsALabelThatStays(t *testing.T) {
	finds(t, dropsNoLabel, "outside it isn't what a new object")
}

func TestSuite_findsWhatDoesNotHeal(t *testing.T) { finds(t, neverHeals, "it doesn't heal") }

func TestSuite_findsASpin(t *testing.T) { finds(t, spins, "at rest there are") }

func finds(t *testing.T, b bug, message string) {
	t.Helper()
	t.Parallel()
	g := NewWithT(t)
	found := suite(b).Find(t, 1, 20)
	g.Expect(found).To(MatchError(ContainSubstring(message)))
	var finding *optest.Finding
	g.Expect(errors.As(found, &finding)).To(BeTrue())
	g.Expect(finding.Steps).NotTo(BeEmpty())
	t.Log(found)
}
