package provider_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/image"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/machine"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func machineReconciler(p parts) reconcile.Reconciler {
	return &machine.Reconciler{Client: p.client, Logins: p.Logins, VMs: inventory.New(crashPoll, p.Engine.Clock)}
}

func imageReconciler(p parts) reconcile.Reconciler {
	return &image.Reconciler{Client: p.client, Logins: p.Logins}
}

// standing is a world with a cluster as its controller leaves it, for which nothing was created.
func standing(t *testing.T) *world { return standingAs(t, powervstest.Plain) }

// standingAs is the same with a cluster of any spec.
func standingAs(t *testing.T, change func(*infrav1.IBMPowerVSCluster)) *world {
	api, namespace := crashtest.API(t, infrav1.AddToScheme, ledgerv1.AddToScheme(infrav1.LedgerGroup))
	w := &world{
		Fixture: powervstest.StartCloudIn(t, api, namespace, powervstest.WithWorkspace, func(c *sim.Config) { c.Speed = crashSpeed }),
		t:       t, clock: clocktesting.NewFakeClock(time.Now()), reconciler: clusterReconciler,
	}
	w.before = w.Items()
	infra := w.CreateCluster("demo", change)
	infra.Status.Initialization.Provisioned = ptr.To(true)
	infra.Status.ServiceInstance = &infrav1.ResourceReference{ID: powervstest.WorkspaceID}
	infra.Status.Network = &infrav1.ResourceReference{ID: powervstest.NetworkID}
	infra.Status.Conditions = []metav1.Condition{{
		Type: infrav1.WorkspaceReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now(),
	}}
	w.Expect(w.Client.Status().Update(t.Context(), infra)).To(Succeed())
	w.owner = infra
	return w
}

// turnTo another owner.
func (w *world) turnTo(owner graph.Owner, reconciler func(parts) reconcile.Reconciler) {
	w.Create(owner)
	w.owner, w.reconciler = owner, reconciler
}

// equipped is one with a DHCP server in the workspace, a load balancer and a bucket.
func equipped(t *testing.T) *world {
	w := standingAs(t, func(c *infrav1.IBMPowerVSCluster) {
		powervstest.Plain(c)
		c.Annotations = map[string]string{infrav1.CreateInfraAnnotation: "true"}
		c.Spec.ResourceGroup = &infrav1.IBMPowerVSResourceReference{Name: sim.DefaultResourceGroup}
		c.Spec.VPC = &infrav1.VPCResourceReference{Region: powervstest.Region}
		c.Spec.Ignition = &infrav1.Ignition{}
		c.Spec.CosInstance = &infrav1.CosInstance{Name: "demo-cos", BucketName: "demo-bucket", BucketRegion: powervstest.Region}
	})
	api, ctx, in := w.API(), t.Context(), ibm.Workspace{Zone: sim.DefaultZone, ID: powervstest.WorkspaceID}
	server, err := api.CreateDHCPServer(ctx, in, ibm.DHCPServerRequest{Name: "demo"})
	w.Expect(err).NotTo(HaveOccurred())
	cos, err := api.CreateInstance(ctx, ibm.InstanceRequest{
		Name: "demo-cos", Plan: ibm.PlanCOS, Target: ibm.TargetGlobal, ResourceGroupID: sim.DefaultResourceGroupID,
	})
	w.Expect(err).NotTo(HaveOccurred())
	vpc, err := api.CreateVPC(ctx, powervstest.Region, "demo-vpc", sim.DefaultResourceGroupID)
	w.Expect(err).NotTo(HaveOccurred())
	w.Pass()
	subnet, err := api.CreateSubnet(ctx, powervstest.Region, ibm.SubnetRequest{
		Name: "demo", VPCID: vpc.ID, Zone: powervstest.Region + "-1", ResourceGroupID: sim.DefaultResourceGroupID,
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(api.CreateBucket(ctx, ibm.Bucket{InstanceID: cos.ID, Region: powervstest.Region, Name: "demo-bucket"})).To(Succeed())
	key, err := api.CreateHMACKey(ctx, cos.ID, "demo")
	w.Expect(err).NotTo(HaveOccurred())
	w.Create(&ledgerv1.Ledger{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: ledgerv1.Name("IBMPowerVSCluster", "demo")},
		Spec: ledgerv1.LedgerSpec{
			Owner: ledgerv1.Owner{Kind: "IBMPowerVSCluster", Name: "demo"}, OwnerID: "0123456789ab", Home: "home",
			Entries: []ledgerv1.Entry{{Key: "hmackey", Kind: infrav1.KindCOSKey, State: ledgerv1.Bound, ID: key.ID}},
		},
	})
	w.Pass()
	balancer, err := api.CreateLoadBalancer(ctx, powervstest.Region, ibm.LoadBalancerRequest{
		Name: "demo-loadbalancer", Public: true, SubnetIDs: []string{subnet.ID}, ResourceGroupID: sim.DefaultResourceGroupID,
		Pools: []ibm.PoolRequest{{Name: "api", Algorithm: "round_robin", Protocol: "tcp", HealthMonitor: ibm.HealthMonitor{
			Type: "tcp", Delay: 5, Timeout: 2, Retries: 2,
		}}},
		Listeners: []ibm.ListenerRequest{{Port: 6443, Protocol: "tcp", DefaultPool: ibm.Reference{Name: "api"}}},
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Pass()
	w.before = w.Items()

	infra := w.owner.(*infrav1.IBMPowerVSCluster)
	infra.Status.Network = &infrav1.ResourceReference{ID: server.Network.ID}
	infra.Status.COSInstance = &infrav1.ResourceReference{ID: cos.ID}
	infra.Status.LoadBalancers = map[string]infrav1.VPCLoadBalancerStatus{"demo-loadbalancer": {ID: balancer.ID}}
	w.Expect(w.Client.Status().Update(ctx, infra)).To(Succeed())
	return w
}

func TestCrash_machine(t *testing.T) {
	t.Parallel()
	type row struct {
		format, data string
		own          func(*clusterv1.Machine)
		world        func(*testing.T) *world
		keys         []string
	}
	for name, row := range crashtest.Sample(t, map[string]row{
		"a control plane that boots with Ignition": {
			format: "ignition", data: `{"ignition": {"version": "2.3.0"}}`, own: powervstest.ControlPlane, world: equipped,
			keys: []string{"object/control-plane/machine-1", "server/machine-1", "loadBalancerPoolMember/192.168.0.3:6443"},
		},
		"a worker that boots with cloud-init": {
			format: "cloud-config", data: "#cloud-config\n", own: func(*clusterv1.Machine) {}, world: standing, keys: []string{"server/machine-1"},
		},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashtest.Suite{Keys: row.keys, New: func(t *testing.T) crashtest.World {
				w := row.world(t)
				w.CreateBootstrapData("machine-1", row.format, []byte(row.data))
				w.turnTo(w.NewMachine(func(m *clusterv1.Machine) {
					row.own(m)
					m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("machine-1-bootstrap")}
				}, "demo", "machine-1", nil), machineReconciler)
				return w
			}}.Run(t)
		})
	}
}

func TestCrash_image(t *testing.T) {
	t.Parallel()
	crashtest.Suite{Keys: []string{"image/imported"}, New: func(t *testing.T) crashtest.World {
		w := standing(t)
		w.turnTo(w.NewImage("demo", "imported"), imageReconciler)
		return w
	}}.Run(t)
}

// Another provider has made all of it.
func TestCrash_takeover(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		make func(w *world)
		keys []string
	}{
		"a control plane": {peersControlPlane, []string{"server/machine-1", "loadBalancerPoolMember/192.168.0.3:6443"}},
		"an image":        {peersImage, []string{"image/imported"}},
	}
	for name, row := range crashtest.Sample(t, rows) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashtest.Suite{Keys: row.keys, New: func(t *testing.T) crashtest.World {
				w := equipped(t)
				row.make(w)
				return w
			}}.Run(t)
		})
	}
}

// peersControlPlane turns to a machine of another provider.
func peersControlPlane(w *world) {
	infra := w.owner.(*infrav1.IBMPowerVSCluster)
	machine := w.NewMachine(powervstest.ControlPlane, "demo", "machine-1", []byte("#cloud-config\n"), powervstest.TakeOver)
	ip := w.CreatePeersMachine(machine, powervstest.Shared, powervstest.ImageID, infra.Status.Network.ID)
	api, balancer := w.API(), infra.Status.LoadBalancers["demo-loadbalancer"].ID
	listeners, err := api.Listeners(w.t.Context(), powervstest.Region, balancer)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = api.CreateMember(w.t.Context(), powervstest.Region, balancer, listeners[0].DefaultPool.ID, ip, 6443)
	w.Expect(err).NotTo(HaveOccurred())
	w.UntilAtRest()
	w.owner, w.reconciler = machine, machineReconciler
}

// peersImage turns to an image of another provider.
func peersImage(w *world) {
	image := w.NewImage("demo", "imported", powervstest.TakeOver)
	w.CreatePeersImage(image, powervstest.Shared)
	w.owner, w.reconciler = image, imageReconciler
}
