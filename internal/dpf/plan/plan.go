// Package plan shows for `bedplate plan` what a DPFOperatorConfig would do: what is missing before, the components, and the move of the
// network, node by node.
package plan

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/plan"
)

// System is DPF.
var System = plan.System{
	Name: "dpf", Version: operatorv1.GroupVersion, Cluster: "DPFOperatorConfig", Open: open, Notes: notes,
}

func open(a plan.Access) func(client.Object) plan.Infrastructure {
	return func(object client.Object) plan.Infrastructure {
		return &infrastructure{access: a, config: object.(*operatorv1.DPFOperatorConfig)}
	}
}

func notes(object client.Object) (texts []string) {
	c := object.(*operatorv1.DPFOperatorConfig)
	if !c.DeletionTimestamp.IsZero() {
		texts = append(texts, "it is being deleted")
	}
	if c.Spec.Paused {
		texts = append(texts, "it is paused: nothing is done until spec.paused is false")
	}
	return texts
}

// infrastructure plans the configuration.
type infrastructure struct {
	plan.NoMachines
	access plan.Access
	config *operatorv1.DPFOperatorConfig
}

// Networks are all steps, in their order: the operator waits for what can't be done, and the rest is what follows then.
func (i *infrastructure) Networks(ctx context.Context, _ *clusterv1.Cluster) (steps []graph.Step, ok bool) {
	if !i.config.DeletionTimestamp.IsZero() { // the network first, while all components work
		return append(i.network(ctx), i.components(ctx)...), true
	}
	return append(append(i.prerequisites(ctx), i.components(ctx)...), i.network(ctx)...), true
}

// prerequisites that aren't met, or not known to be.
func (i *infrastructure) prerequisites(ctx context.Context) (steps []graph.Step) {
	clusters, done, err := dpucluster.Look(ctx, i.access.Client, i.access.Scheme(), i.access.Policy)
	var dpus []preflight.DPUCluster
	if err != nil {
		dpus = append(dpus, preflight.DPUCluster{Err: err})
	} else {
		defer done()
	}
	for _, c := range clusters {
		dpus = append(dpus, preflight.DPUCluster{Name: c.Name, Reader: c.Client, Err: c.Err})
	}
	for _, finding := range preflight.Run(ctx, i.access.Client, i.config, dpus) {
		step := graph.Step{Key: "prerequisite", Action: graph.ActionFail, Why: finding.String()}
		switch {
		case finding.Warning:
			step.Action, step.Why = graph.ActionWait, "a warning, which holds up nothing: "+step.Why
		case len(finding.Problems) == 0: // it isn't known from here
			step.Action = graph.ActionWait
		}
		steps = append(steps, step)
	}
	return steps
}

// components in their order: those of the host cluster, of DPU clusters, and of the network.
func (i *infrastructure) components(ctx context.Context) []graph.Step {
	var wanted []*unstructured.Unstructured
	if i.config.DeletionTimestamp.IsZero() {
		var err error
		if wanted, err = i.render(ctx); err != nil {
			return plan.Failed(operatorv1.SystemComponentsReconciledCondition, err)
		}
	}
	set := components.Set{Client: i.access.Client, Reader: i.access.Client, Owner: i.config}
	steps, err := set.Plan(ctx, wanted)
	if err != nil {
		return plan.Failed(operatorv1.SystemComponentsReconciledCondition, err)
	}
	return steps
}

func (i *infrastructure) render(ctx context.Context) (all []*unstructured.Unstructured, _ error) {
	release, err := release(ctx, i.access.Client)
	if err != nil {
		return nil, err
	}
	for _, network := range []bool{false, true} {
		if network && i.config.Spec.HostNetworkConfiguration == nil {
			break
		}
		var machines netip.Prefix
		if network {
			if machines, err = preflight.Machines(ctx, i.access.Client); err != nil {
				return nil, err
			}
		}
		for _, place := range []components.Place{components.HostCluster, components.DPUClusters} {
			objects, err := release.Render(i.config, place, network, machines)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
	}
	return all, nil
}

// network is the move, or the way back.
func (i *infrastructure) network(ctx context.Context) (steps []graph.Step) {
	move := hostnetwork.Move{Client: i.access.Client, Uncached: i.access.Client, Now: time.Now, DPUSide: assumed}
	planned, problem, err := move.Plan(ctx, i.config)
	if err != nil {
		return plan.Failed(operatorv1.HostNetworkConfiguredCondition, err)
	}
	for _, step := range planned {
		steps = append(steps, stepsOf(step)...)
	}
	if problem != "" {
		steps = append(steps, plan.Failed(operatorv1.HostNetworkConfiguredCondition, errors.New(problem))...)
	}
	return steps
}

// assumed of a plan: what is waited for comes to pass.
func assumed(context.Context, operatorv1.Host) (hostnetwork.Readiness, error) {
	return hostnetwork.Readiness{Ready: true}, nil
}

var actions = map[hostnetwork.Action]graph.Action{
	hostnetwork.DeleteWebhook: graph.ActionDelete, hostnetwork.WriteCopies: graph.ActionCreate, hostnetwork.DeleteCopies: graph.ActionDelete,
	hostnetwork.RestoreWebhook: graph.ActionCreate, hostnetwork.RemoveJournal: graph.ActionDelete,
}

// waits follow a step.
var waits = map[hostnetwork.Action]string{
	hostnetwork.Isolate:  "until its Pod of ovnkube-node is gone",
	hostnetwork.Switch:   "until its Pod of ovnkube-node-dpf is ready",
	hostnetwork.Unswitch: "until its Pod of ovnkube-node-dpf is gone, and what the host network provisioner has made",
	hostnetwork.Return:   "until its Pod of ovnkube-node is ready",
}

// stepsOf a step, and what is waited for after it. What is only noted in the journal isn't shown.
func stepsOf(s hostnetwork.Step) (steps []graph.Step) {
	step := graph.Step{Key: "cluster network", Action: graph.ActionChange}
	if s.Node != "" {
		step.Key, step.Kind = "Node/"+s.Node, "Node"
	}
	wait := waits[s.Action]
	switch s.Action {
	case hostnetwork.Begin, hostnetwork.MarkStopped, hostnetwork.NoteUnclean, hostnetwork.Forget:
	case hostnetwork.Enter:
		if s.Phase == operatorv1.NodeProvisioning {
			wait = "until the provisioners on the node and on its DPU are ready"
		}
	default:
		if action, other := actions[s.Action]; other {
			step.Action = action
		}
		s.Node = ""
		step.Why = s.String()
		steps = append(steps, step)
	}
	if wait != "" {
		step.Action, step.Why = graph.ActionWait, wait
		steps = append(steps, step)
	}
	return steps
}
