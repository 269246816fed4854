package actuator_test

import (
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
)

// A Secret without a finalizer is deleted with its namespace, and what was created with it leaks.
func TestSecret_thatPolicyLetsNobodyKeepIsNamedBeforeTheFirstInstance(t *testing.T) {
	t.Parallel()
	f := start(t)
	lift := f.ForbidFinalizer(bmmv1.SecretFinalizer)
	m := f.createMachine("worker-1")
	says := "the finalizer can't be added to secret " + f.Namespace + "/bmm (" + bmmv1.SecretFinalizer
	f.untilSays(m, bmmv1.ReferencesResolvedCondition, says)
	f.Expect(f.instances()).To(BeEmpty())
	f.Expect(f.Called("createInstance")).To(BeZero())

	lift()
	f.untilReady(m)
	f.Delete(m)
	f.UntilGone(m)
}
