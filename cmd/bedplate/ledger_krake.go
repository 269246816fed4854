package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// krakeOwners are the kinds of Krake's that have ledgers. Cluster API has a kind Cluster, too.
var krakeOwners = []ledgerKind{{
	name: "krake", short: "krc", title: "a Cluster of Krake's",
	read: func(ctx context.Context, c client.Client, key client.ObjectKey) (graph.Owner, error) {
		o := &krakev1.Cluster{}
		return o, c.Get(ctx, key, o)
	},
	forms: map[string]form{krakev1.KindInfrastructure: {krakev1.KindInfrastructure, false}},
}}
