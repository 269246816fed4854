package cluster

import (
	"context"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// zonesParam of the VPC are the zones of its region, asked for once: a cluster has a subnet in each of them, and one that is chosen at
// random has to stay the same.
const zonesParam = "zones"

func vpcKind(api *ibm.Client, service *graph.Service, object *infrav1.IBMPowerVSCluster) *graph.Kind[ibm.VPC] {
	return &graph.Kind[ibm.VPC]{
		Name: infrav1.KindVPC, Service: service, Within: []string{infrav1.KindRegion},
		Scope: func(string) graph.Scope { return graph.Scope{infrav1.KindRegion: object.Region()} },
		ID:    func(v *ibm.VPC) string { return v.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.VPC, error) {
			return api.VPC(ctx, in[infrav1.KindRegion], id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.VPC, error) {
			all, err := api.VPCs(ctx, key.Scope[infrav1.KindRegion])
			return withName(all, err, key.Title, func(v ibm.VPC) string { return v.Name })
		}),
		Phase: func(v *ibm.VPC) phases.Phase { return availability(infrav1.KindVPC, v.Name, v.ID, v.Status) },
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteVPC(ctx, in[infrav1.KindRegion], id)
		},
	}
}

// availability is the phase of what is in one of the statuses that VPCs, subnets and transit gateways have.
func availability(kind, name, id, status string) phases.Phase {
	switch status {
	case "available":
		return phases.Ready()
	case "deleting":
		return phases.Deleting()
	case "failed":
		return phases.Failed("%s %s (%s) is in status failed: delete it to get another one, or ask IBM's support", kind, name, id)
	}
	return phases.Waiting("%s %s is in status %s", kind, name, status)
}

// wantVPC adds the VPC, and the rule that lets clients reach the API server.
func (r *resources) wantVPC() {
	spec := r.object.Spec.VPC
	want := graph.Want[ibm.VPC]{
		Key: vpcKey, Condition: infrav1.VPCReadyCondition, After: []graph.Ref{r.zone, r.group},
		Choose: func(ctx context.Context, _ *ibm.VPC) (map[string]string, error) {
			zones, err := r.api.RegionZones(ctx, spec.Region)
			return map[string]string{zonesParam: strings.Join(zones, ",")}, err
		},
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.VPC], error) {
			region, group := key.Scope[infrav1.KindRegion], r.groupID()
			return func(ctx context.Context) (*ibm.VPC, error) { return r.api.CreateVPC(ctx, region, key.Title, group) }, nil
		},
	}
	if spec.ID != "" {
		want.Claim = graph.Use(spec.ID)
	} else {
		want.Claim = claimByName(spec.Name != "", r.object.VPCName())
	}
	r.vpc = graph.Add(r.graph, r.kinds.VPC, want)
	group := graph.Add(r.graph, r.kinds.Group, graph.Want[ibm.SecurityGroup]{
		Key: defaultGroupKey, Condition: infrav1.VPCReadyCondition, After: []graph.Ref{r.vpc},
		Claim: graph.UseFoundBy(func() string { return "default of " + r.vpc.ID() },
			func(context.Context) (string, error) { return r.vpc.Object().DefaultSecurityGroup.ID, nil }),
	})
	port := APIPort(r.owner, r.object)
	r.addRule(apiRuleKey, infrav1.VPCReadyCondition, group, false, nil, traffic{
		direction: inbound, protocol: "tcp", ports: fmt.Sprintf("%d-%d", port, port), remote: anywhere,
	})
}

// zones of the VPC's region; none before they are known.
func (r *resources) zones() []string {
	return strings.FieldsFunc(r.graph.Param(vpcKey, zonesParam), func(c rune) bool { return c == ',' })
}

// defaultAPIPort is that of API servers.
const defaultAPIPort = 6443

// APIPort is the port of a cluster's API server, on its load balancers and on its machines. The owner is its Cluster; it may be nil.
func APIPort(owner *clusterv1.Cluster, object *infrav1.IBMPowerVSCluster) int64 {
	switch {
	case object.Spec.ControlPlaneEndpoint.Port != 0:
		return int64(object.Spec.ControlPlaneEndpoint.Port)
	case owner != nil && owner.Spec.ClusterNetwork.APIServerPort != 0:
		return int64(owner.Spec.ClusterNetwork.APIServerPort)
	}
	return defaultAPIPort
}
