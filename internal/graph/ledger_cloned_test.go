package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// A ledger that was cloned into another namespace of the same management cluster is taken over.
func TestLedger_ofWhatLivesHereIsNotTakenOver(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	clone := f.owner()
	clone.Namespace, clone.UID, clone.ResourceVersion = "clone", "a-clone", ""
	f.Expect(f.client.Create(t.Context(), clone)).To(Succeed())
	copied := ledger.DeepCopy()
	copied.Namespace, copied.ResourceVersion, copied.UID = "clone", "", ""
	f.Expect(f.client.Create(t.Context(), copied)).To(Succeed())
	// Velero restores, the clusters in the copy are paused and unpaused
	clone.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	g, err := f.engine().New(t.Context(), showing{clone, []string{"id-1", "id-2", "id-3", "id-4"}}, []string{"any"}, f.service.kind())
	if err == nil {
		now := metav1.Now()
		clone.DeletionTimestamp = &now
		for range 5 {
			_, _, _ = g.Delete(t.Context())
			f.service.finish()
		}
	}
	f.Expect(f.service.keys()).To(Equal(everything), "the first object lives, in the same management cluster; err: %v", err)
}
