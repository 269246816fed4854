package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/events"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// A reconcile of an owner that has all it wants: what a fleet at rest costs. What the service and the cache answer is in memory.
func BenchmarkReconcile_ofAnOwnerAtRest(b *testing.B) {
	f := inMemory(b)
	engine := f.engine()
	engine.Recorder = events.NewFakeRecorder(0)
	reconcile := func(owner *bmmv1.NvidiaBMMCluster) {
		kind := f.service.kind()
		g, err := engine.New(b.Context(), owner, []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		f.wants(g, kind)
		_, err = g.Reconcile(b.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	owner := f.owner()
	for range 3 {
		reconcile(owner)
	}
	f.expectCondition(owner, "Ready", "True", "Ready", "")
	f.lag = f.ledger() // the cache's
	f.service.calls = nil
	b.ReportAllocs()
	for b.Loop() {
		reconcile(owner.DeepCopy())
	}
	b.ReportMetric(float64(len(f.service.calls))/float64(b.N), "calls/op")
}
