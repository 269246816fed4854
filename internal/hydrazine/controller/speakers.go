package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// clockSkew is how far the clocks of a speaker, or of another replica, and of this process may be apart.
const clockSkew = 30 * time.Second

// readAgain limits how often a speaker's Lease is read: all addresses need the same few.
const readAgain = 30 * time.Second

// speakers are the BGP speakers, by their objects in the API server. How long one has been silent is counted by this process' own clock,
// from when its last renewal was first seen: the wall clocks, the speaker's and this one, may be set to anything.
type speakers struct {
	client.Reader
	namespace string
	// own is what has passed since some moment. It can't be set.
	own func() time.Duration

	mutex sync.Mutex
	words map[wordOf]word
}

// wordOf a speaker: the renewal of its Lease, or, if it has none, since when it has been expected to withdraw.
type wordOf struct {
	name  string
	since time.Time
}

// word is the last sign of a speaker.
type word struct {
	renewed  time.Time
	at, read time.Duration // when it was seen first, and last
	silence  time.Duration // after which no neighbor has its routes
}

func newSpeakers(reader client.Reader, namespace string) *speakers {
	began := time.Now()
	return &speakers{
		Reader: reader, namespace: namespace, own: func() time.Duration { return time.Since(began) }, words: map[wordOf]word{},
	}
}

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=bgpconfigurations,verbs=list

// silentIn is how long it takes until no neighbor of a speaker has its routes any more, although it hasn't confirmed that: by then all
// sessions have ended, and the routes that neighbors kept for its restart are gone. It is later if the speaker renews its Lease before; a
// result of 0 is from a Lease that was just read. Of a speaker without a Lease nothing is known except since when it has been expected to
// withdraw: zero if it isn't.
func (s *speakers) silentIn(ctx context.Context, name string, since time.Time) (time.Duration, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.own()
	for _, of := range []wordOf{{name: name}, {name, since}} {
		if w, known := s.words[of]; known && now-w.read < readAgain && now < w.at+w.silence {
			return w.at + w.silence - now, nil
		}
	}
	memory, err := s.memory(ctx)
	if err != nil {
		return 0, err
	}
	found := &coordinationv1.Lease{}
	err = s.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: lease.Name(name)}, found)
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("get the Lease of BGP speaker %s: %w", name, err)
	}
	of, renewed, silence := wordOf{name: name}, found.Spec.RenewTime, lease.Silence(found, memory)+clockSkew
	if err != nil || renewed == nil {
		if since.IsZero() {
			return silence, nil
		}
		of, renewed = wordOf{name, since}, &metav1.MicroTime{}
	}
	w, known := s.words[of]
	if !known || !w.renewed.Equal(renewed.Time) {
		w = word{renewed: renewed.Time, at: now}
	}
	w.read, w.silence = now, silence
	maps.DeleteFunc(s.words, func(_ wordOf, w word) bool { return now-w.read > 2*w.silence })
	s.words[of] = w
	return w.at + silence - now, nil
}

// memory is how long neighbors keep the routes of a speaker that is gone, whichever configuration it has. The duration in its
// Lease counts too: its sessions may be older than the configuration.
func (s *speakers) memory(ctx context.Context) (time.Duration, error) {
	list := &networkfabricv1.BGPConfigurationList{}
	if err := s.List(ctx, list); err != nil {
		return 0, fmt.Errorf("list BGPConfigurations: %w", err)
	}
	// Its configuration may be gone: then it had the API's defaults.
	longest := lease.Memory(networkfabricv1.BGPConfigurationSpec{Neighbors: []networkfabricv1.BGPNeighbor{{}}})
	for i := range list.Items {
		longest = max(longest, lease.Memory(list.Items[i].Spec))
	}
	return longest, nil
}
