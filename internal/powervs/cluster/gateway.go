package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

func gatewayKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.TransitGateway] {
	return &graph.Kind[ibm.TransitGateway]{
		Name: infrav1.KindTransitGateway, Service: service,
		ID: func(g *ibm.TransitGateway) string { return g.ID },
		Get: func(ctx context.Context, id string, _ graph.Scope) (*ibm.TransitGateway, error) {
			return api.TransitGateway(ctx, id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.TransitGateway, error) {
			all, err := api.TransitGateways(ctx)
			return withName(all, err, key.Title, func(g ibm.TransitGateway) string { return g.Name })
		}),
		Phase: func(g *ibm.TransitGateway) phases.Phase {
			return availability(infrav1.KindTransitGateway, g.Name, g.ID, g.Status)
		},
		Delete: func(ctx context.Context, id string, _ graph.Scope) error { return api.DeleteTransitGateway(ctx, id) },
	}
}

// connectionKind is that of connections with a VPC, or with a workspace. A gateway has one of each network at most: that is how it is
// known, and the name is for people only. The end of a CRN says which network it is of.
func connectionKind(api *ibm.Client, service *graph.Service, name, of string) *graph.Kind[ibm.Connection] {
	return &graph.Kind[ibm.Connection]{
		Name: name, Service: service, Within: []string{infrav1.KindTransitGateway, of},
		ID: func(c *ibm.Connection) string { return c.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.Connection, error) {
			return api.Connection(ctx, in[infrav1.KindTransitGateway], id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.Connection, error) {
			all, err := api.Connections(ctx, key.Scope[infrav1.KindTransitGateway])
			return slices.DeleteFunc(all, func(c ibm.Connection) bool {
				return !slices.Contains(strings.Split(c.NetworkCRN, ":"), key.Scope[of])
			}), err
		}),
		Phase: func(c *ibm.Connection) phases.Phase {
			switch c.Status {
			case "attached":
				return phases.Ready()
			case "deleting":
				return phases.Deleting()
			case "failed", "detached":
				return phases.Failed("%s %s (%s) is %s: delete it to get another one, or ask IBM's support", name, c.Name, c.ID, c.Status)
			}
			return phases.Waiting("%s %s is %s", name, c.Name, c.Status)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteConnection(ctx, in[infrav1.KindTransitGateway], id)
		},
	}
}

// wantGateway adds the gateway with its connections, one after the other: the service refuses two changes at a time.
func (r *resources) wantGateway() {
	spec := cmp.Or(r.object.Spec.TransitGateway, &infrav1.TransitGateway{})
	global := ptr.Deref(spec.GlobalRouting, ibm.VPCRegion(r.object.Spec.Zone) != r.object.Region())
	want := graph.Want[ibm.TransitGateway]{
		Key: gatewayKey, Condition: infrav1.TransitGatewayReadyCondition, After: []graph.Ref{r.vpc, r.workspace},
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.TransitGateway], error) {
			request := ibm.TransitGatewayRequest{
				Name: key.Title, Location: r.object.Region(), ResourceGroupID: r.groupID(), Global: global,
			}
			return func(ctx context.Context) (*ibm.TransitGateway, error) {
				return r.api.CreateTransitGateway(ctx, request)
			}, nil
		},
	}
	if spec.ID != "" {
		want.Claim = graph.Use(spec.ID)
	} else {
		want.Claim = claimByName(spec.Name != "", r.object.TransitGatewayName())
		compareWithSpec(r, &want, fmt.Sprintf("transit gateway %s was made by a spec.transitGateway.globalRouting that was changed meanwhile, "+
			"and it can't be changed: put back what it was", r.object.TransitGatewayName()), global)
		r.noteRouting(&want, spec.GlobalRouting)
	}
	r.gateway = graph.Add(r.graph, r.kinds.Gateway, want)
	after := []graph.Ref{r.gateway, r.workspace}
	if r.isOfAnother(vpcConnectionKey, infrav1.KindVPC, vpcKey) {
		r.awaitDeletion("VPC")
	} else {
		r.vpcConnection = r.wantConnection(vpcConnectionKey, r.kinds.VPCConnection, []graph.Ref{r.gateway, r.vpc}, "-vpc",
			func() (sort, crn string) { return ibm.NetworkTypeVPC, r.vpc.Object().CRN })
		after = append(after, r.vpcConnection)
	}
	if r.isOfAnother(powerVSConnectionKey, infrav1.KindWorkspace, workspaceKey) {
		r.awaitDeletion("workspace")
		return
	}
	r.powerVSConnection = r.wantConnection(powerVSConnectionKey, r.kinds.PowerVSConnection, after, "-powervs",
		func() (sort, crn string) { return ibm.NetworkTypePowerVS, r.workspace.Object().CRN })
}

// routingParam of a gateway says that the spec decided about its routing.
const routingParam = "globalRouting"

// noteRouting records whether the spec decides about the routing. If it didn't and still doesn't, zone and region did, which may be others
// by now: the gateway stays as it is.
func (r *resources) noteRouting(want *graph.Want[ibm.TransitGateway], given *bool) {
	choose := want.Choose
	want.Choose = func(ctx context.Context, existing *ibm.TransitGateway) (map[string]string, error) {
		params, err := choose(ctx, existing)
		if err == nil && existing == nil && given != nil {
			params[routingParam] = "given"
		}
		return params, err
	}
	if given == nil && r.graph.Param(want.Key, routingParam) == "" {
		want.Update = nil
	}
}

// isOfAnother reports whether a connection is of a network that is gone, and another one was made in its place. It isn't wanted then: it
// is in the way of that of the new one, which has its name.
func (r *resources) isOfAnother(connection, kind, network string) bool {
	of, is := r.graph.Scope(connection)[kind], r.graph.ID(network)
	return of != "" && is != "" && of != is
}

func (r *resources) awaitDeletion(of string) {
	r.graph.Gate(infrav1.TransitGatewayReadyCondition, func() phases.Phase {
		return phases.Waiting("the connection with a %s that is gone is deleted first", of)
	})
}

func (r *resources) wantConnection(
	key string, kind *graph.Kind[ibm.Connection], after []graph.Ref, suffix string, network func() (sort, crn string),
) *graph.Handle[ibm.Connection] {
	return graph.Add(r.graph, kind, graph.Want[ibm.Connection]{
		Key: key, Condition: infrav1.TransitGatewayReadyCondition, After: after,
		Claim: graph.UseOrCreate("bedplate-" + r.graph.OwnerID() + suffix), // unique in the gateway, whoever else uses it
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.Connection], error) {
			sort, crn := network()
			gateway, request := key.Scope[infrav1.KindTransitGateway], ibm.ConnectionRequest{Name: key.Title, NetworkType: sort, NetworkCRN: crn}
			return func(ctx context.Context) (*ibm.Connection, error) {
				return r.api.CreateConnection(ctx, gateway, request)
			}, nil
		},
	})
}
