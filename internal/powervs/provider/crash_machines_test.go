package provider_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/crashtest"
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

// settled is a world with a cluster that is ready.
func settled(t *testing.T, change ...func(*infrav1.IBMPowerVSCluster)) *world {
	w := newWorld(t, nil, change...)
	w.bringUp()
	return w
}

// settledPlain is a world with a cluster that is ready, for which nothing is created.
func settledPlain(t *testing.T) *world {
	api, namespace := crashtest.API(t, infrav1.AddToScheme, ledgerv1.AddToScheme(infrav1.LedgerGroup))
	w := &world{
		Fixture: powervstest.StartCloudIn(t, api, namespace, powervstest.WithWorkspace, func(c *sim.Config) { c.Speed = crashSpeed }),
		t:       t, clock: clocktesting.NewFakeClock(time.Now()), reconciler: clusterReconciler,
	}
	w.owner = w.CreateCluster("demo", powervstest.Plain)
	w.bringUp()
	return w
}

// bringUp brings the owner to its goal, and takes what there is then as the user's own.
func (w *world) bringUp() {
	for !w.Ready() {
		w.Expect(w.Reconcile(w.t.Context(), crashtest.Unbroken())).To(Succeed())
		w.Pass()
	}
	w.before = w.items()
}

// turnTo another owner.
func (w *world) turnTo(owner graph.Owner, reconciler func(parts) reconcile.Reconciler) {
	w.Create(owner)
	w.owner, w.reconciler = owner, reconciler
}

func TestCrash_machine(t *testing.T) {
	t.Parallel()
	const ignition = `{"ignition": {"version": "2.3.0"}}`
	crashtest.Suite{Keys: []string{"object/control-plane/control-1", "server/control-1", "loadBalancerPoolMember/192.168.0.3:6443"}, New: func(t *testing.T) crashtest.World {
		w := settled(t, func(c *infrav1.IBMPowerVSCluster) {
			c.Spec.Ignition = &infrav1.Ignition{}
			c.Spec.CosInstance = &infrav1.CosInstance{Name: "demo-cos", BucketName: "demo-bucket", BucketRegion: powervstest.Region}
		})
		w.turnTo(w.NewImage("demo", powervstest.ImageName), imageReconciler)
		w.bringUp()
		w.CreateBootstrapData("control-1", "ignition", []byte(ignition))
		w.turnTo(w.NewMachine(func(m *clusterv1.Machine) {
			powervstest.ControlPlane(m)
			m.Spec.Bootstrap = clusterv1.Bootstrap{DataSecretName: ptr.To("control-1-bootstrap")}
		}, "demo", "control-1", nil), machineReconciler)
		return w
	}}.Run(t)
}

func TestCrash_image(t *testing.T) {
	t.Parallel()
	crashtest.Suite{Keys: []string{"image/imported"}, New: func(t *testing.T) crashtest.World {
		w := settledPlain(t)
		w.turnTo(w.NewImage("demo", "imported"), imageReconciler)
		return w
	}}.Run(t)
}
