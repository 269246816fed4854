package paused_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/paused"
)

// What clusterctl deletes because it has moved it lives on elsewhere, whatever its Cluster says. Without clients: such an
// object isn't written any more either.
func TestCheck_leavesAloneWhatHasMoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := &infrav1.NvidiaBMMCluster{}
	object.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
	g.Expect(paused.Check(t.Context(), nil, nil, nil, object)).To(BeTrue())
}
