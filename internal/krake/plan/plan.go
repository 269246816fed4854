// Package plan makes the graphs of Krake's Clusters for `bedplate plan`, after it was decided where they are made.
package plan

import (
	"context"
	"strings"
	"time"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/plan"
)

// callTimeout bounds a call of an infrastructure manager: reads are answered at once.
const callTimeout = 30 * time.Second

// System is Krake.
var System = plan.System{
	Name: "krake", Version: krakev1.GroupVersion, Cluster: "Cluster", Open: open, Notes: notes, Script: []string{"spec", "tosca"},
	Inputs: []string{
		"Cloud", "GlobalCloud", "InfrastructureProvider", "GlobalInfrastructureProvider", "Metric", "GlobalMetric", "MetricsProvider",
		"GlobalMetricsProvider", "CloudBinding",
	},
}

// anyImport: it is the manager's webhook that says in the dry run which imports are allowed.
var anyImport = tosca.Imports{"https://", "http://"}

func open(a plan.Access) func(client.Object) plan.Infrastructure {
	a.Engine.Live = a.Client
	clients := cluster.NewClients(a.Client, nil, clock.RealClock{}, func(c *im.Config) { c.Timeout, c.Egress = callTimeout, a.Policy })
	clusters := &cluster.Reconciler{Client: a.Client, Engine: a.Engine, Clients: clients, Config: cluster.Config{
		GlobalNamespace: a.GlobalNamespace, Imports: anyImport, CreateDeadline: provider.DefaultCreateDeadline,
	}}
	clouds := &scheduler.Decider{Reader: a.Client, Metrics: scheduler.NewMetrics(a.Client, a.Policy, clock.RealClock{})}
	clouds.MadeOn = func(ctx context.Context, c *krakev1.Cluster) (*krakev1.CloudReference, error) {
		return cluster.MadeOn(ctx, a.Client, a.Client, c)
	}
	if a.GlobalNamespace == "" {
		clouds.NoGlobal = cluster.NoGlobal
	}
	return func(object client.Object) plan.Infrastructure {
		return &infrastructure{clusters: clusters, clouds: clouds, object: object.(*krakev1.Cluster)}
	}
}

func notes(object client.Object) (texts []string) {
	c := object.(*krakev1.Cluster)
	if !c.DeletionTimestamp.IsZero() {
		texts = append(texts, "it is being deleted")
	}
	if c.Spec.Paused {
		texts = append(texts, "it is paused: nothing is done until spec.paused is false")
	}
	return texts
}

// isRegistered says of a Cluster that isn't lost that nothing is made for it.
func isRegistered(c *krakev1.Cluster) bool {
	return c.Spec.TOSCA == "" || c.Spec.Kubeconfig != nil && c.Status.ScheduledTo == nil
}

// infrastructure plans one Cluster.
type infrastructure struct {
	plan.NoMachines
	clusters *cluster.Reconciler
	clouds   *scheduler.Decider
	object   *krakev1.Cluster
}

// Notes say of a registered Cluster that it is one.
func (i *infrastructure) Notes(ctx context.Context) []string {
	if lost, err := i.clouds.Lost(ctx, i.object); lost || err != nil || !isRegistered(i.object) {
		return nil
	}
	return []string{"it has a kubeconfig, and is bound to no cloud: it is only observed"}
}

// Networks are the cloud, and what is made there.
func (i *infrastructure) Networks(ctx context.Context, _ *clusterv1.Cluster) (steps []graph.Step, ok bool) {
	deleted := !i.object.DeletionTimestamp.IsZero()
	lost, err := i.clouds.Lost(ctx, i.object)
	if err != nil {
		return plan.Failed(krakev1.ScheduledCondition, err), false
	}
	if i.object.Status.ScheduledTo == nil && !lost && (deleted || isRegistered(i.object)) {
		return nil, true
	}
	if !deleted {
		if steps, ok = i.schedule(ctx); !ok {
			return steps, false
		}
	}
	more, err := i.clusters.Plan(ctx, i.object)
	if err != nil {
		more = plan.Failed(krakev1.InfrastructureReadyCondition, err)
	}
	return append(steps, more...), err == nil
}

// schedule binds the Cluster, in memory only.
func (i *infrastructure) schedule(ctx context.Context) (steps []graph.Step, ok bool) {
	step := graph.Step{Key: "cloud", Action: graph.ActionUse}
	if i.object.Status.ScheduledTo == nil {
		decision, err := i.clouds.Decide(ctx, i.object)
		if err == nil && decision.Cloud == nil {
			step = graph.Step{Key: krakev1.ScheduledCondition, Action: graph.ActionFail, Why: decision.Message}
			return []graph.Step{step}, false
		}
		if err != nil {
			return plan.Failed(krakev1.ScheduledCondition, err), false
		}
		i.object.Status.ScheduledTo = decision.Cloud
		step.Why = strings.TrimPrefix(decision.Message, decision.Cloud.String()+": ")
	}
	step.Kind, step.ID = i.object.Status.ScheduledTo.Kind, i.object.Status.ScheduledTo.Name
	return []graph.Step{step}, true
}
