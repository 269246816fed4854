// Package bmmtest runs the provider for tests: against a real API server, and a simulator of its own for each test.
package bmmtest

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/managertest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	// Poll is the provider's poll interval; what waits for long is polled after ten of these.
	Poll = 50 * time.Millisecond
	// Settle is longer than any late commit of these tests.
	Settle = 2 * time.Second
	// OperatingSystemID is any: the simulator only wants one.
	OperatingSystemID = "05000000-0000-4000-8000-000000000001"
)

// Fixture is a provider that watches one namespace, and the site that it works at.
type Fixture struct {
	*managertest.Fixture
	t        *testing.T
	Sim      *sim.Server
	Endpoint string
	Rack     *Rack
}

// Start runs a provider and a simulator until the test ends. Change may modify the simulator's world first.
func Start(t *testing.T, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	return StartPaced(t, Poll, Settle, change...)
}

// StartPaced is Start with another poll interval and another settle time than Poll and Settle.
func StartPaced(t *testing.T, poll, settle time.Duration, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := StartSite(t, change...)
	f.Run(poll, settle, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options) error {
		return provider.Setup(ctx, mgr, engine, bmm.Paced(poll, 0, 0, egress.Policy{Loopback: true}), options)
	})
	return f
}

// StartSite runs a simulator and no provider.
func StartSite(t *testing.T, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := StartSiteIn(t, testenv.Client(t), testenv.Namespace(t), change...)
	t.Cleanup(f.forget)
	return f
}

// forget what the test has left in the API server, when no manager runs any more: other tests read what is in all namespaces, and the site
// is about to end.
func (f *Fixture) forget() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	for _, list := range []client.ObjectList{&infrav1.NvidiaBMMClusterList{}, &infrav1.NvidiaBMMMachineList{}, &ledgerv1.LedgerList{}} {
		f.Expect(f.Client.List(ctx, list, client.InNamespace(f.Namespace))).To(Succeed())
		f.Expect(meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if err := f.Client.Patch(ctx, object, free); err != nil {
				return client.IgnoreNotFound(err) // it was being deleted
			}
			return client.IgnoreNotFound(f.Client.Delete(ctx, object))
		})).To(Succeed())
	}
}

// StartSiteIn starts one beside another API server.
func StartSiteIn(t *testing.T, api client.WithWatch, namespace string, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := &Fixture{Fixture: managertest.NewFixture(t, api, namespace), t: t, Rack: &Rack{}}
	world := sim.DefaultWorld()
	world.Speed = 2000
	for _, c := range change {
		c(&world)
	}
	server, err := sim.New(world, f.Rack, slog.New(slog.DiscardHandler))
	f.Expect(err).NotTo(HaveOccurred())
	listener := httptest.NewServer(server)
	t.Cleanup(func() { server.Close(); listener.Close() })
	f.Sim, f.Service, f.Endpoint = server, server.Service, listener.URL
	return f
}

// Run a manager that watches the namespace, until the test ends or it is stopped.
func (f *Fixture) Run(poll, settle time.Duration, setup managertest.Setup) (stop func()) {
	f.t.Helper()
	return managertest.Manager{
		Scheme: testenv.Scheme(f.t), Namespace: f.Namespace, Poll: poll, Settle: settle, Reconciles: f.Reconciles,
	}.Run(f.t, setup)
}

// Secret with valid credentials.
func (f *Fixture) Secret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace},
		Data: map[string][]byte{
			"endpoint": []byte(f.Endpoint), "orgName": []byte(sim.DefaultOrg), "token": []byte(sim.DefaultToken),
		},
	}
}

// CreateCluster makes a Secret, a Cluster, and an NvidiaBMMCluster as Cluster API would own it.
func (f *Fixture) CreateCluster(name string, change ...func(*infrav1.NvidiaBMMCluster)) *infrav1.NvidiaBMMCluster {
	f.t.Helper()
	object := f.NewCluster(name, change...)
	f.Create(object)
	return object
}

// NewCluster is CreateCluster up to the NvidiaBMMCluster itself, which it returns.
func (f *Fixture) NewCluster(name string, change ...func(*infrav1.NvidiaBMMCluster)) *infrav1.NvidiaBMMCluster {
	f.t.Helper()
	f.Create(f.Secret(name))
	owner := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "NvidiaBMMCluster", Name: name},
			ControlPlaneRef:   clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: name},
		},
	}
	f.Create(owner)
	object := &infrav1.NvidiaBMMCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.Namespace,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Cluster"))},
		},
		Spec: infrav1.NvidiaBMMClusterSpec{
			SiteRef:              infrav1.SiteReference{Name: "site-1"},
			TenantID:             sim.DefaultTenantID,
			Authentication:       infrav1.Authentication{SecretRef: infrav1.SecretReference{Name: name}},
			Subnets:              []infrav1.SubnetSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}},
			ControlPlaneEndpoint: &infrav1.APIEndpoint{Host: "127.0.0.1", Port: 6443},
		},
	}
	for _, c := range change {
		c(object)
	}
	return object
}

// CreateMachine makes a Machine with bootstrap data, unless that is nil, and an NvidiaBMMMachine as Cluster API would own
// it.
func (f *Fixture) CreateMachine(cluster, name string, userData []byte, change ...func(*infrav1.NvidiaBMMMachine)) *infrav1.NvidiaBMMMachine {
	f.t.Helper()
	return f.CreateMachineOf(func(*clusterv1.Machine) {}, cluster, name, userData, change...)
}

// CreateMachineOf is CreateMachine with a Machine that own has changed.
func (f *Fixture) CreateMachineOf(
	own func(*clusterv1.Machine), cluster, name string, userData []byte, change ...func(*infrav1.NvidiaBMMMachine),
) *infrav1.NvidiaBMMMachine {
	f.t.Helper()
	object := f.NewMachineOf(own, cluster, name, userData, change...)
	f.Create(object)
	return object
}

// NewMachine is CreateMachine up to the NvidiaBMMMachine itself, which it returns.
func (f *Fixture) NewMachine(cluster, name string, userData []byte) *infrav1.NvidiaBMMMachine {
	f.t.Helper()
	return f.NewMachineOf(func(*clusterv1.Machine) {}, cluster, name, userData)
}

// NewMachineOf is CreateMachineOf up to the NvidiaBMMMachine itself, which it returns.
func (f *Fixture) NewMachineOf(
	own func(*clusterv1.Machine), cluster, name string, userData []byte, change ...func(*infrav1.NvidiaBMMMachine),
) *infrav1.NvidiaBMMMachine {
	f.t.Helper()
	object := &infrav1.NvidiaBMMMachine{
		ObjectMeta: f.CreateOwner(own, cluster, name, "NvidiaBMMMachine", userData),
		Spec: infrav1.NvidiaBMMMachineSpec{InstanceSpec: infrav1.InstanceSpec{
			InstanceType:    infrav1.InstanceTypeReference{ID: sim.DefaultInstanceTypeID},
			OperatingSystem: infrav1.OperatingSystemReference{ID: OperatingSystemID},
			Network:         infrav1.NetworkSpec{NetworkInterface: infrav1.NetworkInterface{SubnetName: "nodes"}},
		}},
	}
	for _, c := range change {
		c(object)
	}
	return object
}

// Change an object, and retry on conflict.
func Change[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	managertest.Change(f.Fixture, object, change)
}

// ChangeStatus changes the status of an object, and retries on conflict.
func ChangeStatus[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	managertest.ChangeStatus(f.Fixture, object, change)
}

// UntilProvisioned waits until a machine is provisioned: what is ready at once gets its provider ID after its status.
func (f *Fixture) UntilProvisioned(machine *infrav1.NvidiaBMMMachine) {
	f.t.Helper()
	f.UntilReady(machine)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(machine)).To(Succeed())
		g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	}).Should(Succeed())
	f.Expect(machine.Spec.ProviderID).NotTo(BeEmpty(), "Cluster API reads it then")
}

// Rack remembers the machines that were powered on.
type Rack struct {
	mu      sync.Mutex
	started []sim.Machine
	stopped []string
}

// PowerOn remembers a machine.
func (r *Rack) PowerOn(m sim.Machine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, m)
	return nil
}

// PowerOff remembers that a machine was powered off.
func (r *Rack) PowerOff(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = append(r.stopped, id)
}

// Started are the machines that were powered on.
func (r *Rack) Started() []sim.Machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sim.Machine(nil), r.started...)
}
