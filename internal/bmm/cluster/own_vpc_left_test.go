package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/simulator"
)

// The first subnet is being created in the user's own VPC when that is taken out of the spec. A subnet can't follow into another one.
func TestOwnVPC_isKeptFromTheFirstSubnetOn(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	f.Fault(simulator.Fault{Operation: "createSubnet", Kind: simulator.FaultHang, Hold: metav1.Duration{Duration: time.Hour}})
	object := f.CreateCluster("demo", in(vpc))
	f.Eventually(func() int { return f.Called("createSubnet") }).Should(BeNumerically(">", 0))
	f.Expect(f.Read(object)).To(Succeed())
	before := object.DeepCopy()
	object.Spec.VPC = infrav1.VPCSpec{NetworkVirtualizationType: object.Spec.VPC.NetworkVirtualizationType}
	f.Expect(f.Client.Patch(t.Context(), object, client.MergeFrom(before))).To(MatchError(ContainSubstring("id is immutable once the VPC exists")))
}
