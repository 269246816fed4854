// Package plan makes the graphs of clusters and machines at a BMM site for `bedplate plan`.
package plan

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/machine"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/plan"
)

const (
	// callTimeout bounds a call of the BMM API: reads are answered at once.
	callTimeout = 30 * time.Second
	// listAge is longer than a plan takes: the instances of a site are listed once.
	listAge = 10 * time.Minute
)

// System is NVIDIA bare metal.
var System = plan.System{
	Name: "bmm", Version: infrav1.GroupVersion,
	Cluster: "NvidiaBMMCluster", Machine: "NvidiaBMMMachine", Template: "NvidiaBMMMachineTemplate",
	Secret: []string{"spec", "authentication", "secretRef", "name"}, Open: open,
}

func open(a plan.Access) func(client.Object) plan.Infrastructure {
	clients := &credentials.Cache[*bmm.Client]{
		Reader: a.Secrets, Clock: clock.RealClock{},
		Build: bmm.Connect(func(c *bmm.Config) { c.Timeout, c.Egress = callTimeout, a.Policy }),
	}
	machines := &machine.Reconciler{
		Client: a.Client, Logins: lifecycle.Logins[*bmm.Client]{Engine: a.Engine}, Instances: inventory.New(listAge, clock.RealClock{}),
	}
	return func(object client.Object) plan.Infrastructure {
		return &infrastructure{engine: a.Engine, clients: clients, machines: machines, object: object.(*infrav1.NvidiaBMMCluster)}
	}
}

// infrastructure plans one NvidiaBMMCluster and its machines.
type infrastructure struct {
	engine   *graph.Engine
	clients  *credentials.Cache[*bmm.Client]
	machines *machine.Reconciler
	object   *infrav1.NvidiaBMMCluster

	api *bmm.Client
	// site is empty while it isn't known.
	site string
}

// Networks are planned first, and say with which client and at which site the rest is.
func (i *infrastructure) Networks(ctx context.Context, owner *clusterv1.Cluster) (steps []graph.Step, ok bool) {
	api, err := i.clients.Client(ctx, cluster.SecretOf(i.object))
	if err != nil {
		return plan.Failed(infrav1.ReferencesResolvedCondition, err), false
	}
	if steps, err = cluster.Plan(ctx, i.engine, api, owner, i.object); err != nil {
		return plan.Failed(infrav1.ReferencesResolvedCondition, err), false
	}
	i.api = api
	for _, s := range steps {
		if s.Key == "site" {
			i.site = s.ID
		}
	}
	return steps, true
}

// Machine plans an NvidiaBMMMachine.
func (i *infrastructure) Machine(ctx context.Context, owner *clusterv1.Machine, object client.Object) []graph.Step {
	steps, err := i.machines.Plan(ctx, i.api, i.object, owner, object.(*infrav1.NvidiaBMMMachine))
	if err != nil {
		return plan.Failed(infrav1.InstanceProvisionedCondition, err)
	}
	return steps
}

// Domains are those of the control plane.
func (i *infrastructure) Domains() (all []string) {
	for _, d := range i.object.Spec.FailureDomains {
		if ptr.Deref(d.ControlPlane, false) {
			all = append(all, d.Name)
		}
	}
	return all
}

// Instance looks up its type: one that doesn't exist has to be reported before anything is created.
func (i *infrastructure) Instance(
	ctx context.Context, template client.Object, controlPlane bool, domain string,
) (like plan.Instance, err error) {
	spec := template.(*infrav1.NvidiaBMMMachineTemplate).Spec.Template.Spec
	wanted, err := machine.InstanceOf(spec, i.object, controlPlane, domain)
	if err != nil {
		return like, err
	}
	like = plan.Instance{Type: wanted.InstanceTypeID, MachineID: wanted.MachineID, Networks: wanted.Networks}
	if like.Type == "" || i.site == "" {
		return like, nil
	}
	found, err := i.api.InstanceType(ctx, i.site, like.Type)
	if err != nil {
		return like, fmt.Errorf("instance type %s: %w", like.Type, err)
	}
	like.TypeName = found.Name
	return like, nil
}
