package machineapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
)

// Actuator creates, changes and deletes what a Machine represents outside Kubernetes. Every method may be called again at any
// time, after an error or a crash too, and doesn't wait for the outside world: it returns a RequeueAfterError instead, unless
// something else will enqueue the Machine.
//
// A method changes the Machine in memory: spec.providerID, status.addresses, status.providerStatus, status.conditions, labels
// and annotations. The controller writes what has changed, once, when the methods have returned, whatever they returned. The
// rest of the status and the finalizers aren't a method's to change.
type Actuator interface {
	// Create makes the instance, unless it or an attempt at it is there already: that one is adopted. It is called as long as
	// Exists is false and the Machine has neither a provider ID nor addresses. The error InvalidConfiguration makes the
	// Machine Failed, for good.
	Create(ctx context.Context, machine *machinev1.Machine) error
	// Update is called while the instance exists: it brings the Machine up to date, and the instance where it can be changed.
	Update(ctx context.Context, machine *machinev1.Machine) error
	// Exists is false only where that is known for sure. A Machine that has a provider ID or addresses and no instance is
	// Failed, for good. While it isn't known whether an attempt at a create has worked, it is false: Create finds that out.
	Exists(ctx context.Context, machine *machinev1.Machine) (bool, error)
	// Delete asks for deletion. The Machine is released when Delete returns no error and Exists is false, so while an attempt
	// at a create may still turn into an instance, it returns an error or a RequeueAfterError. Where nothing was ever made it
	// returns nil, however bad the provider spec and the credentials are. A Machine that was Failed has still its errorReason
	// or errorMessage.
	Delete(ctx context.Context, machine *machinev1.Machine) error
}

// RequeueAfterError is no failure: requeue after some time, if nothing enqueues the Machine before.
type RequeueAfterError struct {
	After time.Duration
	// Priority in the queue, as that of a ctrl.Result.
	Priority *int
}

func (e *RequeueAfterError) Error() string { return fmt.Sprintf("look again in %s", e.After) }

// InvalidConfiguration says that the provider spec can't be fulfilled, now or later: only another Machine can.
func InvalidConfiguration(err error) error { return &invalidConfiguration{err} }

type invalidConfiguration struct{ error }

func (e *invalidConfiguration) Unwrap() error { return e.error }

// IsInvalidConfiguration recognises the error of InvalidConfiguration.
func IsInvalidConfiguration(err error) bool {
	var invalid *invalidConfiguration
	return errors.As(err, &invalid)
}

// Names that OpenShift's console and tools look for.
const (
	// InstanceStateAnnotation of a Machine: the state of its instance in the words of the provider.
	InstanceStateAnnotation = "machine.openshift.io/instance-state"
	// RegionLabel, ZoneLabel and InstanceTypeLabel of a Machine: where its instance is, and what.
	RegionLabel       = "machine.openshift.io/region"
	ZoneLabel         = "machine.openshift.io/zone"
	InstanceTypeLabel = "machine.openshift.io/instance-type"
)
