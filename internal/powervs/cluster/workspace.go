package cluster

import (
	"context"
	"fmt"
	"slices"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// anyZone is where a workspace lies that only its ID or its name says.
const anyZone = "any"

// workspaceKind knows a workspace by its name and its zone: names aren't unique.
func workspaceKind(api *ibm.Client, service *graph.Service, object *infrav1.IBMPowerVSCluster) *graph.Kind[ibm.Instance] {
	kind := instanceKind(api, service, infrav1.KindWorkspace, ibm.PlanPowerVS)
	kind.Within = []string{infrav1.KindZone}
	kind.Scope = func(string) graph.Scope {
		if object.Spec.Zone == "" {
			return graph.Scope{infrav1.KindZone: anyZone}
		}
		return graph.Scope{infrav1.KindZone: object.Spec.Zone}
	}
	return kind
}

// instanceKind is that of workspaces, or of instances of Object Storage. What is in reclamation counts as gone.
func instanceKind(api *ibm.Client, service *graph.Service, name string, plan ibm.Plan) *graph.Kind[ibm.Instance] {
	return &graph.Kind[ibm.Instance]{
		Name: name, Service: service,
		ID: func(i *ibm.Instance) string { return i.ID },
		Get: func(ctx context.Context, id string, _ graph.Scope) (*ibm.Instance, error) {
			i, err := api.Instance(ctx, id)
			if err == nil && i.Plan != plan {
				return nil, fault.Invalidf("%s is no %s", id, name)
			}
			return i, err
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.Instance, error) {
			return withFailed(ctx, api, plan, key.Title, key.Scope[infrav1.KindZone])
		}),
		Phase: func(i *ibm.Instance) phases.Phase {
			switch {
			case i.Deleting():
				return phases.Deleting()
			case i.State == ibm.StateActive:
				return phases.Ready()
			case i.State == ibm.StateProvisioning:
				return phases.Waiting("%s %s is %s", name, i.Name, i.State)
			}
			return phases.Failed("%s %s (%s) is %s, %s: delete it to get another one, or ask IBM's support", name, i.Name, i.ID, i.State,
				i.Operation.Description)
		},
		Delete: func(ctx context.Context, id string, _ graph.Scope) error { return api.DeleteInstance(ctx, id) },
	}
}

// instancesIn are those of a name in a zone, or in any.
func instancesIn(ctx context.Context, api *ibm.Client, plan ibm.Plan, name, zone string) ([]ibm.Instance, error) {
	all, err := api.Instances(ctx, plan, name)
	return inZone(all, plan, zone), err
}

// withFailed are the same, or those that have failed if there are no others: an attempt may have made one of them.
func withFailed(ctx context.Context, api *ibm.Client, plan ibm.Plan, name, zone string) ([]ibm.Instance, error) {
	found, err := instancesIn(ctx, api, plan, name, zone)
	if err != nil || len(found) > 0 {
		return found, err
	}
	failed, err := api.FailedInstances(ctx, plan, name)
	return inZone(failed, plan, zone), err
}

func inZone(all []ibm.Instance, plan ibm.Plan, zone string) []ibm.Instance {
	return slices.DeleteFunc(all, func(i ibm.Instance) bool { return i.Target != zone && zone != anyZone && plan == ibm.PlanPowerVS })
}

// claimByName is what a name in the spec means: what has it is used, and created if there is none. Nothing that has a name by default is
// used: it may be that of another cluster of the same name.
func claimByName(isGiven bool, name string) graph.Claim {
	if isGiven {
		return graph.UseOrCreate(name)
	}
	return graph.CreateNamed(name)
}

func (r *resources) wantWorkspace() *graph.Handle[ibm.Instance] {
	want := graph.Want[ibm.Instance]{
		Key: workspaceKey, Condition: infrav1.WorkspaceReadyCondition, After: []graph.Ref{r.zone, r.group},
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.Instance], error) {
			request := ibm.InstanceRequest{
				Name: key.Title, Plan: ibm.PlanPowerVS, Target: key.Scope[infrav1.KindZone], ResourceGroupID: r.groupID(),
			}
			return func(ctx context.Context) (*ibm.Instance, error) { return r.api.CreateInstance(ctx, request) }, nil
		},
	}
	if id := r.object.Spec.WorkspaceID(); id != "" {
		want.Claim = graph.UseChecked(id, func(ctx context.Context) (string, error) { return id, r.checkWorkspace(ctx, id) })
	} else {
		given := r.object.Spec.ServiceInstance
		want.Claim = claimByName(given != nil && given.Name != "", r.object.WorkspaceName())
	}
	return graph.Add(r.graph, r.kinds.Workspace, want)
}

// checkWorkspace fails if the workspace of the user's own isn't where the spec says.
func (r *resources) checkWorkspace(ctx context.Context, id string) error {
	i, err := r.api.Instance(ctx, id)
	switch {
	case err != nil:
		return fault.Correct("spec.serviceInstance.id", fmt.Errorf("workspace %s: %w", id, err))
	case r.object.Spec.Zone != "" && i.Target != r.object.Spec.Zone:
		return fault.Invalidf("workspace %s (%s) is in zone %s, and spec.zone says %s: correct one of them",
			i.Name, id, i.Target, r.object.Spec.Zone)
	}
	return nil
}

// useWorkspace adds the workspace of the user's own, and its zone. The zone is known only by the workspace if the spec doesn't say it.
func (r *resources) useWorkspace() {
	id, given := r.object.Spec.WorkspaceID(), r.object.Spec.ServiceInstance
	want := graph.Want[ibm.Instance]{Key: workspaceKey, Condition: infrav1.WorkspaceReadyCondition}
	switch {
	case id != "":
		want.Claim = graph.UseChecked(id, func(ctx context.Context) (string, error) { return id, r.checkWorkspace(ctx, id) })
	case given != nil && given.Name != "":
		want.Claim = graph.UseFound("name "+given.Name, func(ctx context.Context) (string, error) { return r.findWorkspace(ctx, given.Name) })
	default: // machines name one themselves
		r.graph.Gate(infrav1.WorkspaceReadyCondition, notWanted)
		r.graph.Gate(infrav1.ZoneReadyCondition, notWanted)
		return
	}
	if r.object.Spec.Zone != "" {
		r.zone = r.wantZone()
		want.After = []graph.Ref{r.zone}
		r.workspace = graph.Add(r.graph, r.kinds.Workspace, want)
		return
	}
	r.workspace = graph.Add(r.graph, r.kinds.Workspace, want)
	r.zone = graph.Add(r.graph, r.kinds.Zone, graph.Want[ibm.Zone]{
		Key: zoneKey, Condition: infrav1.ZoneReadyCondition, After: []graph.Ref{r.workspace},
		Claim: graph.UseFoundBy(func() string { return "workspace " + r.workspace.ID() },
			func(context.Context) (string, error) { return r.workspace.Object().Target, nil }),
	})
}

func (r *resources) findWorkspace(ctx context.Context, name string) (string, error) {
	zone := r.object.Spec.Zone
	if zone == "" {
		zone = anyZone
	}
	found, err := instancesIn(ctx, r.api, ibm.PlanPowerVS, name, zone)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fault.Invalidf("there is no workspace %q: correct spec.serviceInstance.name", name)
	case len(found) > 1:
		return "", fault.Invalidf("there are several workspaces %q: set spec.zone, or choose one by spec.serviceInstance.id", name)
	}
	return found[0].ID, nil
}
