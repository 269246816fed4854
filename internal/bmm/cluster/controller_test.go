package cluster_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// ready starts a site and a controller, and returns a cluster that is ready.
func ready(t *testing.T) (*bmmtest.Fixture, *infrav1.NvidiaBMMCluster) {
	t.Helper()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo")
	f.UntilReady(object)
	return f, object
}

func TestCluster_getsItsNetworksAndGivesThemBack(t *testing.T) {
	t.Parallel()
	f, object := ready(t)

	state := f.Sim.State()
	f.Expect(state.VPCs).To(HaveLen(1))
	f.Expect(state.VPCs[0].Name).To(Equal("demo"))
	f.Expect(state.Subnets).To(HaveLen(1))
	f.Expect(object.Status.SiteID).To(Equal(sim.DefaultSiteID))
	f.Expect(object.Status.IPBlockID).To(Equal(sim.DefaultIPBlockID), "the only one there is")
	f.Expect(object.Status.VPCID).To(Equal(state.VPCs[0].ID))
	f.Expect(object.Status.Subnets).To(Equal([]infrav1.SubnetStatus{{Name: "nodes", ID: state.Subnets[0].ID, CIDR: "127.100.0.0/24"}}))
	f.Expect(object.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	f.Expect(object.Finalizers).To(ContainElement(infrav1.ClusterFinalizer))

	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestCluster_canBeDeletedBeforeItIsReady(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Speed, w.Times.VPC.Duration = 30, 300*time.Second })
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.VPCReadyCondition, "Waiting", "is P")
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestCluster_usesWhatTheSpecNamesAndSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	second := func(w *sim.Config) {
		block := w.IPBlocks[0]
		block.ID, block.Name, block.Prefix = "1b10c000-0000-4000-8000-000000000002", "block-2", block.Prefix.Next()
		block.Prefix, block.PrefixLength = w.IPBlocks[0].Prefix, 16
		w.IPBlocks = append(w.IPBlocks, block)
	}
	for _, row := range []struct {
		name, message string
		change        func(*infrav1.NvidiaBMMCluster)
	}{
		{"an unknown site", `no site is named "nowhere"`, func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef.Name = "nowhere" }},
		{"an unknown site ID", "a0000000-0000-4000-8000-000000000009 does not exist", func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.SiteRef = infrav1.SiteReference{ID: "a0000000-0000-4000-8000-000000000009"}
		}},
		{"no block where there are several", "choose one by its ID in spec.ipBlock.id", func(*infrav1.NvidiaBMMCluster) {}},
		{"an unknown block", `no IPv4 block named "other"`, func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.IPBlock = &infrav1.IPBlockReference{Name: "other"}
		}},
		{"an unknown block ID", "a0000000-0000-4000-8000-000000000009 does not exist", func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.IPBlock = &infrav1.IPBlockReference{ID: "a0000000-0000-4000-8000-000000000009"}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, second)
			object := f.CreateCluster("demo", row.change)
			f.Eventually(func() string { return f.Message(object, infrav1.ReferencesResolvedCondition) }).Should(ContainSubstring(row.message))
			f.Expect(f.Called("createSubnet")).To(BeZero())
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Sim.State().Empty()).To(BeTrue())
		})
	}
}

// The remedies that the conditions name have to be taken by the API server.
func TestCluster_healsWhenTheSpecIsCorrected(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.SiteRef = infrav1.SiteReference{ID: "a0000000-0000-4000-8000-000000000009"}
		c.Spec.IPBlock = &infrav1.IPBlockReference{Name: "other"}
	})
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Missing", "site a0000000-0000-4000-8000-000000000009 does not exist")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef.ID = sim.DefaultSiteID })
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", "correct spec.ipBlock.name")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.IPBlock = nil })
	f.UntilReady(object)
}

func TestCluster_withALostLedgerLeavesNothingBehindSilently(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	ledger := f.LoseLedger(object)
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", "is lost, but there is or was VPC "+object.Status.VPCID)
	f.Expect(f.Called("createVpc")).To(Equal(1))
	f.Delete(object)
	f.Restore(ledger)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestCluster_managedBySomebodyElseIsNotTouched(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("theirs", func(c *infrav1.NvidiaBMMCluster) {
		c.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "somebody"}
	})
	bmmtest.Change(f, f.Secret("theirs"), func(s *corev1.Secret) { s.Labels = map[string]string{"changed": "yes"} })
	f.UntilReady(f.CreateCluster("ours")) // by now the other one's turn has come and gone
	f.Expect(f.Read(object)).To(Succeed())
	f.Expect(object.Finalizers).To(BeEmpty())
	f.Expect(object.Status.Conditions).To(BeEmpty())
	f.Expect(f.Called("createVpc")).To(Equal(1))
}

// `kubectl delete -f` of the file that a cluster came from: the credentials have to stay until they aren't needed.
func TestCluster_canBeDeletedTogetherWithItsSecret(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object, secret := f.CreateCluster("demo"), f.Secret("demo")
	f.UntilReady(object)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(secret)).To(Succeed())
		g.Expect(secret.Finalizers).NotTo(BeEmpty())
	}).Should(Succeed())
	f.Delete(secret)
	f.Delete(object)
	f.UntilGone(object)
	f.UntilGone(secret)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// A namespace is deleted in no order: the cluster would be gone first, then its Secret, and the machine could never find out
// that its instance is gone.
func TestCluster_keepsItsSecretUntilItsMachinesAreGone(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object, secret := f.CreateCluster("demo"), f.Secret("demo")
	machine := f.CreateMachine("demo", "worker-1", []byte("#cloud-config\n"))
	f.UntilReady(machine)
	heal := f.Refuse(http.StatusServiceUnavailable, "listInstances", "getInstance")
	f.Expect(f.Sim.Vanish(machine.Status.InstanceID)).To(Succeed())
	for _, o := range []client.Object{object, secret, machine} {
		f.Delete(o)
	}
	f.UntilReason(object, infrav1.VPCReadyCondition, "Busy", "waits until NvidiaBMMMachine worker-1 is gone")
	f.Expect(f.Read(secret)).To(Succeed())
	heal()
	for _, o := range []client.Object{machine, object, secret} {
		f.UntilGone(o)
	}
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestCluster_saysThatKubeadmControlPlaneNeedsAnEndpoint(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.ControlPlaneEndpoint = nil })
	f.UntilReason(object, infrav1.ControlPlaneEndpointReadyCondition, "NoEndpoint", "set spec.controlPlaneEndpoint")
	f.UntilTrue(object, infrav1.SubnetsReadyCondition) // the networks don't wait for it
	f.Expect(object.Status.Initialization.Provisioned).To(BeNil())

	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.ControlPlaneEndpoint = &infrav1.APIEndpoint{Host: "127.0.0.1", Port: 6443}
	})
	f.UntilReady(object)
}

func TestCluster_namesTheSecretOfARefusedTokenAndHealsWithIt(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.Sim.SetTokens([]string{"another"})
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Credentials", "secret "+f.Namespace+"/demo")
	f.Expect(f.Message(object, infrav1.ReferencesResolvedCondition)).NotTo(ContainSubstring(sim.DefaultToken))
	f.Expect(f.Message(object, "Ready")).To(ContainSubstring("secret " + f.Namespace + "/demo"))

	secret := f.Secret("demo")
	bmmtest.Change(f, secret, func(s *corev1.Secret) { s.Data["token"] = []byte("another") })
	f.UntilReady(object)
	refused := f.Called("listSites")
	f.Expect(refused).To(BeNumerically("<", 20), "a refused token isn't tried again and again")
}

// The pause after a refusal is longer than the test waits.
func TestCluster_outlastsA401ThatWasTheServersHiccup(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, 8*time.Second, bmmtest.Settle)
	f.Fault(simulator.Fault{Operation: "getCurrentTenant", Kind: simulator.FaultStatus, Status: 401, Message: "Invalid authorization token in request"})
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Transient", "secret "+f.Namespace+"/demo")
	f.UntilTrue(object, infrav1.ReferencesResolvedCondition)
}

func TestCluster_namesTheSecretThatIsMissingOrIncomplete(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	bmmtest.Change(f, f.Secret("demo"), func(s *corev1.Secret) { delete(s.Data, "token") })
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Credentials", "demo has no token")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.Authentication.SecretRef.Name = "other" })
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Credentials", "other does not exist: create it")
	f.Expect(object.Status.VPCID).NotTo(BeEmpty(), "what isn't known any more isn't cleared")

	f.Delete(object)
	f.Create(f.Secret("other")) // deletion continues when there are credentials again
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestCluster_thatOwnsNothingCanGoWithoutItsSecret(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.Sim.SetTokens([]string{"another"})
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Credentials", "")
	bmmtest.Change(f, f.Secret("demo"), func(s *corev1.Secret) { s.Data = nil })
	f.Delete(object)
	f.UntilGone(object)
}

// The BMM API answers with every error it has while the cluster is there, and nothing is cleared, doubled or leaked.
func TestCluster_outlastsAnAPIThatIsDown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			object := f.CreateCluster("demo")
			f.UntilReady(object)
			before, ledger := object.DeepCopy(), f.Ledger(object)

			heal := f.Refuse(status, "getSite", "getVpc", "getSubnet", "getIpBlock", "listVpcs", "listSubnets")
			f.UntilNotReady(object)
			f.Expect(object.Status.VPCID).To(Equal(before.Status.VPCID))
			f.Expect(object.Status.Subnets).To(Equal(before.Status.Subnets))
			f.Expect(f.Ledger(object)).To(Equal(ledger))
			heal()
			touch(f, object)
			f.UntilReady(object)
			f.Expect(f.Called("createVpc")).To(Equal(1))
			f.Expect(f.Called("createSubnet")).To(Equal(1))
		})
	}
}

// A server answers 404 to everything under a wrong path: that looks like an empty data centre, but isn't one.
func TestCluster_doesNotTakeAWrongPathForAnEmptySite(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	bmmtest.Change(f, f.Secret("demo"), func(s *corev1.Secret) { s.Data["apiName"] = []byte("nico") })
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Transient", "404")
	f.Delete(object)
	f.UntilReason(object, infrav1.SubnetsReadyCondition, "Transient", "404")
	f.Expect(f.Sim.State().VPCs).To(HaveLen(1))

	bmmtest.Change(f, f.Secret("demo"), func(s *corev1.Secret) { delete(s.Data, "apiName") })
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestCluster_makesOneVPCWhateverHappensToTheCreate(t *testing.T) {
	t.Parallel()
	for _, fault := range []simulator.Fault{
		{Operation: "createVpc", Kind: simulator.FaultLoseAnswer},
		{Operation: "createVpc", Kind: simulator.FaultStatus, Status: 500, Message: "workflow failed"},
		{Operation: "createVpc", Kind: simulator.FaultStatus, Status: 503, Message: "try later"},
		{Operation: "listVpcs", Kind: simulator.FaultStatus, Status: 500, Message: "can't list"},
		{Operation: "createSubnet", Kind: simulator.FaultLoseAnswer},
		{Operation: "createSubnet", Kind: simulator.FaultStatus, Status: 500, Message: "workflow failed"},
		{Operation: "listSubnets", Kind: simulator.FaultStatus, Status: 503, Message: "can't list"},
	} {
		t.Run(fault.Operation+" "+string(fault.Kind)+" "+http.StatusText(fault.Status), func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			f.Fault(fault)
			object := f.CreateCluster("demo")
			f.UntilReady(object)
			f.Expect(f.Sim.State().VPCs).To(HaveLen(1))
			f.Expect(f.Sim.State().Subnets).To(HaveLen(1))
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Sim.State().Empty()).To(BeTrue())
		})
	}
}

func TestCluster_makesAgainWhatSomebodyElseDeleted(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	lost := object.Status.Subnets[0].ID
	f.Expect(f.API().DeleteSubnet(t.Context(), sim.DefaultSiteID, lost)).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.Subnets).To(ConsistOf(And(HaveField("ID", Not(Equal(lost))), HaveField("ID", Not(BeEmpty())))))
	}).Should(Succeed())
	f.UntilReady(object)
}

func TestCluster_addsAndRemovesSubnets(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets = []infrav1.SubnetSpec{{Name: "storage", PrefixLength: ptr.To[int32](26)}}
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.Subnets).To(ConsistOf(HaveField("Name", "storage")))
		g.Expect(f.Sim.State().Subnets).To(HaveLen(1))
	}).Should(Succeed())
	f.UntilReady(object)
}

func TestCluster_isLeftAloneWhilePaused(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	f.UntilTrue(object, clusterv1.PausedCondition)
	f.Expect(f.Sim.Calls()).To(BeEmpty())
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { delete(c.Annotations, clusterv1.PausedAnnotation) })
	f.UntilReady(object)
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
	})
	f.UntilTrue(object, clusterv1.PausedCondition)
	f.Delete(object)
	f.Expect(f.Called("deleteSubnet")).To(BeZero(), "pause comes before deletion")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { delete(c.Annotations, clusterv1.PausedAnnotation) })
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// touch wakes the controller, as any change would.
func touch(f *bmmtest.Fixture, object *infrav1.NvidiaBMMCluster) {
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, "touched", "yes") })
}

// Conditions are read by the tenant who has written the Secret: they must not reveal what listens inside.
func TestCluster_saysTheSameOfARefusedEndpointWhateverListensThere(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	f.Expect(err).NotTo(HaveOccurred())
	for name, endpoint := range map[string]string{"open": "0.0.0.0:" + port, "closed": "0.0.0.0:1", "metadata": "169.254.169.254:80"} {
		object := f.CreateCluster(name, func(c *infrav1.NvidiaBMMCluster) { c.Spec.Authentication.SecretRef.Name = name + "-inside" })
		secret := f.Secret(name + "-inside")
		secret.Data["endpoint"] = []byte("https://" + endpoint)
		f.Create(secret)
		f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Credentials", "secret "+f.Namespace+"/"+name+"-inside can't be used: "+
			"configure BMM client: endpoint "+endpoint+" isn't allowed by the manager's policy: ask its operator (--allowed-endpoints)")
	}
	f.Expect(connections.Load()).To(BeZero())
}
