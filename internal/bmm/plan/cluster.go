package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/graph"
)

// cluster plans one NvidiaBMMCluster. The error is one of the API server's.
func (p *planner) cluster(ctx context.Context, a *applied[*infrav1.NvidiaBMMCluster]) (*Cluster, error) {
	infra := a.object
	planned := &Cluster{Namespace: infra.Namespace, Name: infra.Name, New: a.isNew, Steps: []graph.Step{}}
	if annotations.IsExternallyManaged(infra) {
		planned.Notes = []string{"it carries the annotation " + clusterv1.ManagedByAnnotation + ": Bedplate does nothing for it"}
		return planned, nil
	}
	owner, err := p.owner(ctx, infra)
	if err != nil {
		return nil, err
	}
	planned.Notes = notes(owner, infra)
	if owner == nil {
		owner = &clusterv1.Cluster{}
	}
	api, steps := p.networks(ctx, owner, infra)
	if planned.Steps = steps; api == nil {
		return planned, nil
	}
	machines, owners, err := p.machinesOf(ctx, owner, infra)
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		steps, err := p.machines.Plan(ctx, api, infra, ownerOf(m, owners), m)
		if err != nil {
			steps = failed(infrav1.InstanceProvisionedCondition, err)
		}
		planned.Machines = append(planned.Machines, Machine{Name: m.Name, Steps: steps})
	}
	if infra.DeletionTimestamp.IsZero() && owner.Name != "" {
		w := &wanted{planner: p, api: api, owner: owner, infra: infra, machines: machines, site: idOf(steps, "site")}
		planned.Instances = w.instances(ctx)
	}
	return planned, nil
}

// networks plans what an NvidiaBMMCluster has outside. Without credentials or ledger there is no client: then nothing of the
// cluster can be planned.
func (p *planner) networks(
	ctx context.Context, owner *clusterv1.Cluster, infra *infrav1.NvidiaBMMCluster,
) (*bmm.Client, []graph.Step) {
	api, err := p.clients.Client(ctx, cluster.SecretOf(infra))
	if err != nil {
		return nil, failed(infrav1.ReferencesResolvedCondition, err)
	}
	steps, err := cluster.Plan(ctx, p.engine, api, owner, infra)
	if err != nil {
		return nil, failed(infrav1.ReferencesResolvedCondition, err)
	}
	return api, steps
}

// failed is the step of something that the manager reports in a condition.
func failed(condition string, err error) []graph.Step {
	return []graph.Step{{Key: condition, Action: graph.ActionFail, Why: err.Error()}}
}

// owner is the Cluster of an NvidiaBMMCluster: that of the file, or else the existing one; nil if there is none.
func (p *planner) owner(ctx context.Context, infra *infrav1.NvidiaBMMCluster) (*clusterv1.Cluster, error) {
	owner, err := p.file.owner(infra)
	if owner != nil || err != nil {
		return owner, err
	}
	owner, err = util.GetOwnerCluster(ctx, p, infra.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the owning Cluster: %w", err)
	}
	return owner, nil
}

func notes(owner *clusterv1.Cluster, infra *infrav1.NvidiaBMMCluster) []string {
	var texts []string
	if !infra.DeletionTimestamp.IsZero() {
		texts = append(texts, "it is being deleted")
	}
	if owner == nil {
		texts = append(texts, "no Cluster names it as its infrastructureRef: nothing is made before one does")
	}
	if (owner != nil && annotations.IsPaused(owner, infra)) || annotations.HasPaused(infra) {
		texts = append(texts, "it is paused: nothing is done before it goes on")
	}
	return texts
}

// machinesOf are the NvidiaBMMMachines of a cluster, sorted by name, those of the file as they would be; and its Machines.
func (p *planner) machinesOf(
	ctx context.Context, owner *clusterv1.Cluster, infra *infrav1.NvidiaBMMCluster,
) ([]*infrav1.NvidiaBMMMachine, *clusterv1.MachineList, error) {
	live, owners := &infrav1.NvidiaBMMMachineList{}, &clusterv1.MachineList{}
	name := cmp.Or(owner.Name, infra.Labels[clusterv1.ClusterNameLabel])
	if name == "" {
		return nil, owners, nil
	}
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: name}
	for _, list := range []client.ObjectList{live, owners} {
		if err := p.List(ctx, list, client.InNamespace(infra.Namespace), ofCluster); err != nil {
			return nil, nil, fmt.Errorf("list its machines: %w", err)
		}
	}
	byName := map[string]*infrav1.NvidiaBMMMachine{}
	for i := range live.Items {
		byName[live.Items[i].Name] = &live.Items[i]
	}
	for _, m := range p.file.machines {
		if m.object.Namespace == infra.Namespace && m.object.Labels[clusterv1.ClusterNameLabel] == name {
			byName[m.object.Name] = m.object
		}
	}
	var all []*infrav1.NvidiaBMMMachine
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, owners, nil
}

// ownerOf is the Machine that an NvidiaBMMMachine was created for; nil if there is none.
func ownerOf(m *infrav1.NvidiaBMMMachine, machines *clusterv1.MachineList) *clusterv1.Machine {
	for _, reference := range m.OwnerReferences {
		for i := range machines.Items {
			if reference.UID == machines.Items[i].UID {
				return &machines.Items[i]
			}
		}
	}
	return nil
}

// idOf is the ID of the resource under a key; empty if there is none yet.
func idOf(steps []graph.Step, key string) string {
	for _, s := range steps {
		if s.Key == key {
			return s.ID
		}
	}
	return ""
}
