package actuator_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/machineapi"
	"github.com/bedplate/bedplate/internal/testenv"
)

// exists is the Machine's own condition.
func exists(m *machinev1.Machine) machinev1.Condition {
	for _, c := range m.Status.Conditions {
		if c.Type == machinev1.InstanceExistsCondition {
			return c
		}
	}
	return machinev1.Condition{}
}

// Whatever the API answers, as long as it isn't a proven "not found": the instance is taken for there, and so is the Machine.
func TestTrouble_unknownIsNotGone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		begin, end func(*fixture)
	}{
		"expired token": {
			begin: func(f *fixture) { f.Sim.ExpireTokens() },
			end:   func(f *fixture) { f.Sim.SetTokens([]string{sim.DefaultToken}) },
		},
		"403": {begin: func(f *fixture) { f.Refuse(http.StatusForbidden, "listInstances", "getInstance") }},
		"503": {begin: func(f *fixture) { f.Refuse(http.StatusServiceUnavailable, "listInstances", "getInstance") }},
		"404 for all": {begin: func(f *fixture) {
			f.Refuse(http.StatusNotFound, "listInstances", "getInstance", "getSite", "getCurrentTenant", "getMetadata")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			m := f.ready("worker-1")
			row.begin(f)
			f.Eventually(func(g Gomega) {
				g.Expect(f.Read(m)).To(Succeed())
				g.Expect(exists(m)).To(And(HaveField("Status", corev1.ConditionUnknown), HaveField("Reason", machinev1.ErrorCheckingProviderReason)))
				g.Expect(condition(m, bmmv1.ReadyCondition).Status).NotTo(Equal(metav1.ConditionTrue))
			}).Should(Succeed())
			f.Expect(m.Status.Phase).To(HaveValue(Equal(machinev1.PhaseProvisioned)))
			f.Delete(m)
			f.untilPhase(m, machinev1.PhaseDeleting)
			f.Expect(f.instances()).To(HaveLen(1))

			f.Sim.ClearFaults()
			if row.end != nil {
				row.end(f)
			}
			f.UntilGone(m)
			f.Expect(f.instances()).To(BeEmpty())
			f.Expect(f.Called("createInstance")).To(Equal(1))
		})
	}
}

func TestTrouble_anInstanceDeletedBehindOurBack(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker-1")
	f.Expect(f.Sim.Vanish(f.instances()["worker-1"].ID)).To(Succeed())
	f.untilPhase(m, machinev1.PhaseFailed)
	f.Expect(exists(m)).To(And(HaveField("Status", corev1.ConditionFalse), HaveField("Reason", machinev1.InstanceMissingReason)))
	f.Expect(condition(m, bmmv1.InstanceProvisionedCondition)).To(And(
		HaveField("Reason", "Lost"), HaveField("Message", ContainSubstring("delete the Machine to get another one"))))
	f.Delete(m)
	f.UntilGone(m)
	f.Expect(f.Called("createInstance")).To(Equal(1), "a Machine isn't repaired under its Node")
}

func TestCredentials_missingOnesAreNamedAndWaitedFor(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.createMachine("worker-1", func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.CredentialsSecret.Name = "later" })
	f.untilSays(m, bmmv1.ReferencesResolvedCondition, "secret "+f.Namespace+"/later does not exist: create it")
	never := f.createMachine("worker-2", func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.CredentialsSecret.Name = "never" })
	f.untilSays(never, bmmv1.ReferencesResolvedCondition, "never does not exist")
	f.Create(f.Secret("later"))
	f.untilReady(m)

	f.Delete(never)
	f.UntilGone(never)
}

// As when a whole file is deleted at once.
func TestCredentials_stayAsLongAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.ready("worker-1")
	secret := f.Secret("bmm")
	f.Eventually(func() bool {
		_ = f.Read(secret)
		return controllerutil.ContainsFinalizer(secret, bmmv1.SecretFinalizer)
	}).Should(BeTrue())
	f.Delete(secret)
	f.Delete(m)
	f.UntilGone(m)
	f.UntilGone(secret)
	f.Expect(f.instances()).To(BeEmpty())
}

func TestUserData_wakesWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.run(time.Hour) // no controller requeues by itself
	m := f.createMachine("worker-1", func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.UserDataSecret.Name = "late" })
	f.untilSays(m, bmmv1.UserDataReadyCondition, "does not exist")
	f.Create(f.userData("late", ignition))
	f.Eventually(f.instances).Should(HaveKey("worker-1"))
}

func TestUserData_isWaitedFor(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, row := range map[string]struct {
		data    map[string][]byte
		message string
	}{
		"none":      {nil, `Secret ` + f.Namespace + `/none does not exist: create it, with the user data under the key userData`},
		"other-key": {map[string][]byte{"value": []byte("x")}, `key "userData" of Secret ` + f.Namespace + `/other-key is empty: put into it what the instance is to boot with`},
		"no-text":   {map[string][]byte{"userData": {0xff, 0xfe}}, `isn't UTF-8, and the BMM API takes text only`},
		"two-parts": {map[string][]byte{"userData": []byte("a: 1\n---\nb: 2\n")}, `key "userData" of Secret ` + f.Namespace + `/two-parts: the BMM API reformats YAML`},
	} {
		t.Run(name, func(t *testing.T) {
			secret := f.userData(name, "")
			secret.Data = row.data
			if row.data != nil {
				f.Create(secret)
			}
			m := f.createMachine(name, func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.UserDataSecret.Name = name })
			f.untilSays(m, bmmv1.UserDataReadyCondition, row.message)
			f.Expect(f.instances()).NotTo(HaveKey(name))
			secret.Data = map[string][]byte{"userData": []byte(ignition)}
			if row.data == nil {
				f.Create(secret)
			} else {
				f.Expect(f.Client.Update(t.Context(), secret)).To(Succeed())
			}
			f.untilReady(m)
			f.Expect(f.Rack.Started()).To(ContainElement(And(HaveField("Hostname", name), HaveField("UserData", MatchJSON(ignition)))))
		})
	}
}

func TestPlace_whatDoesntFitIsNamed(t *testing.T) {
	t.Parallel()
	f := start(t, func(w *sim.Config) { w.Sites[0].NativeNetworking = true })
	fnn := f.MakeVPC("fabric", bmm.FNN)
	two := f.MakeVPC("two", bmm.EthernetVirtualizer)
	for _, name := range []string{"one", "other"} {
		f.Make(sim.Object{Kind: sim.KindSubnet, Request: bmm.SubnetCreateRequest{
			Name: name + "-of-two", VPCID: two, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 25,
		}})
	}
	for name, row := range map[string]struct {
		change  func(*bmmv1.NvidiaBMMMachineProviderSpec)
		message string
	}{
		"tenant": {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.TenantID = someID },
			"bmm are those of tenant " + sim.DefaultTenantID + ", and tenantID names " + someID + ": correct one of the two"},
		"site-name": {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.SiteRef.Name = "site-9" }, `no site is named "site-9": correct siteRef`},
		"site-id":   {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.SiteRef = infrav1.SiteReference{ID: someID} }, ": correct siteRef"},
		"vpc":       {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.VPCID = someID }, "VPC " + someID},
		"subnet": {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.Network.SubnetName = "other" },
			`VPC net has no subnet "other": make it there, or correct network.subnetName`},
		"fabric":  {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.VPCID, s.Network.SubnetName = fnn, "nodes" }, "use network.vpcPrefixName"},
		"no-name": {func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.VPCID = two }, "VPC two has 2 networks, and the spec names none: set network.subnetName"},
	} {
		t.Run(name, func(*testing.T) {
			m := f.createMachine(name, row.change)
			f.untilSays(m, bmmv1.ReferencesResolvedCondition, row.message)
			f.Expect(m.Status.Phase).To(HaveValue(Equal(machinev1.PhaseProvisioning)), "it can still be put right")
			f.Eventually(f.warningsOf).WithArguments(m).Should(ContainElement(ContainSubstring(row.message)))
			f.Delete(m)
			f.UntilGone(m)
		})
	}
	f.Expect(f.Called("createInstance")).To(BeZero())
}

func TestPlace_aSubnetThatComesLater(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.createMachine("worker-1", func(s *bmmv1.NvidiaBMMMachineProviderSpec) {
		s.Network.SubnetName = "nodes"
		s.Network.AdditionalInterfaces = []infrav1.NetworkInterface{{SubnetName: "storage"}}
	})
	f.untilSays(m, bmmv1.ReferencesResolvedCondition, `no subnet "storage"`)
	storage := f.subnet("storage")
	f.untilReady(m)
	f.Expect(f.instances()["worker-1"].Interfaces).To(And(HaveLen(2), ContainElement(HaveField("SubnetID", storage))))
	f.Expect(m.Status.Addresses).To(HaveLen(4), "two IP addresses, and two ways to write the name")
}

// The name is taken at the site, so the second one waits, and doesn't touch what isn't its own.
func TestName_twoMachinesOfOneNameInTwoNamespaces(t *testing.T) {
	t.Parallel()
	f := start(t)
	first := f.ready("worker-1")
	elsewhere := *f.Fixture
	elsewhere.Namespace = testenv.Namespace(t)
	other := &fixture{Fixture: &elsewhere, t: t, vpc: f.vpc}
	other.Create(other.Secret("bmm"))
	other.Create(other.userData("worker-user-data", "#cloud-config\n"))
	other.run(bmmtest.Poll)
	second := other.createMachine("worker-1")
	other.untilSays(second, bmmv1.InstanceProvisionedCondition, f.instances()["worker-1"].ID)
	other.Delete(second)
	other.UntilGone(second)
	f.Expect(f.instances()).To(HaveLen(1))
	f.untilReady(first)
	f.Expect(f.Sim.State().Releases).To(BeEmpty())

	third := other.createMachine("worker-1")
	other.untilSays(third, bmmv1.InstanceProvisionedCondition, "worker-1")
	f.Delete(first)
	f.UntilGone(first)
	other.untilReady(third)
}

func TestForeign_machinesOfOtherProvidersAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := start(t)
	foreign := f.machine("foreign")
	foreign.Spec.ProviderSpec.Value.Raw = []byte(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","credentialsSecret":{"name":"aws"}}`)
	f.Create(foreign)
	f.Create(f.Secret("aws"))
	before := foreign.DeepCopy()
	m := f.ready("worker-1")
	f.Expect(f.Read(foreign)).To(Succeed())
	f.Expect(foreign).To(Equal(before))
	secret := f.Secret("aws")
	f.Expect(f.Read(secret)).To(Succeed())
	f.Expect(secret.Finalizers).To(BeEmpty())
	f.Delete(foreign)
	f.UntilGone(foreign)
	f.Delete(m)
	f.UntilGone(m)
}

// The webhook refuses such specs; an API server that didn't ask it may have taken one.
func TestProviderSpec_thatIsBadNevertheless(t *testing.T) {
	t.Parallel()
	f := start(t)
	specs, err := providerspec.NewReader()
	f.Expect(err).NotTo(HaveOccurred())
	a := &actuator.Actuator{Specs: specs, Logins: lifecycle.Logins[*bmm.Client]{Engine: &graph.Engine{
		Store: &ledgers.Store{Client: f.Client, Live: f.Client}, Recorder: events.NewFakeRecorder(10), Clock: clock.RealClock{}, Poll: time.Second,
	}}}
	bad := func(s *bmmv1.NvidiaBMMMachineProviderSpec) { s.VPCID = "net" }
	err = a.Create(t.Context(), f.machine("worker-1", bad))
	f.Expect(machineapi.IsInvalidConfiguration(err)).To(BeTrue())
	f.Expect(err).To(MatchError(ContainSubstring(`spec.providerSpec.value.vpcID: Invalid value: "net"`)))

	m := f.ready("worker-2") // a MachineHealthCheck would replace a Failed one
	m.Spec.ProviderSpec = f.machine("worker-2", bad).Spec.ProviderSpec
	err = a.Update(t.Context(), m)
	f.Expect(machineapi.IsInvalidConfiguration(err)).To(BeFalse())
	f.Expect(err).To(BeAssignableToTypeOf(&machineapi.RequeueAfterError{}))
	f.Expect(condition(m, bmmv1.ReferencesResolvedCondition)).To(And(
		HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring("value.vpcID"))))
	f.Expect(m.Spec.ProviderID).NotTo(BeNil())
}

// Nothing is written, and nothing asked, for Machines that are well and stay so.
func TestMachine_thatIsWellIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := startSite(t)
	f.run(500 * time.Millisecond) // however busy the computer is, no list is too old for that
	m := f.ready("worker-1")
	f.untilPhase(m, machinev1.PhaseProvisioned)
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">", lists+5), "nothing is on its way any more")
	bmmtest.Change(f.Fixture, m, func(m *machinev1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, "woken", "1") })
	lists = f.Called("listInstances")
	calls := f.Sim.Calls()
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">", lists+25), "ten intervals twice")
	version := m.ResourceVersion
	f.Expect(f.Read(m)).To(Succeed())
	f.Expect(m.ResourceVersion).To(Equal(version))
	now := f.Sim.Calls()
	delete(calls, "listInstances")
	delete(now, "listInstances")
	f.Expect(now).To(Equal(calls))
}
