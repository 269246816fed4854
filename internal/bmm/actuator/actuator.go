// Package actuator creates bare-metal instances for the Machines of OpenShift: machineapi's controller calls it.
package actuator

import (
	"context"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/machineapi"
)

// Actuator creates and deletes the instance of a Machine.
type Actuator struct {
	lifecycle.Logins[*bmm.Client]
	Specs *providerspec.Reader
	// Instances is the state of all instances, without a call for each.
	Instances *inventory.Inventory
	Places    *Places
	Topology  *topology.Lookup

	reports instance.Reports
}

var _ machineapi.Actuator = &Actuator{}

// Create searches for the instance, and creates it if there is none.
func (a *Actuator) Create(ctx context.Context, m *machinev1.Machine) error {
	return a.reconcile(ctx, m)
}

// Update brings the Machine up to date.
func (a *Actuator) Update(ctx context.Context, m *machinev1.Machine) error {
	return a.reconcile(ctx, m)
}

func (a *Actuator) reconcile(ctx context.Context, m *machinev1.Machine) error {
	o := ownerOf(m)
	defer o.store()
	spec, problems := a.Specs.Read(ctx, providerspec.Path(), m.Spec.ProviderSpec)
	if err := problems.ToAggregate(); err != nil {
		return a.refuse(ctx, o, err)
	}
	n, err := a.open(ctx, o, *spec)
	if err != nil {
		return err
	}
	result, err := n.reconcile(ctx)
	return later(result, err)
}

// refuse an invalid spec. Failed is for Machines that should be deleted, and one that owns something may have a running node.
func (a *Actuator) refuse(ctx context.Context, o *owner, invalid error) error {
	nothing, err := a.Engine.OwnsNothing(ctx, o)
	switch {
	case err != nil:
		return err
	case nothing:
		return machineapi.InvalidConfiguration(invalid)
	default:
		return later(a.Engine.Blocked(o, bmmv1.ReferencesResolvedCondition, &fault.Error{Class: fault.Invalid, Err: invalid}))
	}
}

// Exists reads the instance that the ledger names. During deletion the ledger itself is the answer: an instance is
// removed from it when it is certainly gone.
func (a *Actuator) Exists(ctx context.Context, m *machinev1.Machine) (bool, error) {
	o := ownerOf(m)
	nothing, err := a.Engine.OwnsNothing(ctx, o)
	switch {
	case err != nil || nothing:
		return false, err
	case !m.DeletionTimestamp.IsZero():
		return true, nil
	}
	defer o.store()
	n, err := a.open(ctx, o, providerspec.Peek(m.Spec.ProviderSpec))
	if err != nil {
		return false, err
	}
	if n.ID() == "" {
		return false, nil // it isn't known whether the last attempt succeeded: Create finds out
	}
	exists, err := n.Exists(ctx)
	if err != nil {
		return false, a.unknown(o, bmmv1.InstanceProvisionedCondition, err)
	}
	if !exists {
		_, err = n.reconcile(ctx) // so that the conditions say so too
	}
	return exists, err
}

// Delete requests the deletion, and returns a RequeueAfterError until nothing is left.
func (a *Actuator) Delete(ctx context.Context, m *machinev1.Machine) error {
	o := ownerOf(m)
	defer o.store()
	login, err := a.login(ctx, o)
	switch {
	case err != nil:
		return a.unknown(o, bmmv1.ReferencesResolvedCondition, err)
	case login == nil:
		a.Engine.Leave(o)
		return nil
	}
	n, err := a.newNode(ctx, login, o, providerspec.Peek(m.Spec.ProviderSpec))
	if err != nil {
		return a.unknown(o, bmmv1.InstanceProvisionedCondition, err)
	}
	if login.OwnsNothing {
		if err := n.findSite(ctx); err != nil {
			return a.unknown(o, bmmv1.ReferencesResolvedCondition, err)
		}
	}
	done, result, err := n.Graph.Delete(ctx)
	if done {
		return nil
	}
	n.project(ctx)
	return later(result, err)
}

// open the graph of a Machine. The error has been reported in its conditions.
func (a *Actuator) open(ctx context.Context, o *owner, spec bmmv1.NvidiaBMMMachineProviderSpec) (*node, error) {
	login, err := a.login(ctx, o)
	if err != nil {
		return nil, a.unknown(o, bmmv1.ReferencesResolvedCondition, err)
	}
	n, err := a.newNode(ctx, login, o, spec)
	if err != nil {
		return nil, a.unknown(o, bmmv1.InstanceProvisionedCondition, err)
	}
	return n, nil
}

// login with the Secret of a Machine.
func (a *Actuator) login(ctx context.Context, o *owner) (*lifecycle.Login[*bmm.Client], error) {
	return a.Login(ctx, o, func(ctx context.Context) (types.NamespacedName, error) {
		ledger, err := ledgers.Of(ctx, a.Engine.Client, a.Engine.Client.Scheme(), o)
		secret, _ := SecretOf(o.Machine, ledger) // the ledger has that of a spec that can't be read any more
		return secret, err
	})
}

// unknown reports in the conditions why nothing is known of the instance, and returns that, with the time to requeue
// after.
func (a *Actuator) unknown(o *owner, condition string, err error) error {
	result, retry := a.Engine.Blocked(o, condition, err)
	if retry != nil {
		return retry
	}
	return &unknown{error: err, later: later(result, nil)}
}

// unknown is an error that passes, or requires manual intervention: an immediate retry is no use.
type unknown struct {
	error
	later error
}

func (e *unknown) Unwrap() []error { return []error{e.error, e.later} }

// later turns the engine's result into the error that the controller expects.
func later(result ctrl.Result, err error) error {
	if err != nil || result.RequeueAfter == 0 {
		return err
	}
	return &machineapi.RequeueAfterError{After: result.RequeueAfter, Priority: result.Priority}
}
