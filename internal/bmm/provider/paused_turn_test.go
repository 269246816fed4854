package provider_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/simulator"
)

// Machines that are paused while they wait for their turn to create: none of these turns is kept for them.
func TestPaused_machinesKeepNoTurnFromOthers(t *testing.T) {
	t.Parallel()
	const paused = 10
	f := bmmtest.StartSite(t, func(w *sim.Config) { w.InstanceTypes[0].Machines = paused + 2 })
	f.Run(bmmtest.Poll, bmmtest.Settle, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options) error {
		engine.Creates = &creates.Pool{Limit: 1, Patience: 100 * time.Millisecond}
		return provider.Setup(ctx, mgr, engine, bmm.Paced(bmmtest.Poll, 0, 0, egress.Policy{Loopback: true}), options)
	})
	f.UntilReady(f.CreateCluster("demo"))
	says := func(m *infrav1.NvidiaBMMMachine, what string) {
		f.Eventually(func() string { return f.Message(m, infrav1.InstanceProvisionedCondition) }).Should(ContainSubstring(what))
	}
	f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultHang})
	create := func(name string) *infrav1.NvidiaBMMMachine {
		return f.CreateMachine("demo", name, []byte("#cloud-config\n"))
	}
	says(create("first"), "the service is still creating")
	var waiting []*infrav1.NvidiaBMMMachine
	for n := range paused {
		machine := create(fmt.Sprintf("paused-%d", n))
		says(machine, "concurrent create limit reached; queued")
		waiting = append(waiting, machine)
	}
	for _, machine := range waiting {
		bmmtest.Change(f, machine, func(m *infrav1.NvidiaBMMMachine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.PausedAnnotation, "true")
		})
		f.UntilTrue(machine, clusterv1.PausedCondition)
	}
	last := create("last")
	says(last, "concurrent create limit reached; queued")
	f.Sim.ClearFaults()
	// Two seconds would be lost with each of the others.
	f.Eventually(func() string { return f.Message(last, infrav1.InstanceProvisionedCondition) }).WithTimeout(paused * time.Second).
		ShouldNot(ContainSubstring("concurrent create limit reached; queued"))
	for _, machine := range waiting {
		bmmtest.Change(f, machine, func(m *infrav1.NvidiaBMMMachine) { delete(m.Annotations, clusterv1.PausedAnnotation) })
		f.UntilReady(machine)
	}
}
