package hostnetwork_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rival writes every object once just before the move does.
type rival struct {
	client.Client
	g      Gomega
	writes map[string]int
	won    int
}

func (r *rival) first(ctx context.Context, verb string, o client.Object, do func() error) error {
	key := verb + " " + o.GetName()
	if r.writes[key]++; r.writes[key]%2 == 0 {
		return do()
	}
	now := o.DeepCopyObject().(client.Object)
	r.g.Expect(r.Get(ctx, client.ObjectKeyFromObject(o), now)).To(Succeed())
	r.g.Expect(r.Client.Update(ctx, now)).To(Succeed())
	err := do()
	r.g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%s is written without a lock: %v", key, err)
	r.won++
	return err
}

func (r *rival) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return r.first(ctx, "update", o, func() error { return r.Client.Update(ctx, o, opts...) })
}

func (r *rival) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return r.first(ctx, "patch", o, func() error { return r.Client.Patch(ctx, o, p, opts...) })
}

func TestMove_writesUnderALockEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := snapshot(t.Context(), w.g, w)
	r := &rival{Client: w.WithWatch, g: w.g, writes: map[string]int{}}
	run := func() {
		for range 400 {
			w.settle()
			move := w.move()
			move.Client = r
			result, err := move.Reconcile(t.Context(), w.config, w.awake)
			if err != nil {
				w.g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
				continue
			}
			if result.Done {
				return
			}
		}
		t.Fatal("it doesn't come to an end")
	}
	run()
	w.config.DeletionTimestamp = &metav1.Time{Time: w.now}
	run()
	w.g.Expect(snapshot(t.Context(), w.g, w)).To(Equal(before))
	w.g.Expect(r.won).To(BeNumerically(">", 40))
	t.Logf("%d conflicts", r.won)
}
