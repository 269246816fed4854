package optest_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// The API server says the same of a value that a rule forbids, and of one with which the rule itself fails.
func TestSuite_findsARuleThatFailsItself(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	broken := suite(none)
	broken.New = func(t *testing.T) *optest.World {
		w := newWorld(t, none)
		w.Client = ruled{w.Client}
		return w
	}
	g.Expect(broken.Find(t, 17968251983916584517, 3)).To(MatchError(ContainSubstring("admission should allow or refuse it")))
}

// ruled has a rule for painted toys that looks at a field which they needn't have.
type ruled struct{ client.Client }

func (r ruled) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	painted, _, _ := unstructured.NestedBool(object.(*unstructured.Unstructured).Object, "spec", "painted")
	if painted {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Toy"}, object.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("spec"), "object", "no such key: brush evaluating rule: a painted toy needs a brush"),
		})
	}
	return r.Client.Update(ctx, object, opts...)
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
