// Package powervstest runs the provider for tests: against a real API server, and a simulated account of IBM Cloud for each test.
package powervstest

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/managertest"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/provider"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	// Poll is the provider's poll interval; what waits for long is polled after ten of these.
	Poll = 50 * time.Millisecond
	// Settle is longer than any late commit of these tests.
	Settle = 2 * time.Second
	// Speed lets all that takes ten simulated minutes end within a poll interval or two.
	Speed = 6000
	// Region is that of VPCs.
	Region = "us-south"
)

// Fixture is a provider that watches one namespace, and the account that it works in.
type Fixture struct {
	*managertest.Fixture
	t     *testing.T
	Cloud *sim.Cloud
	// Transport reaches the services, without a network.
	Transport http.RoundTripper
}

// Start runs a provider and a simulator until the test ends. Change may modify the simulator's world first.
func Start(t *testing.T, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := StartCloud(t, change...)
	f.RunProvider(Poll, Settle)
	return f
}

// RunProvider runs a provider until the test ends or it is stopped.
func (f *Fixture) RunProvider(poll, settle time.Duration) (stop func()) {
	f.t.Helper()
	return f.Run(poll, settle, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options) error {
		return provider.Setup(ctx, mgr, engine, provider.Config{Change: f.Paced(poll)}, options)
	})
}

// Paced lets a manager's clients reach the account.
func (f *Fixture) Paced(poll time.Duration) func(*ibm.Config) {
	paced := ibm.Paced(poll, 0, 0, egress.Policy{Loopback: true}, nil)
	return func(c *ibm.Config) {
		paced(c)
		c.HTTP = &http.Client{Transport: f.Transport}
	}
}

// StartCloud runs a simulator and no provider.
func StartCloud(t *testing.T, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	return StartCloudIn(t, testenv.Client(t, provider.AddToScheme), testenv.Namespace(t), change...)
}

// StartCloudIn starts one beside another API server.
func StartCloudIn(t *testing.T, api client.WithWatch, namespace string, change ...func(*sim.Config)) *Fixture {
	t.Helper()
	f := &Fixture{Fixture: managertest.NewFixture(t, api, namespace), t: t}
	world := sim.DefaultWorld()
	world.Speed = Speed
	for _, c := range change {
		c(&world)
	}
	cloud, err := sim.New(world, slog.New(slog.DiscardHandler))
	f.Expect(err).NotTo(HaveOccurred())
	f.Cloud, f.Service = cloud, cloud.Service
	f.Transport = simulatortest.Transport(func(string) http.Handler { return cloud })
	t.Cleanup(cloud.Close) // it ends calls that hang
	return f
}

// address of the account. Nothing listens there: requests are handed over.
const address = "http://127.0.0.1:1"

// endpoints of the services, as Secrets have them.
var endpoints = map[ibm.Service]string{
	ibm.ServiceIAM: address, ibm.ServiceResourceManager: address, ibm.ServiceResourceController: address, ibm.ServicePowerVS: address,
	ibm.ServiceVPC: address + "/vpc/{region}/v1", ibm.ServiceTransitGateway: address + "/v1", ibm.ServiceCOS: address,
}

// Run a manager that watches the namespace, until the test ends or it is stopped.
func (f *Fixture) Run(poll, settle time.Duration, setup managertest.Setup) (stop func()) {
	f.t.Helper()
	scheme := runtime.NewScheme()
	f.Expect(provider.AddToScheme(scheme)).To(Succeed())
	return managertest.Manager{
		Scheme: scheme, Namespace: f.Namespace, Poll: poll, Settle: settle, Reconciles: f.Reconciles,
	}.Run(f.t, setup)
}

// Secret with valid credentials.
func (f *Fixture) Secret(name string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace},
		Data:       map[string][]byte{ibm.SecretKeyAPIKey: []byte(sim.DefaultAPIKey)},
	}
	for service, url := range endpoints {
		secret.Data[string(service)+"Endpoint"] = []byte(url)
	}
	return secret
}

// CreateCluster makes a Secret, a Cluster, and an IBMPowerVSCluster as Cluster API would own it, for which everything is created.
func (f *Fixture) CreateCluster(name string, change ...func(*infrav1.IBMPowerVSCluster)) *infrav1.IBMPowerVSCluster {
	f.t.Helper()
	object := f.NewCluster(name, change...)
	f.Create(object)
	return object
}

// NewCluster is CreateCluster up to the IBMPowerVSCluster itself, which it returns.
func (f *Fixture) NewCluster(name string, change ...func(*infrav1.IBMPowerVSCluster)) *infrav1.IBMPowerVSCluster {
	f.t.Helper()
	f.Create(f.Secret(name))
	refersTo := func(group, kind string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
	}
	owner := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Namespace},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: refersTo(infrav1.GroupVersion.Group, "IBMPowerVSCluster"),
			ControlPlaneRef:   refersTo("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
		},
	}
	f.Create(owner)
	object := &infrav1.IBMPowerVSCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.Namespace,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: name},
			Annotations:     map[string]string{infrav1.CreateInfraAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Cluster"))},
		},
		Spec: infrav1.IBMPowerVSClusterSpec{
			Authentication: &infrav1.Authentication{SecretRef: infrav1.SecretReference{Name: name}},
			Zone:           sim.DefaultZone,
			ResourceGroup:  &infrav1.IBMPowerVSResourceReference{Name: sim.DefaultResourceGroup},
			VPC:            &infrav1.VPCResourceReference{Region: Region},
		},
	}
	for _, c := range change {
		c(object)
	}
	return object
}
