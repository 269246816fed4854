package machine_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// Nothing is polled in these tests.
func TestMachine_startsWhenWhatItWaitsForIsThere(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		condition string
		userData  []byte
		change    func(*infrav1.IBMPowerVSMachine)
		later     func(*powervstest.Fixture)
	}{
		"the cluster": {
			condition: infrav1.ClusterReadyCondition, userData: userData, change: func(*infrav1.IBMPowerVSMachine) {},
			later: func(f *powervstest.Fixture) { f.CreateCluster("demo", powervstest.Plain) },
		},
		"the image": {
			condition: infrav1.ImageReadyCondition, userData: userData, change: imported,
			later: func(f *powervstest.Fixture) { f.CreateImage("demo", powervstest.ImageName) },
		},
		"the bootstrap data": {
			condition: infrav1.BootstrapDataReadyCondition, change: func(*infrav1.IBMPowerVSMachine) {},
			later: func(f *powervstest.Fixture) {
				f.CreateBootstrapData("worker-1", "cloud-config", userData)
				machine := &clusterv1.Machine{}
				machine.Name, machine.Namespace = "worker-1", f.Namespace
				powervstest.Change(f, machine, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To("worker-1-bootstrap") })
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t, powervstest.WithWorkspace)
			f.RunProvider(time.Hour, time.Hour)
			late := row.condition == infrav1.ClusterReadyCondition
			if !late {
				f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
			}
			machine := f.CreateMachine("demo", "worker-1", row.userData, row.change)
			if !late { // without its cluster it has no login, nor a condition
				f.UntilReason(machine, row.condition, "Waiting", "")
			}
			row.later(f)
			f.Eventually(func() []string { return f.Made(sim.KindServer) }).Should(ConsistOf("worker-1"))
		})
	}
}

func TestMachine_leavesNoBootstrapDataOnceItHasJoined(t *testing.T) {
	t.Parallel()
	f := powervstest.StartCloud(t)
	stop := f.RunProvider(powervstest.Poll, powervstest.Settle)
	object := newIgnited(f)
	f.UntilProvisioned(object)
	stop()
	f.RunProvider(time.Hour, time.Hour)
	before := f.Reconciles.Count()
	powervstest.Change(f, object, func(m *infrav1.IBMPowerVSMachine) { m.Labels["touched"] = "yes" })
	f.Eventually(f.Reconciles.Count).Should(BeNumerically(">", before))
	f.Consistently(func() []string { return f.Made(sim.KindObject) }, "500ms").Should(HaveLen(1))
	f.Join(object)
	f.Eventually(func() []string { return f.Made(sim.KindObject) }).Should(BeEmpty())
}
