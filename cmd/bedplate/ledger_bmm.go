package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

var bmmMachineForms = map[string]form{"instance": {"instance", false}}

// bmmOwners are the kinds of bmm that have ledgers.
var bmmOwners = []ledgerKind{
	{
		name: "nvidiabmmcluster", title: "an NvidiaBMMCluster",
		read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
			o := &infrav1.NvidiaBMMCluster{}
			return o, c.Get(ctx, key, o)
		},
		forms: map[string]form{
			"site": {"site", true}, "ipblock": {"IP block", true}, "parentblock/": {"IP block", false}, "allocation/": {"allocation", false},
			"group": {"network security group", false}, "group/": {"network security group", true}, "vpc": {"VPC", false},
			"subnet/": {"subnet", false}, "prefix/": {"VPC prefix", false}, "peering/": {"VPC peering", false},
		},
		complete: completeBMMCluster,
	},
	{
		name: "nvidiabmmmachine", title: "an NvidiaBMMMachine", forms: bmmMachineForms, complete: completeBMM,
		read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
			o := &infrav1.NvidiaBMMMachine{}
			return o, c.Get(ctx, key, o)
		},
	},
	{
		name: "machine", title: "a Machine of OpenShift's", forms: bmmMachineForms, complete: completeBMM,
		read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
			o := &machinev1.Machine{}
			err := c.Get(ctx, key, o)
			return actuator.OwnerOf(o), err
		},
	},
}

// completeBMM takes the VPC out of the scope of all but peerings: nothing else lies in it, and the group even comes before it.
func completeBMM(_ graph.Owner, r *ledgers.Resource) error {
	if r.Kind != "VPC peering" {
		delete(r.Scope, "VPC")
	}
	return nil
}

func completeBMMCluster(owner graph.Owner, r *ledgers.Resource) error {
	cluster := owner.(*infrav1.NvidiaBMMCluster)
	if len(r.Scope) == 0 {
		r.Scope = graph.Scope{infrav1.KindSite: cluster.Status.SiteID, "VPC": cluster.Status.VPCID}
		maps.DeleteFunc(r.Scope, func(_, id string) bool { return id == "" })
	}
	_, peer, _ := strings.Cut(r.Key, "/")
	if r.Kind == "VPC peering" && r.Own && !asksFor(cluster, peer, r.ID) {
		return fmt.Errorf("neither spec nor status have a peering with %q, and under this key it would be deleted", peer)
	}
	return completeBMM(owner, r)
}

// asksFor reports whether a cluster wants a peering, has it in its status, or wants nothing any more.
func asksFor(c *infrav1.NvidiaBMMCluster, peer, id string) bool {
	return c.DeletionTimestamp != nil ||
		slices.ContainsFunc(c.Spec.VPCPeerings, func(p infrav1.VPCPeeringSpec) bool { return p.PeerVPCID == peer }) ||
		slices.ContainsFunc(c.Status.VPCPeerings, func(p infrav1.VPCPeeringStatus) bool { return p.PeerVPCID == peer && p.ID == id })
}
