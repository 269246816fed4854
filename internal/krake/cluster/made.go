package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// MadeOn is the cloud that something was made on for a Cluster, as its ledger says; nil if nothing was. A status may be lost: a restored
// Cluster has none. What an earlier Cluster of the name has left says nothing of this one, which stays where it is bound for good: then
// the error is Invalid, until this one is to take that over. The cache may lag behind, so that counts only past it.
func MadeOn(ctx context.Context, c client.Client, live client.Reader, object *krakev1.Cluster) (*krakev1.CloudReference, error) {
	cloud, err := madeOn(ctx, c, c.Scheme(), object)
	if err != nil || cloud == nil {
		return nil, err
	}
	ledger, err := ledgers.Of(ctx, live, c.Scheme(), object)
	if err != nil {
		return nil, err
	}
	on, known := CloudOf(ledger)
	switch {
	case !known:
		return nil, nil
	case ledger.IsOf(object.UID), object.Annotations[ledgerv1.TakeOverAnnotation] == "true":
		return &on, nil
	}
	return &on, fault.Invalidf("ledger %s is that of an earlier Cluster of this name, whose infrastructure on %s may still exist: nothing is "+
		"made. If this Cluster is to take it over, give it the annotation %s=\"true\". Otherwise delete this Cluster, and what "+
		"`bedplate orphans` lists",
		ledger.Name, on, ledgerv1.TakeOverAnnotation)
}

func madeOn(ctx context.Context, c client.Reader, scheme *runtime.Scheme, object *krakev1.Cluster) (*krakev1.CloudReference, error) {
	ledger, err := ledgers.Of(ctx, c, scheme, object)
	if err != nil {
		return nil, err
	}
	if cloud, known := CloudOf(ledger); known {
		return &cloud, nil
	}
	return nil, nil
}
