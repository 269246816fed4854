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

// The controller makes toys as their specs say, and later changes all but one field. Its object is Ready, and nothing is lost, double or
// left behind.
func TestSuite_findsAFieldThatIsIgnored(t *testing.T) {
	t.Parallel()
	finds(t, 5828912082048028489, ignoresColor, "outside it isn't what a new object")
}

func TestSuite_findsALabelThatStays(t *testing.T) {
	t.Parallel()
	finds(t, 13246443895147976922, keepsLabels, "outside it isn't what a new object")
}

func TestSuite_findsWhatDoesNotHeal(t *testing.T) {
	t.Parallel()
	finds(t, 17109041887366695714, neverHeals, "it doesn't heal")
}

func TestSuite_findsASpin(t *testing.T) {
	t.Parallel()
	finds(t, 17968251983916584517, spins, "at rest there are")
}

// The user's own is in every world before there is an object.
func TestSuite_findsThatTheUsersOwnGoes(t *testing.T) {
	t.Parallel()
	finds(t, 17968251983916584517, clears, "(not any more) thing")
}

// It isn't parallel: panics are counted for the whole process.
func TestSuite_findsAPanic(t *testing.T) { finds(t, 17109041887366695714, panics, "have panicked") }

// finds a bug with a seed that leads to it soon, as long as the suite makes the same operations of it; or else with others.
func finds(t *testing.T, seed uint64, b bug, message string) {
	t.Helper()
	g := NewWithT(t)
	found := suite(b).Find(t, seed, 30)
	g.Expect(found).To(MatchError(ContainSubstring(message)))
	var finding *optest.Finding
	g.Expect(errors.As(found, &finding)).To(BeTrue())
	g.Expect(finding.Steps).NotTo(BeEmpty())
	t.Log(found)
}
