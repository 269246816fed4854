package actuator_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, actuator.SetupWebhooks) }

// ignition is what OpenShift's machines boot with. The BMM API would make something of the escape that is no JSON.
const ignition = `{"ignition":{"config":{"merge":[{"source":"https://127.0.0.1:22623/config/worker"}]},"version":"3.2.0"},
	"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,\u001b[1mworker"}}]}}`

// fixture is a site with a VPC and a subnet of the user's own, and Secrets in an OpenShift cluster.
type fixture struct {
	*bmmtest.Fixture
	t        *testing.T
	vpc      string
	stopping func()
}

// start runs the machine controller too.
func start(t *testing.T, change ...func(*sim.Config)) *fixture {
	t.Helper()
	f := startSite(t, change...)
	f.run(bmmtest.Poll)
	return f
}

func startSite(t *testing.T, change ...func(*sim.Config)) *fixture {
	t.Helper()
	f := &fixture{Fixture: bmmtest.StartSite(t, change...), t: t}
	f.prepare()
	return f
}

// prepare what there is before anything is made for a Machine.
func (f *fixture) prepare() {
	f.t.Helper()
	testenv.MachineAPI(f.t, "Default")
	f.vpc = f.MakeVPC("net", bmm.EthernetVirtualizer)
	f.subnet("nodes")
	f.Create(f.Secret("bmm"))
	f.Create(f.userData("worker-user-data", ignition))
}

func (f *fixture) run(poll time.Duration) {
	f.stopping = f.Run(poll, bmmtest.Settle, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, o controller.Options) error {
		return actuator.Setup(ctx, mgr, engine, bmm.Paced(bmmtest.Poll, 0, 0, egress.Policy{Loopback: true}), o)
	})
}

func (f *fixture) subnet(name string) (id string) {
	f.t.Helper()
	return f.Make(sim.Object{Kind: sim.KindSubnet, Request: bmm.SubnetCreateRequest{
		Name: name, VPCID: f.vpc, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24,
	}})
}

func (f *fixture) userData(name, text string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name}, Data: map[string][]byte{"userData": []byte(text)},
	}
}

// spec is the plainest provider spec.
func (f *fixture) spec() *bmmv1.NvidiaBMMMachineProviderSpec {
	return &bmmv1.NvidiaBMMMachineProviderSpec{
		TypeMeta:          metav1.TypeMeta{APIVersion: bmmv1.GroupVersion.String(), Kind: bmmv1.ProviderSpecKind},
		SiteRef:           infrav1.SiteReference{Name: "site-1"},
		TenantID:          sim.DefaultTenantID,
		VPCID:             f.vpc,
		CredentialsSecret: bmmv1.SecretReference{Name: "bmm"},
		UserDataSecret:    bmmv1.SecretReference{Name: "worker-user-data"},
		InstanceSpec: infrav1.InstanceSpec{
			InstanceType:    infrav1.InstanceTypeReference{ID: sim.DefaultInstanceTypeID},
			OperatingSystem: infrav1.OperatingSystemReference{ID: sim.DefaultOperatingSystemID},
		},
	}
}

// machine that isn't there yet.
func (f *fixture) machine(name string, change ...func(*bmmv1.NvidiaBMMMachineProviderSpec)) *machinev1.Machine {
	spec := f.spec()
	for _, c := range change {
		c(spec)
	}
	return &machinev1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.Namespace, Name: name, Labels: map[string]string{machinev1.MachineClusterIDLabel: "demo"},
		},
		Spec: machinev1.MachineSpec{ProviderSpec: machinev1.ProviderSpec{Value: raw(spec)}},
	}
}

func raw(spec any) *runtime.RawExtension {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return &runtime.RawExtension{Raw: text}
}

// createMachine makes one.
func (f *fixture) createMachine(name string, change ...func(*bmmv1.NvidiaBMMMachineProviderSpec)) *machinev1.Machine {
	f.t.Helper()
	m := f.machine(name, change...)
	f.Create(m)
	return m
}

// statusOf is the provider status.
func statusOf(m *machinev1.Machine) (status bmmv1.NvidiaBMMMachineProviderStatus) {
	if m.Status.ProviderStatus != nil {
		_ = json.Unmarshal(m.Status.ProviderStatus.Raw, &status)
	}
	return status
}

func condition(m *machinev1.Machine, kind string) metav1.Condition {
	for _, c := range statusOf(m).Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// untilPhase waits for a phase of the Machine.
func (f *fixture) untilPhase(m *machinev1.Machine, phase string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(m)).To(Succeed())
		g.Expect(ptr.Deref(m.Status.Phase, "")).To(Equal(phase), "%+v", statusOf(m).Conditions)
	}).Should(Succeed())
}

// untilReady waits for an instance that runs.
func (f *fixture) untilReady(m *machinev1.Machine) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(m)).To(Succeed())
		g.Expect(condition(m, bmmv1.ReadyCondition).Status).To(Equal(metav1.ConditionTrue), "%+v", statusOf(m).Conditions)
	}).Should(Succeed())
}

// untilSays waits until a condition isn't true and says something.
func (f *fixture) untilSays(m *machinev1.Machine, kind, message string) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(m)).To(Succeed())
		c := condition(m, kind)
		g.Expect(c.Status).NotTo(BeElementOf(metav1.ConditionTrue, metav1.ConditionStatus("")), "%+v", m.Status)
		g.Expect(c.Message).To(ContainSubstring(message))
	}).Should(Succeed())
}

// ready is a Machine whose instance runs.
func (f *fixture) ready(name string, change ...func(*bmmv1.NvidiaBMMMachineProviderSpec)) *machinev1.Machine {
	f.t.Helper()
	m := f.createMachine(name, change...)
	f.untilReady(m)
	return m
}

// instances at the site, by name.
func (f *fixture) instances() map[string]bmm.Instance {
	all := map[string]bmm.Instance{}
	for _, i := range f.Sim.State().Instances {
		if _, double := all[i.Name]; double {
			f.t.Errorf("two instances are named %s", i.Name)
		}
		all[i.Name] = i
	}
	return all
}

// warningsOf a Machine, as events.
func (f *fixture) warningsOf(m *machinev1.Machine) (notes []string, err error) {
	all := &eventsv1.EventList{}
	err = f.Client.List(f.t.Context(), all, client.InNamespace(m.Namespace))
	for _, e := range all.Items {
		if e.Type == corev1.EventTypeWarning && e.Regarding.Kind == "Machine" && e.Regarding.UID == m.UID {
			notes = append(notes, e.Note)
		}
	}
	return notes, err
}
