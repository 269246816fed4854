package machine_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// What a YAML round trip changes and means the same: comments, indentation, quotes, trailing blanks.
var userData = []byte("## template: jinja\n#cloud-config\n\nwrite_files:\n-   path: '/x'  \n    content: |\n      {{ ds.meta_data.instance_id }} é\n\n# end\n")

func TestMachine_bootsWithItsUserDataByteForByteAndIsTakenAwayAgain(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Times.InstanceDelete.Duration = 20_000 * time.Second }) // ten seconds
	f.UntilReady(f.CreateCluster("demo"))
	const onlyLooksLikeYAML = "## template: jinja\n#cloud-config\nhostname:   {{ ds.meta_data.hostname }}\n"
	object := f.CreateMachine("demo", "worker-1", []byte(onlyLooksLikeYAML))
	f.UntilProvisioned(object)

	instances := f.Sim.State().Instances
	f.Expect(instances).To(HaveLen(1))
	f.Expect(f.Rack.Started()).To(HaveLen(1))
	f.Expect(cloudinit.Text(f.Rack.Started()[0].UserData)).To(Equal(onlyLooksLikeYAML))
	f.Expect(object.Spec.ProviderID).To(Equal("nvidia-bmm://" + sim.DefaultSiteID + "/" + instances[0].ID))
	f.Expect(object.Status.InstanceID).To(Equal(instances[0].ID))
	f.Expect(object.Status.InstanceState).To(Equal("Ready"))
	f.Expect(object.Status.MachineID).To(Equal(instances[0].MachineID))
	f.Expect(object.Status.Addresses).To(ConsistOf(
		clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: "worker-1"},
		clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: instances[0].Interfaces[0].IPAddresses[0]},
	))
	f.Expect(object.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))

	f.Delete(object)
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Deleting", "")
	f.Expect(object.Finalizers).To(ContainElement(infrav1.MachineFinalizer), "terminating is not gone")
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}

func TestMachine_waitsForClusterAndBootstrapDataAndSaysSo(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	heal := f.Refuse(http.StatusServiceUnavailable, "createVpc")
	cluster := f.CreateCluster("demo")
	object := f.CreateMachine("demo", "worker-1", nil)
	f.UntilReason(object, infrav1.ClusterReadyCondition, "Waiting", "NvidiaBMMCluster demo isn't ready yet")
	f.UntilReason(object, infrav1.BootstrapDataReadyCondition, "Waiting", "Machine worker-1")
	f.Expect(f.Called("createInstance")).To(BeZero())

	heal()
	f.UntilReady(cluster)
	f.UntilTrue(object, infrav1.ClusterReadyCondition)
	f.Expect(f.Called("createInstance")).To(BeZero())

	secret := f.Secret("worker-1-bootstrap")
	secret.Data = map[string][]byte{"value": userData}
	f.Create(secret)
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Namespace: f.Namespace}}
	bmmtest.Change(f, owner, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To(secret.Name) })
	f.UntilReady(object)
}

// Deletion never waits for readiness: whatever the machine is waiting for, it can be deleted.
func TestMachine_canBeDeletedInEveryPhase(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		world func(*sim.Config)
		until func(*bmmtest.Fixture) *infrav1.NvidiaBMMMachine
	}{
		{"without a cluster that is ready", nil, func(f *bmmtest.Fixture) *infrav1.NvidiaBMMMachine {
			f.Refuse(http.StatusServiceUnavailable, "createVpc")
			f.CreateCluster("demo")
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilReason(object, infrav1.ClusterReadyCondition, "Waiting", "")
			return object
		}},
		{"without bootstrap data", nil, func(f *bmmtest.Fixture) *infrav1.NvidiaBMMMachine {
			f.UntilReady(f.CreateCluster("demo"))
			object := f.CreateMachine("demo", "worker-1", nil)
			f.UntilReason(object, infrav1.BootstrapDataReadyCondition, "Waiting", "")
			return object
		}},
		{"while the instance is made", func(w *sim.Config) { w.Speed = 30 }, func(f *bmmtest.Fixture) *infrav1.NvidiaBMMMachine {
			f.UntilReady(f.CreateCluster("demo"))
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Waiting", "is P")
			return object
		}},
		{"after a create that wasn't answered", nil, func(f *bmmtest.Fixture) *infrav1.NvidiaBMMMachine {
			f.UntilReady(f.CreateCluster("demo"))
			f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultLoseAnswer})
			f.Refuse(http.StatusServiceUnavailable, "listInstances")
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Transient", "")
			f.Sim.ClearFaults()
			return object
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, func(w *sim.Config) {
				if row.world != nil {
					row.world(w)
				}
			})
			object := row.until(f)
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Sim.State().Instances).To(BeEmpty())
		})
	}
}

func TestMachine_getsOneInstanceWhateverHappensToTheCreate(t *testing.T) {
	t.Parallel()
	for _, fault := range []simulator.Fault{
		{Operation: "createInstance", Kind: simulator.FaultLoseAnswer},
		{Operation: "createInstance", Kind: simulator.FaultStatus, Status: 500, Message: "workflow failed"},
		{Operation: "createInstance", Kind: simulator.FaultStatus, Status: 429, Message: "slow down"},
		{Operation: "listInstances", Kind: simulator.FaultStatus, Status: 503, Message: "can't list"},
		{Operation: "getInstance", Kind: simulator.FaultStatus, Status: 503, Message: "can't look", Times: 5},
	} {
		t.Run(fault.Operation+" "+string(fault.Kind)+" "+http.StatusText(fault.Status), func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			f.UntilReady(f.CreateCluster("demo"))
			f.Fault(fault)
			object := f.CreateMachine("demo", "worker-1", userData)
			f.UntilReady(object)
			f.Expect(f.Sim.State().Instances).To(HaveLen(1))
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Sim.State().Instances).To(BeEmpty())
		})
	}
}

func TestMachine_saysThatThereIsNoFreeMachineAndTakesOneWhenThereIs(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.InstanceTypes[0].Machines = 1 })
	f.UntilReady(f.CreateCluster("demo"))
	first := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(first)
	second := f.CreateMachine("demo", "worker-2", userData)
	f.UntilReason(second, infrav1.InstanceProvisionedCondition, "Quota", "create instance: 400")
	asked := f.Called("createInstance")
	f.Expect(asked).To(BeNumerically("<", 10), "what was refused isn't asked for again and again")
	f.Delete(first)
	f.UntilReady(second)
}

// A ledger that is deleted by force must not turn a running server into an orphan.
func TestMachine_withALostLedgerIsNotDeletedSilently(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	ledger := f.LoseLedger(object)
	f.Delete(object)
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Invalid", "is lost, but there is or was instance "+object.Status.InstanceID)
	f.Expect(f.Sim.State().Instances).To(HaveLen(1))
	f.Restore(ledger)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}

// What other objects report about themselves is no reason to ask the BMM API again.
func TestMachine_sleepsThroughTheProgressOfItsNeighbours(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: f.Namespace}}
	f.Expect(f.Read(owner)).To(Succeed())
	began, before := time.Now(), f.Called("getInstance")
	for i := range 50 {
		owner.Status.Conditions = []metav1.Condition{{
			Type: "Progress", Status: metav1.ConditionTrue, Reason: "Progress", Message: fmt.Sprint(i), LastTransitionTime: metav1.Now()}}
		f.Expect(f.Client.Status().Update(t.Context(), owner)).To(Succeed())
	}
	asked := f.Called("getInstance") - before
	polls := int(time.Since(began)/(10*bmmtest.Poll)) + 2
	f.Expect(asked).To(BeNumerically("<=", polls))
}

func TestMachine_saysThatItsSubnetDoesNotExist(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.NvidiaBMMMachine) { m.Spec.Network.SubnetName = "storage" })
	f.UntilReason(object, infrav1.ClusterReadyCondition, "NoSuchNetwork", `NvidiaBMMCluster demo has no subnet "storage"`)
	f.Expect(f.Called("createInstance")).To(BeZero())
}

func TestMachine_refusesUserDataThatWouldArriveChanged(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	for n, row := range []struct {
		userData  string
		phoneHome bool
		says      string
	}{
		{"#cloud-config\n\xff\xfe", false, `key "value" of Secret ` + f.Namespace + `/worker-0-bootstrap isn't UTF-8`},
		{"a: 1\n---\nb: 2\n", false, `key "value" of Secret ` + f.Namespace + `/worker-1-bootstrap: the BMM API reformats YAML`},
		{string(userData), true, `set phoneHomeEnabled to false`},
	} {
		object := f.CreateMachine("demo", fmt.Sprintf("worker-%d", n), []byte(row.userData), func(m *infrav1.NvidiaBMMMachine) {
			m.Spec.PhoneHomeEnabled = ptr.To(row.phoneHome)
		})
		f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Invalid", row.says)
	}
	f.Expect(f.Called("createInstance")).To(BeZero())
}

func TestMachine_bootsWithUserDataThatMeansTheSame(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	f.UntilReady(f.CreateMachine("demo", "worker-1", userData))
	booted := f.Rack.Started()[0]
	f.Expect(booted.UserData).To(HavePrefix("## template: jinja\n#cloud-config\n\nwrite_files:\n    - path: '/x'\n"), "as the service writes it")
	asked, err := cloudinit.Parse(userData, booted.Metadata)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(cloudinit.Parse(booted.UserData, booted.Metadata)).To(Equal(asked))
}

func TestMachine_failsWhenItsInstanceIsDeletedBehindItsBack(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	f.Expect(f.API().DeleteInstance(t.Context(), sim.DefaultSiteID, object.Status.InstanceID)).To(Succeed())
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Lost", "delete the Machine to get another one")
	f.Expect(object.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "once true it stays")
	f.Expect(f.Called("createInstance")).To(Equal(1))
	f.Delete(object)
	f.UntilGone(object)
}

// Everything is deleted at once, as `kubectl delete` of a whole file does: each waits for what lies in it.
func TestMachine_andClusterDeletedAtOnceLeaveNothing(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	f.Delete(cluster)
	f.Delete(object)
	f.UntilGone(object)
	f.UntilGone(cluster)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// After `clusterctl move` an object has no status, and its owners have other UIDs: spec and annotations are enough.
func TestMachine_rebuildsItsStatusFromLedgerAndService(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	want := object.Status.InstanceID
	moved := []metav1.Condition{{Type: "Moved", Status: metav1.ConditionTrue, Reason: "Moved", LastTransitionTime: metav1.NewTime(time.Now())}}
	bmmtest.ChangeStatus(f, object, func(m *infrav1.NvidiaBMMMachine) { m.Status = infrav1.NvidiaBMMMachineStatus{Conditions: moved} })
	bmmtest.ChangeStatus(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Status = infrav1.NvidiaBMMClusterStatus{Conditions: moved} })
	f.UntilReady(object)
	f.Expect(object.Status.InstanceID).To(Equal(want))
	f.Expect(f.Called("createInstance")).To(Equal(1))
	f.Expect(f.Called("createVpc")).To(Equal(1))
}
