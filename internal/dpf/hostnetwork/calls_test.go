package hostnetwork_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

// Everything but the journal, and what is about to be recorded in it, is of a cache. There may be thousands of nodes: each is asked for by
// itself once, when it is begun.
func TestMove_asksTheAPIServerForTheJournalOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live, steps := 0, 0
	move := func() hostnetwork.Move {
		m := w.move()
		m.Uncached = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				live++
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				live++
				return c.List(ctx, list, opts...)
			},
		})
		return m
	}
	for over := false; !over; steps++ {
		w.between()
		_, err := move().Left(t.Context())
		w.g.Expect(err).NotTo(HaveOccurred())
		result, err := move().Reconcile(t.Context(), w.config, w.awake)
		w.g.Expect(err).NotTo(HaveOccurred())
		over = result.Done
	}
	// Left and Reconcile list the journal. Before the four originals are in it, in five steps, the nine objects that exist once are read, too;
	// and each node when it is begun.
	w.g.Expect(live).To(Equal(2*steps + 5*9 + len(workers)))
}

// Hundreds of nodes may be begun at once. What a reconcile does has to fit into its time.
func TestMove_takesSoManyStepsAtATime(t *testing.T) {
	t.Parallel()
	names, objects := workers, ocp()
	for i := len(workers); i < 120; i++ {
		names = append(names, fmt.Sprintf("ocp-worker-%d", i+100))
		objects = append(objects, worker(names[i], true))
	}
	w := newWorld(t, objects...)
	w.config = config(names...)
	w.config.Spec.HostNetworkConfiguration.MaxUnavailable = 1000
	most := int64(0)
	for over := false; !over; {
		before := w.writes.Load()
		result, err := w.reconcile()
		w.g.Expect(err).NotTo(HaveOccurred())
		most, over = max(most, w.writes.Load()-before), result.Done
	}
	w.g.Expect(most).To(BeEquivalentTo(100))
}
