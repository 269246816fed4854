package controller

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// clockSkew is how far the clocks of a speaker and of this process may be apart.
const clockSkew = 30 * time.Second

// speakers are the BGP speakers, by what the API server knows of them.
type speakers struct {
	client.Reader
	namespace string
	now       func() time.Time
}

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=bgpconfigurations,verbs=get;list;watch

// silent says whether no neighbor of a speaker's has anything of it any more, although it hasn't said so: it has been dead for
// so long that all sessions have ended, and what the neighbors kept for its restart too. Of one without a lease nothing is known
// but since when it has been expected to withdraw.
func (s speakers) silent(ctx context.Context, name string, since time.Time) (bool, error) {
	memory, err := s.memory(ctx)
	if err != nil {
		return false, err
	}
	found := &coordinationv1.Lease{}
	err = s.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: lease.Name(name)}, found)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("get the Lease of BGP speaker %s: %w", name, err)
	}
	heard := since
	if err == nil && found.Spec.RenewTime != nil {
		heard = found.Spec.RenewTime.Time
	}
	return s.now().Sub(heard) > lease.Silence(found, memory)+clockSkew, nil
}

// memory is how long neighbors believe a speaker that is gone, whichever configuration it has. What its Lease says counts too:
// its sessions may be older than the configuration.
func (s speakers) memory(ctx context.Context) (time.Duration, error) {
	list := &networkfabricv1.BGPConfigurationList{}
	if err := s.List(ctx, list); err != nil {
		return 0, fmt.Errorf("list BGPConfigurations: %w", err)
	}
	// What it had may be gone: then it had what the API fills in.
	longest := lease.Memory(networkfabricv1.BGPConfigurationSpec{Neighbors: []networkfabricv1.BGPNeighbor{{}}})
	for i := range list.Items {
		longest = max(longest, lease.Memory(list.Items[i].Spec))
	}
	return longest, nil
}
