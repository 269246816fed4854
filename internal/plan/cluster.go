package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/graph"
)

// cluster plans one cluster. The error is one of the API server's.
func (p *planner) cluster(ctx context.Context, infra applied) (*Cluster, error) {
	planned := &Cluster{
		Kind: p.system.Cluster, Namespace: infra.GetNamespace(), Name: infra.GetName(), New: infra.isNew, Steps: []graph.Step{},
	}
	if annotations.IsExternallyManaged(infra) {
		planned.Notes = []string{"it carries the annotation " + clusterv1.ManagedByAnnotation + ": Bedplate does nothing for it"}
		return planned, nil
	}
	var owner *clusterv1.Cluster
	if p.system.Notes != nil {
		planned.Notes = p.system.Notes(infra.Object)
	} else {
		var err error
		if owner, err = p.owner(ctx, infra); err != nil {
			return nil, err
		}
		planned.Notes = notes(owner, infra)
	}
	if owner == nil {
		owner = &clusterv1.Cluster{}
	}
	outside := p.open(infra.Object)
	if more, has := outside.(noter); has {
		planned.Notes = append(planned.Notes, more.Notes(ctx)...)
	}
	steps, ok := outside.Networks(ctx, owner)
	if planned.Steps = steps; !ok {
		return planned, nil
	}
	machines, owners, err := p.machinesOf(ctx, owner, infra)
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		planned.Machines = append(planned.Machines, Machine{Name: m.GetName(), Steps: outside.Machine(ctx, ownerOf(m, owners), m)})
	}
	if err := p.others(ctx, outside, infra, planned); err != nil {
		return nil, err
	}
	if infra.GetDeletionTimestamp().IsZero() && owner.Name != "" && p.system.Template != "" {
		w := &wanted{planner: p, outside: outside, owner: owner, namespace: infra.GetNamespace(), machines: machines}
		planned.Instances = w.instances(ctx)
	}
	return planned, nil
}

// owner is the Cluster of an infrastructure: that of the file, or else the existing one; nil if there is none.
func (p *planner) owner(ctx context.Context, infra client.Object) (*clusterv1.Cluster, error) {
	owner, err := p.file.ownerOf(p.system.Cluster, infra)
	if owner != nil || err != nil {
		return owner, err
	}
	owner, err = util.GetOwnerCluster(ctx, p, metav1.ObjectMeta{Namespace: infra.GetNamespace(), OwnerReferences: infra.GetOwnerReferences()})
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the owning Cluster: %w", err)
	}
	return owner, nil
}

func notes(owner *clusterv1.Cluster, infra client.Object) []string {
	var texts []string
	if !infra.GetDeletionTimestamp().IsZero() {
		texts = append(texts, "it is being deleted")
	}
	if owner == nil {
		texts = append(texts, "no Cluster names it as its infrastructureRef: nothing is created until one does")
	}
	if (owner != nil && annotations.IsPaused(owner, infra)) || annotations.HasPaused(infra) {
		texts = append(texts, "it is paused: nothing is done until it is unpaused")
	}
	return texts
}

// machinesOf are the machines of a cluster, sorted by name, those of the file as they would be; and its Machines.
func (p *planner) machinesOf(
	ctx context.Context, owner *clusterv1.Cluster, infra client.Object,
) ([]client.Object, *clusterv1.MachineList, error) {
	owners := &clusterv1.MachineList{}
	name := cmp.Or(owner.Name, infra.GetLabels()[clusterv1.ClusterNameLabel])
	if name == "" || p.system.Machine == "" {
		return nil, owners, nil
	}
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: name}
	if err := p.List(ctx, owners, client.InNamespace(infra.GetNamespace()), ofCluster); err != nil {
		return nil, nil, fmt.Errorf("list its Machines: %w", err)
	}
	all, err := p.all(ctx, p.system.Machine, infra.GetNamespace(), ofCluster)
	return all, owners, err
}

// all objects of a kind that have these labels, sorted by name, those of the file as they would be.
func (p *planner) all(ctx context.Context, kind, namespace string, labels client.MatchingLabels) (all []client.Object, _ error) {
	live, err := p.Scheme().New(p.system.Version.WithKind(kind + "List"))
	if err != nil {
		return nil, err
	}
	if err := p.List(ctx, live.(client.ObjectList), client.InNamespace(namespace), labels); err != nil {
		return nil, fmt.Errorf("list its %ss: %w", kind, err)
	}
	byName := map[string]client.Object{}
	if err := meta.EachListItem(live, func(o runtime.Object) error {
		m := o.(client.Object)
		byName[m.GetName()] = m
		return nil
	}); err != nil {
		return nil, err
	}
	for _, m := range p.file.applied[kind] {
		if m.GetNamespace() == namespace && has(m.GetLabels(), labels) {
			byName[m.GetName()] = m.Object
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, nil
}

func has(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// others plans what a cluster has beside machines.
func (p *planner) others(ctx context.Context, outside Infrastructure, infra client.Object, planned *Cluster) error {
	for _, kind := range p.system.Others {
		objects, err := p.all(ctx, kind, infra.GetNamespace(), nil)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if steps, mine := outside.(Planner).Other(ctx, o); mine {
				planned.Others = append(planned.Others, Machine{Name: o.GetName(), Steps: steps})
			}
		}
	}
	return nil
}

// ownerOf is the Machine that a machine was created for; nil if there is none.
func ownerOf(m client.Object, machines *clusterv1.MachineList) *clusterv1.Machine {
	for _, reference := range m.GetOwnerReferences() {
		for i := range machines.Items {
			if reference.UID == machines.Items[i].UID {
				return &machines.Items[i]
			}
		}
	}
	return nil
}
