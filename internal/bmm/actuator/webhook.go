package actuator

import (
	"context"
	"errors"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/validation"
)

// SetupWebhooks registers the webhooks with the manager's webhook server. They refuse Machines and MachineSets whose provider
// spec can't become an instance, and changes of the provider spec of a Machine whose instance was made with it.
func SetupWebhooks(mgr ctrl.Manager) error {
	specs, err := providerspec.NewReader()
	if err != nil {
		return err
	}
	return errors.Join(
		register(mgr, &machinev1.Machine{}, rules[*machinev1.Machine]{
			path: providerspec.Path(), specs: specs, named: true,
			spec: func(m *machinev1.Machine) machinev1.ProviderSpec { return m.Spec.ProviderSpec },
			used: func(ctx context.Context, m *machinev1.Machine) bool {
				nothing, err := ledgers.OwnsNothing(ctx, mgr.GetAPIReader(), mgr.GetScheme(), ownerOf(m))
				return err != nil || !nothing // what isn't known may exist
			},
		}),
		register(mgr, &machinev1.MachineSet{}, rules[*machinev1.MachineSet]{
			path: field.NewPath("spec", "template").Child("spec", "providerSpec", "value"), specs: specs,
			spec: func(s *machinev1.MachineSet) machinev1.ProviderSpec { return s.Spec.Template.Spec.ProviderSpec },
			used: func(context.Context, *machinev1.MachineSet) bool { return false },
		}),
	)
}

func register[T client.Object](mgr ctrl.Manager, object T, r rules[T]) error {
	return validation.Register(mgr, object, validation.Rules[T]{Created: r.created, Updated: r.updated})
}

// rules check the provider specs that are ours, and allow all others.
type rules[T client.Object] struct {
	path  *field.Path
	specs *providerspec.Reader
	spec  func(T) machinev1.ProviderSpec
	// named means that the instance gets the object's name.
	named bool
	// used reports whether an instance was made with the provider spec, or may have been.
	used func(context.Context, T) bool
}

func (r rules[T]) created(ctx context.Context, object T) field.ErrorList {
	spec, problems := r.read(ctx, object)
	if r.named && spec != nil && len(object.GetName()) == 1 {
		problems = append(problems, field.Invalid(field.NewPath("metadata", "name"), object.GetName(),
			"the instance gets this name, and the BMM API requires at least two characters: choose a longer one"))
	}
	return problems
}

// updated leaves alone what doesn't change: an object with existing problems can still be changed otherwise,
// and deleted.
func (r rules[T]) updated(ctx context.Context, before, after T) (field.ErrorList, error) {
	if equality.Semantic.DeepEqual(r.spec(before), r.spec(after)) {
		return nil, nil
	}
	now, problems := r.read(ctx, after)
	if len(problems) > 0 || !r.used(ctx, before) {
		return problems, nil
	}
	was, problems := r.read(ctx, before)
	readable := was != nil && len(problems) == 0
	// One that can't be read, or is another provider's, may be corrected, but not changed otherwise: written in the moment in which the
	// instance was created, it came past this check.
	if !readable && now != nil || len(problems) == 0 && sameInstance(was, now) {
		return nil, nil
	}
	return field.ErrorList{field.Forbidden(r.path,
		"the instance was made with it, and only credentialsSecret can be changed: make another Machine")}, nil
}

// read is nil for another provider's.
func (r rules[T]) read(ctx context.Context, object T) (*bmmv1.NvidiaBMMMachineProviderSpec, field.ErrorList) {
	if !providerspec.IsOurs(r.spec(object)) {
		return nil, nil
	}
	return r.specs.Read(ctx, r.path, r.spec(object))
}

// sameInstance reports whether two provider specs ask for the same. Other credentials make no other instance.
func sameInstance(was, now *bmmv1.NvidiaBMMMachineProviderSpec) bool {
	if was == nil || now == nil { // another provider's
		return was == now
	}
	was = was.DeepCopy()
	was.CredentialsSecret, was.ObjectMeta = now.CredentialsSecret, now.ObjectMeta
	return equality.Semantic.DeepEqual(was, now)
}
