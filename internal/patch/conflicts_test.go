package patch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/patch"
)

func TestExpectConflicts_onlyConflicts(t *testing.T) {
	t.Parallel()
	later := reconcile.Result{RequeueAfter: time.Hour}
	for name, c := range map[string]struct {
		err   error
		soon  bool
		fails bool
	}{
		"nothing":            {},
		"a conflict":         {err: fmt.Errorf("write: %w", apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("modified"))), soon: true},
		"a name that exists": {err: apierrors.NewAlreadyExists(schema.GroupResource{}, "a"), fails: true},
		"something else":     {err: errors.New("the API server is away"), fails: true},
	} {
		g := NewWithT(t)
		inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return later, c.err })
		result, err := patch.ExpectConflicts(inner).Reconcile(t.Context(), reconcile.Request{})
		g.Expect(err != nil).To(Equal(c.fails), name)
		if c.soon {
			g.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<", time.Second)), name)
		} else {
			g.Expect(result).To(Equal(later), name)
		}
	}
}
