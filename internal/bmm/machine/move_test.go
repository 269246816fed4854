package machine_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/managertest"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// writes are the calls so far that make, change or delete something.
func writes(f *bmmtest.Fixture) map[string]int { return simulatortest.Writes(f.Sim.Calls()) }

// After `clusterctl move` objects have their spec and annotations, other UIDs, and no status: that is enough.
func TestMove_makesNothingAndFindsEverything(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	peer := f.MakeVPC("peer", bmm.EthernetVirtualizer)
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &group
		c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: peer}}
	})
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilProvisioned(object)
	was, wasCluster, before := object.DeepCopy(), cluster.DeepCopy(), writes(f)

	managertest.Move(t, f.Client, nil, object, cluster)
	f.UntilReady(cluster)
	f.UntilProvisioned(object)
	f.Expect(object.UID).NotTo(Equal(was.UID))
	f.Expect(object.Spec).To(Equal(was.Spec))
	was.Status.Conditions, object.Status.Conditions = nil, nil
	f.Expect(object.Status).To(Equal(was.Status))
	wasCluster.Status.Conditions, cluster.Status.Conditions = nil, nil
	f.Expect(cluster.Status).To(Equal(wasCluster.Status))
	f.Expect(writes(f)).To(Equal(before))

	f.Delete(object)
	f.Delete(cluster)
	f.UntilGone(object)
	f.UntilGone(cluster)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// Moved while the outcome of the create was unknown: its token moves too.
func TestMove_inTheMiddleOfACreate(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultLoseAnswer})
	f.Refuse(http.StatusServiceUnavailable, "listInstances")
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Transient", "")
	managertest.Move(t, f.Client, f.Sim.ClearFaults, object)
	f.UntilReady(object)
	f.Expect(f.Sim.State().Instances).To(ConsistOf(HaveField("ID", object.Status.InstanceID)))
	f.Expect(f.Called("createInstance")).To(Equal(1))
}

// The Cluster and the NvidiaBMMCluster were removed by force, finalizers and all. The machine's ledger still says what to
// delete, and with whose credentials.
func TestDelete_worksFromTheLedgerWhenEverythingAroundIsGone(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	waiting := f.CreateMachine("demo", "worker-2", nil) // owns nothing
	f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultLoseAnswer})
	f.Refuse(http.StatusServiceUnavailable, "listInstances")
	lost := f.CreateMachine("demo", "worker-3", userData) // owns an instance and doesn't know
	f.UntilReason(lost, infrav1.InstanceProvisionedCondition, "Transient", "")
	f.Eventually(func() []bmm.Instance { return f.Sim.State().Instances }).Should(HaveLen(2))

	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
	})
	f.UntilTrue(cluster, clusterv1.PausedCondition)
	f.Delete(cluster)
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Finalizers = nil })
	f.UntilGone(cluster)
	for _, around := range []client.Object{
		&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: f.Namespace}},
		&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Namespace: f.Namespace}},
		&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "worker-2", Namespace: f.Namespace}},
		&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "worker-3", Namespace: f.Namespace}},
	} {
		f.Delete(around)
		f.UntilGone(around)
	}
	f.Sim.ClearFaults()

	for _, m := range []*infrav1.NvidiaBMMMachine{object, waiting, lost} {
		f.Delete(m)
	}
	for _, m := range []*infrav1.NvidiaBMMMachine{object, waiting, lost} {
		f.UntilGone(m)
	}
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
	f.Expect(f.Sim.State().Releases).To(HaveLen(2))
}

// The Secret was removed by force. Its name is known, so that the condition can tell the user to put it back.
func TestDelete_waitsForCredentialsThatAreGone(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	secret := f.Secret("demo")
	f.Expect(f.Read(secret)).To(Succeed())
	f.Delete(secret)
	bmmtest.Change(f, secret, func(s *corev1.Secret) { s.Finalizers = nil })
	f.UntilGone(secret)
	f.Delete(object)
	f.UntilReason(object, infrav1.ClusterReadyCondition, "Credentials", "secret "+f.Namespace+"/demo does not exist: create it")
	f.Expect(f.Sim.State().Instances).To(HaveLen(1))
	f.Create(f.Secret("demo"))
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}
