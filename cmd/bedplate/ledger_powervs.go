package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
)

// powervsOwners are the kinds of powervs that have ledgers.
var powervsOwners = []ledgerKind{
	{
		name: "ibmpowervscluster", title: "an IBMPowerVSCluster",
		read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
			o := &infrav1.IBMPowerVSCluster{}
			return o, c.Get(ctx, key, o)
		},
		forms: map[string]form{
			"resourcegroup": {infrav1.KindResourceGroup, true}, "zone": {infrav1.KindZone, true}, "workspace": {infrav1.KindWorkspace, false},
			"network/": {infrav1.KindNetwork, false}, "vpc": {infrav1.KindVPC, false}, "group:default": {infrav1.KindSecurityGroup, true},
			"rule:api": {infrav1.KindSecurityGroupRule, false}, "subnet/": {infrav1.KindSubnet, false},
			"group/": {infrav1.KindSecurityGroup, false}, "rule/": {infrav1.KindSecurityGroupRule, false},
			"loadbalancer/": {infrav1.KindLoadBalancer, false}, "transitgateway": {infrav1.KindTransitGateway, false},
			"connection/vpc": {infrav1.KindVPCConnection, false}, "connection/powervs": {infrav1.KindPowerVSConnection, false},
			"cos": {infrav1.KindCOSInstance, false}, "bucket": {infrav1.KindBucket, false}, "hmackey": {infrav1.KindCOSKey, false},
		},
	},
	{
		name: "ibmpowervsmachine", title: "an IBMPowerVSMachine",
		read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
			o := &infrav1.IBMPowerVSMachine{}
			return o, c.Get(ctx, key, o)
		},
		forms: map[string]form{
			"vm": {infrav1.KindVM, false}, "bootstrap-data": {infrav1.KindBootstrapData, false}, "member/": {infrav1.KindPoolMember, false},
		},
	},
	{
		name: "ibmpowervsimage", title: "an IBMPowerVSImage",
		read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
			o := &infrav1.IBMPowerVSImage{}
			return o, c.Get(ctx, key, o)
		},
		forms: map[string]form{"image": {infrav1.KindImage, false}, "import": {infrav1.KindImageImport, false}},
	},
}
