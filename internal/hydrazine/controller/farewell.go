package controller

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

const (
	// emptyTimeout bounds the write to the databases of a central that is deleted.
	emptyTimeout = 2 * time.Second
	// northdFarewell bounds the wait for ovn-northd before a central is deleted, chassisFarewell the one for the DPUs after that,
	// and lostFarewell the one for a database that can't be written, each time that it is lost. They are of this process's clock: the
	// API server's may be another.
	northdFarewell  = 30 * time.Second
	chassisFarewell = 3 * time.Second
	lostFarewell    = 3 * time.Second
	// reachTimeout bounds the connection to the central of a group that was deleted while no manager ran.
	reachTimeout = 10 * time.Second
	farewellPoll = 100 * time.Millisecond
)

// errEmptying says that a central that is deleted isn't empty yet.
var errEmptying = errors.New("OVN still removes the network from the DPUs")

// emptied removes a network's rows before its central is deleted, and reports whether the DPUs have got that, or had their
// time. If an agent is dead, ovn-controller still removes the host's flows, and nothing else tells it to.
func (r *groupReconciler) emptied(ctx context.Context, group *resourcev1.ResourceGroup) (bool, error) {
	network := r.networks.find(group.UID)
	if network == nil {
		reached, err := r.reached(ctx, group)
		return !reached, err
	}
	wanted, err := overlay.Topology(group, nil, overlay.Outside{})
	if err != nil {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, emptyTimeout)
	defer cancel()
	var southbound, chassis bool
	_, err = network.north.Apply(ctx, string(group.UID), wanted.Rows())
	if err == nil {
		southbound, chassis, err = network.north.Arrived()
	}
	return network.parts(time.Now(), err != nil, southbound, chassis), nil
}

// reached connects to the central of a group that was deleted while no manager ran, and reports whether that is to be emptied. Once
// this has begun, the group's status says that the central ends. An error means that it isn't known: a central that is deleted then has told
// the DPUs nothing.
func (r *groupReconciler) reached(ctx context.Context, group *resourcev1.ResourceGroup) (bool, error) {
	ready := condition(group, resourcev1.CentralReadyCondition)
	if ready == nil || ready.Reason != reasonDone || group.Status.ManagedResourceCount == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if held, err := r.held(ctx, group); err != nil || !held {
		return false, err
	}
	_, _, err := r.networks.ensure(ctx, group.UID)
	return err == nil, nil
}

// held reports whether the API server has a group with our finalizer. The cache may still have one that is gone, or that only others hold.
// No central is made for that: nothing would delete it.
func (r *groupReconciler) held(ctx context.Context, group *resourcev1.ResourceGroup) (bool, error) {
	now := &resourcev1.ResourceGroup{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(group), now); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return now.UID == group.UID && controllerutil.ContainsFinalizer(now, resourcev1.ResourceGroupFinalizer), nil
}

// parts reports whether a network that is deleted may go: the DPUs have got that it is empty, or had their time.
func (w *network) parts(now time.Time, failed, southbound, chassis bool) bool {
	if w.leaving.IsZero() {
		w.leaving = now
	}
	if !failed {
		w.lost = time.Time{}
	} else if w.lost.IsZero() {
		w.lost = now
	}
	switch {
	case failed:
		return now.Sub(w.lost) > lostFarewell || now.Sub(w.leaving) > northdFarewell
	case !southbound:
		return now.Sub(w.leaving) > northdFarewell
	case w.left.IsZero():
		w.left = now
	}
	return chassis || now.Sub(w.left) > chassisFarewell
}
