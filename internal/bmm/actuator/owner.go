package actuator

import (
	"cmp"
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// owner is a Machine as the engine sees it: its conditions are those of the provider status.
type owner struct {
	*machinev1.Machine
	status bmmv1.NvidiaBMMMachineProviderStatus
	// before is the provider status as it was read.
	before bmmv1.NvidiaBMMMachineProviderStatus
}

var _ graph.Owner = &owner{}

// ownerOf reads the provider status of a Machine. One that can't be read counts as empty: it is written again.
func ownerOf(m *machinev1.Machine) *owner {
	o := &owner{Machine: m}
	if raw := m.Status.ProviderStatus; raw != nil && json.Unmarshal(raw.Raw, &o.status) != nil {
		o.status = bmmv1.NvidiaBMMMachineProviderStatus{}
	}
	o.status.DeepCopyInto(&o.before)
	return o
}

// store the provider status in the Machine, if it isn't as it was: the server may format the same value differently.
func (o *owner) store() {
	o.status.APIVersion, o.status.Kind = bmmv1.GroupVersion.String(), bmmv1.ProviderStatusKind
	if equality.Semantic.DeepEqual(o.before, o.status) {
		return
	}
	raw, _ := json.Marshal(o.status) // it has nothing that can't be encoded
	o.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
}

// Unwrap returns the object that the API server knows.
func (o *owner) Unwrap() client.Object { return o.Machine }

// GetConditions returns the conditions of the provider status.
func (o *owner) GetConditions() []metav1.Condition { return o.status.Conditions }

// SetConditions replaces the conditions of the provider status.
func (o *owner) SetConditions(conditions []metav1.Condition) { o.status.Conditions = conditions }

// OutsideIDs are the IDs of what spec and status show as created.
func (o *owner) OutsideIDs() []ledgerv1.OutsideID {
	id := cmp.Or(ptr.Deref(o.Spec.ProviderID, ""), o.status.InstanceID)
	if known, err := providerid.Parse(id); err == nil {
		id = known.InstanceID
	}
	if id == "" {
		return nil
	}
	return []ledgerv1.OutsideID{{Kind: "instance", ID: id}}
}

// OwnerOf is a Machine as the owner of what was created for it.
func OwnerOf(m *machinev1.Machine) graph.Owner { return ownerOf(m) }

// SecretOf names the Secret that a Machine logs in with. Another provider's Machine isn't ours: then it is the one that its
// ledger names, if it has one.
func SecretOf(m *machinev1.Machine, l *ledgerv1.Ledger) (secret types.NamespacedName, ours bool) {
	if secret = secretOf(m); secret.Name == "" {
		secret = ledgers.SecretOf(m, l)
	}
	return secret, providerspec.IsOurs(m.Spec.ProviderSpec)
}

// Conditions of a Machine's instance; another provider's Machine has none.
func Conditions(machine runtime.Object) []metav1.Condition {
	m := machine.(*machinev1.Machine)
	if !providerspec.IsOurs(m.Spec.ProviderSpec) {
		return nil
	}
	return ownerOf(m).GetConditions()
}
