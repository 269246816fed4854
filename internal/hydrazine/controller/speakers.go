package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// clockSkew is how far the clocks of a speaker, or of another replica, and of this process may be apart.
const clockSkew = 30 * time.Second

// speakers are the BGP speakers, by what the API server knows of them.
type speakers struct {
	client.Reader
	namespace string

	mutex sync.Mutex
	// heard of those that have a Lease: until when none has to be asked for again.
	heard map[string]time.Time
}

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=bgpconfigurations,verbs=list

// silentAt is when no neighbor of a speaker's has anything of it any more, although it hasn't said so: it has been dead for so
// long then that all sessions have ended, and what the neighbors kept for its restart too. It is later if the speaker renews its
// Lease before; what is over now has just been read. Of one without a Lease nothing is known but since when it has been expected
// to withdraw.
func (s *speakers) silentAt(ctx context.Context, name string, since, now time.Time) (time.Time, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if at := s.heard[name]; now.Before(at) {
		return at, nil
	}
	delete(s.heard, name)
	memory, err := s.memory(ctx)
	if err != nil {
		return time.Time{}, err
	}
	found := &coordinationv1.Lease{}
	err = s.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: lease.Name(name)}, found)
	if err != nil && !apierrors.IsNotFound(err) {
		return time.Time{}, fmt.Errorf("get the Lease of BGP speaker %s: %w", name, err)
	}
	silence := lease.Silence(found, memory) + clockSkew
	if err != nil || found.Spec.RenewTime == nil {
		return since.Add(silence), nil
	}
	at := found.Spec.RenewTime.Add(silence)
	if now.Before(at) {
		s.heard[name] = at
	}
	return at, nil
}

// memory is how long neighbors believe a speaker that is gone, whichever configuration it has. What its Lease says counts too:
// its sessions may be older than the configuration.
func (s *speakers) memory(ctx context.Context) (time.Duration, error) {
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
