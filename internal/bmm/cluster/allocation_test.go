package cluster_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// ownBlock lets a cluster make its IP block.
func ownBlock(c *infrav1.NvidiaBMMCluster) {
	c.Spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{Prefix: "10.77.0.0/16", RoutingType: infrav1.RoutingPublic}}
}

// bare is a site where the tenant has no block.
func bare(w *sim.Config) { w.IPBlocks = nil }

func TestAllocation_isMadeWithItsBlockAndBothGo(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, bare)
	object := f.CreateCluster("demo", ownBlock)
	f.UntilReady(object)

	state := f.Sim.State()
	f.Expect(state.Allocations).To(HaveLen(1))
	allocation := state.Allocations[0]
	f.Expect(allocation.TenantID).To(Equal(sim.DefaultTenantID))
	f.Expect(allocation.AllocationConstraints).To(ConsistOf(And(
		HaveField("ResourceType", bmm.AllocationOfIPBlock), HaveField("ConstraintType", bmm.AllocationReserved),
		HaveField("ConstraintValue", 16), HaveField("ResourceTypeID", object.Status.ParentIPBlockID),
		HaveField("DerivedResourceID", object.Status.IPBlockID),
	)))
	f.Expect(object.Status.AllocationID).To(Equal(allocation.ID))
	parent := state.IPBlocks[0]
	f.Expect(parent.ID).To(Equal(object.Status.ParentIPBlockID))
	f.Expect(parent.TenantID).To(BeEmpty(), "it is the provider's")
	f.Expect(parent.RoutingType).To(Equal(bmm.RoutingPublic))
	f.Expect(parent.Prefix).To(Equal("10.77.0.0"))
	f.Expect(parent.PrefixLength).To(Equal(16))
	f.Expect(object.Status.Subnets).To(ConsistOf(HaveField("CIDR", "10.77.0.0/24")))

	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
	f.Expect(f.Called("deleteAllocation")).To(Equal(1), "when nothing is cut from the block any more")
	f.Expect(f.Called("deleteIpBlock")).To(Equal(1), "when it isn't allocated any more")
}

// The answer to the create is lost, and the spec is changed before the block is found: it was made as the spec was before.
func TestAllocation_ofABlockWhoseSpecChangedDuringItsCreate(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*infrav1.IPBlockCreateSpec)
		says   string
	}{
		"range": {func(s *infrav1.IPBlockCreateSpec) { s.Prefix = "10.78.0.0/24" },
			"has the range 10.77.0.0/16, and this can't be changed: set spec.ipBlock.create.prefix to that"},
		"routing": {func(s *infrav1.IPBlockCreateSpec) { s.RoutingType = infrav1.RoutingDatacenterOnly },
			"has the routing type Public, and this can't be changed: set spec.ipBlock.create.routingType to that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, bare)
			f.Fault(simulator.Fault{
				Operation: "createIpBlock", Kind: simulator.FaultCommitLate,
				Hold: metav1.Duration{Duration: 100 * time.Second}, Delay: metav1.Duration{Duration: 200 * time.Second},
			})
			object := f.CreateCluster("demo", ownBlock)
			f.Eventually(func() int { return f.Called("createIpBlock") }).Should(Equal(1))
			bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { row.change(c.Spec.IPBlock.Create) })
			f.UntilReason(object, infrav1.IPBlockReadyCondition, "Invalid", row.says)
			bmmtest.Change(f, object, ownBlock)
			f.UntilReady(object)
			f.Expect(f.Called("createIpBlock")).To(Equal(1))
		})
	}
}

// Neither block nor allocation has labels: what a lost answer made is found by its name.
func TestAllocation_isFoundAgainByItsName(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, bare)
	f.Fault(simulator.Fault{Operation: "createIpBlock", Kind: simulator.FaultLoseAnswer})
	f.Fault(simulator.Fault{Operation: "createAllocation", Kind: simulator.FaultLoseAnswer})
	object := f.CreateCluster("demo", ownBlock)
	f.UntilReady(object)
	f.Expect(f.Called("createIpBlock")).To(Equal(1))
	f.Expect(f.Called("createAllocation")).To(Equal(1))
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// A tenant's token is good for everything else. With one of the provider's in the Secret it continues without a change of
// the object.
func TestAllocation_needsTheProvidersRights(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, bare, func(w *sim.Config) {
		w.Tokens = append(w.Tokens, "tenant-token")
		w.TokenRoles = map[string][]sim.Role{"tenant-token": {sim.TenantAdmin}}
	})
	secret := f.Secret("tenant")
	secret.Data["token"] = []byte("tenant-token")
	f.Create(secret)
	object := f.CreateCluster("demo", ownBlock, func(c *infrav1.NvidiaBMMCluster) { c.Spec.Authentication.SecretRef.Name = "tenant" })
	f.UntilReason(object, infrav1.IPBlockReadyCondition, "Invalid",
		"spec.ipBlock.create needs credentials with the role PROVIDER_ADMIN; as a tenant name an existing block instead")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Waiting", "waits for allocation/demo")
	bmmtest.Change(f, secret, func(s *corev1.Secret) { s.Data["token"] = []byte(sim.DefaultToken) })
	f.UntilReady(object)
}

// A refused login isn't reported as a missing role.
func TestAllocation_withRefusedCredentialsSaysSo(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, bare)
	heal := f.Refuse(http.StatusUnauthorized, "createIpBlock")
	object := f.CreateCluster("demo", ownBlock)
	f.UntilReason(object, infrav1.IPBlockReadyCondition, "Credentials", "correct the token in secret "+f.Namespace+"/demo")
	f.Expect(meta.FindStatusCondition(object.Status.Conditions, infrav1.IPBlockReadyCondition).Message).
		NotTo(ContainSubstring("PROVIDER_ADMIN"))
	heal()
	f.UntilReady(object)
}

func TestAllocation_ofARangeThatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{Prefix: "127.100.128.0/17"}}
	})
	f.UntilReason(object, infrav1.IPBlockReadyCondition, "Conflict", "127.100.128.0/17 overlaps 127.100.0.0/16")
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}
