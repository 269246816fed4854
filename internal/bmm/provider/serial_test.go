package provider_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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
)

// The service makes one instance of a type after the other, refuses others meanwhile, and stops when its four connections are
// all taken. Two clusters with Secrets of their own ask it for twelve machines at once, and it never has to say no.
func TestSerial_makesMachinesAsFastAsTheServiceDoes(t *testing.T) {
	t.Parallel()
	const machines, poll = 12, 3 * time.Second
	f := bmmtest.StartSite(t, func(c *sim.Config) {
		c.APIName = sim.NICo
		c.Speed = 10
		c.Times.Create.Duration = 2 * time.Second
		c.Times.VPC.Duration, c.Times.Subnet.Duration = time.Second, time.Second
		c.Times.InstanceMin.Duration, c.Times.InstanceMax.Duration = 20*time.Second, 21*time.Second
		c.InstanceTypes[0].Machines = machines
	})
	f.Run(poll, time.Minute, func(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, options controller.Options) error {
		engine.Creates = &creates.Pool{Limit: 3, Patience: 100 * time.Millisecond}
		return provider.Setup(ctx, mgr, engine, bmm.Paced(poll, 0, 0, egress.Policy{Loopback: true}), options)
	})
	for _, name := range []string{"red", "blue"} {
		f.UntilReady(f.CreateCluster(name))
	}
	began, before := time.Now(), f.Sim.Calls()
	var all []*infrav1.NvidiaBMMMachine
	for n := range machines {
		all = append(all, f.CreateMachine([]string{"red", "blue"}[n%2], fmt.Sprintf("worker-%d", n), []byte("#cloud-config\n")))
	}
	for _, m := range all {
		f.UntilReady(m)
	}
	calls := 0
	for operation, after := range f.Sim.Calls() {
		calls += after - before[operation]
	}
	f.Expect(f.Called("createInstance")).To(Equal(machines), "none was refused")
	// The longer it takes, the more lists there are: one for each Secret and interval.
	lists := 2 * time.Since(began).Seconds() / poll.Seconds()
	f.Expect(float64(calls)).To(BeNumerically("<=", 2.4*machines+lists), "%v", maps.Collect(maps.All(f.Sim.Calls())))
}
