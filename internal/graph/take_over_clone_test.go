package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// A clone's ledger is refused while the original lives; here the original is gone, and only its ledger is left.
func TestTakeOver_ofACloneSaysWhatToDoWhenTheOriginalIsGone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	clone := f.owner()
	clone.Namespace, clone.UID, clone.ResourceVersion = "clone", "a-clone", ""
	f.Expect(f.client.Create(t.Context(), clone)).To(Succeed())
	copied := ledger.DeepCopy()
	copied.Namespace, copied.ResourceVersion, copied.UID = "clone", "", ""
	f.Expect(f.client.Create(t.Context(), copied)).To(Succeed())
	f.stripped(f.owner()) // its finalizer was removed: the ledger outlives it
	clone.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	takeOver := func() error {
		owner := showing{clone.DeepCopy(), []string{"id-1", "id-2", "id-3", "id-4"}}
		_, err := f.engine().New(t.Context(), owner, []string{"any"}, f.service.kind())
		return err
	}
	f.Expect(takeOver()).To(MatchError(ContainSubstring("remove the finalizer bedplate.dev/ledger from that ledger and delete the ledger")))
	f.stripped(ledger)
	f.Expect(takeOver()).To(Succeed())
}

// A manager with --namespace: its cache shows the ledgers of that namespace only. The original lives in another one.
func TestTakeOver_notOfACloneByAManagerOfOneNamespace(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	clone := f.owner()
	clone.Namespace, clone.UID, clone.ResourceVersion = "clone", "a-clone", ""
	f.Expect(f.client.Create(t.Context(), clone)).To(Succeed())
	copied := ledger.DeepCopy()
	copied.Namespace, copied.ResourceVersion, copied.UID = "clone", "", ""
	f.Expect(f.client.Create(t.Context(), copied)).To(Succeed())
	clone.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	engine := f.engine()
	engine.Client = interceptor.NewClient(f.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return c.List(ctx, l, append(opts, client.InNamespace("clone"))...) // as a cache of one namespace does
		},
	})
	_, err := engine.New(t.Context(), showing{clone, []string{"id-1", "id-2", "id-3", "id-4"}}, []string{"any"}, f.service.kind())
	f.Expect(err).To(HaveOccurred(), "the first object lives, in the same management cluster")
}
