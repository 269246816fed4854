// Package plan makes the graphs of clusters and machines on Power Virtual Server for `bedplate plan`.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/plan"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/image"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/machine"
)

const (
	// callTimeout bounds a call of a service: reads are answered at once.
	callTimeout = 30 * time.Second
	// listAge is longer than a plan takes: the virtual machines of a workspace are listed once.
	listAge = 10 * time.Minute
)

// System is IBM Power Virtual Server.
var System = plan.System{
	Name: "powervs", Version: infrav1.GroupVersion,
	Cluster: "IBMPowerVSCluster", Machine: "IBMPowerVSMachine", Template: "IBMPowerVSMachineTemplate", Others: []string{"IBMPowerVSImage"},
	Secret: []string{"spec", "authentication", "secretRef", "name"}, Open: open,
}

func open(a plan.Access) func(client.Object) plan.Infrastructure {
	a.Engine.Live = a.Client
	clients := &credentials.Cache[*ibm.Client]{
		Reader: a.Secrets, Clock: clock.RealClock{},
		Build: ibm.Connect(func(c *ibm.Config) { c.Timeout, c.Egress = callTimeout, a.Policy }),
	}
	machines := &machine.Reconciler{
		Client: a.Client, Logins: lifecycle.Logins[*ibm.Client]{Engine: a.Engine}, VMs: inventory.New(listAge, clock.RealClock{}),
	}
	images := &image.Reconciler{Client: a.Client, Logins: lifecycle.Logins[*ibm.Client]{Engine: a.Engine}}
	return func(object client.Object) plan.Infrastructure {
		return &infrastructure{
			engine: a.Engine, clients: clients, machines: machines, images: images, object: object.(*infrav1.IBMPowerVSCluster),
		}
	}
}

// infrastructure plans one IBMPowerVSCluster and its machines.
type infrastructure struct {
	engine   *graph.Engine
	clients  *credentials.Cache[*ibm.Client]
	machines *machine.Reconciler
	images   *image.Reconciler
	object   *infrav1.IBMPowerVSCluster

	api    *ibm.Client
	secret string
	owner  *clusterv1.Cluster
}

// Networks are planned first, and say with which client the rest is. The default credentials of a manager aren't known here: a cluster that
// needs them can't be planned.
func (i *infrastructure) Networks(ctx context.Context, owner *clusterv1.Cluster) (steps []graph.Step, ok bool) {
	secret, err := cluster.Login(types.NamespacedName{}, i.object)
	if err == nil {
		i.api, err = i.clients.Client(ctx, secret)
	}
	if err == nil {
		i.secret, i.owner = secret.String(), owner
		steps, err = cluster.Plan(ctx, i.engine, i.api, i.secret, owner, i.object)
	}
	if err != nil {
		return plan.Failed(infrav1.ReferencesResolvedCondition, err), false
	}
	return steps, true
}

// Machine plans an IBMPowerVSMachine.
func (i *infrastructure) Machine(ctx context.Context, owner *clusterv1.Machine, object client.Object) []graph.Step {
	steps, err := i.machines.Plan(ctx, i.api, i.secret, i.owner, i.object, owner, object.(*infrav1.IBMPowerVSMachine))
	if err != nil {
		return plan.Failed(infrav1.InstanceReadyCondition, err)
	}
	return steps
}

// Other plans an IBMPowerVSImage of the cluster, with its own login if it has one.
func (i *infrastructure) Other(ctx context.Context, object client.Object) (steps []graph.Step, mine bool) {
	o := object.(*infrav1.IBMPowerVSImage)
	if o.Spec.ClusterName != i.owner.Name {
		return nil, false
	}
	api, secret := i.api, i.secret
	var err error
	if own := image.SecretOf(o); own.Name != "" {
		secret = own.String()
		api, err = i.clients.Client(ctx, own)
	}
	if err == nil {
		steps, err = i.images.Plan(ctx, api, secret, i.owner, i.object, o)
	}
	if err != nil {
		return plan.Failed(infrav1.ImageReadyCondition, err), true
	}
	return steps, true
}

// Domains are none: a cluster is in one zone.
func (i *infrastructure) Domains() []string { return nil }

// Instance looks up the zone: a type that it doesn't offer has to be reported before anything is created.
func (i *infrastructure) Instance(ctx context.Context, template client.Object, _ bool, _ string) (like plan.Instance, err error) {
	spec := template.(*infrav1.IBMPowerVSMachineTemplate).Spec.Template.Spec
	like = plan.Instance{
		Type: spec.System(), Networks: []string{i.network(&spec)},
		TypeName: fmt.Sprintf("%s (%g %s processors, %d GiB)", spec.System(), spec.ProcessorCount(), strings.ToLower(string(spec.Processor())), spec.Memory()),
	}
	if i.object.Spec.Zone == "" {
		return like, nil
	}
	zone, err := i.api.Zone(ctx, i.object.Spec.Zone)
	if err != nil {
		return like, err
	}
	if len(zone.SystemTypes) > 0 && !slices.Contains(zone.SystemTypes, spec.System()) {
		return like, fmt.Errorf("zone %s doesn't offer systemType %s, but %s", zone.Name, spec.System(), strings.Join(zone.SystemTypes, ", "))
	}
	return like, nil
}

// network of a machine by its name, its ID or a regular expression.
func (i *infrastructure) network(spec *infrav1.IBMPowerVSMachineSpec) string {
	if n := spec.Network; n != nil && n.ID+n.Name+n.RegEx != "" {
		return n.ID + n.Name + n.RegEx
	}
	return i.object.NetworkName()
}
