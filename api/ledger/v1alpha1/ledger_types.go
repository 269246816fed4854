package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Finalizer of a ledger keeps it until everything that it names is gone, also when its owner is gone before.
	Finalizer = "bedplate.dev/ledger"
	// TakeOverAnnotation of an owner, with the value "true", says that this management cluster is to act on a ledger that
	// belongs to another one or to an earlier object of the same name, or to rebuild one that is lost. It is taken off once
	// that has happened.
	TakeOverAnnotation = "bedplate.dev/take-over-ledger"
)

// State of an entry.
type State string

// States of an entry.
const (
	// Pending: seen absent, then attempted by us; whether it exists now isn't known.
	Pending State = "pending"
	// Refused: the service has definitely not made it.
	Refused State = "refused"
	// Bound: id is the resource.
	Bound State = "bound"
)

// Entry is what a ledger says of one resource. It is enough to find and delete the resource without the spec of its owner.
type Entry struct {
	// key of the resource within its owner's graph, such as "subnet/worker".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Key string `json:"key"`
	// kind of the resource, such as "subnet".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Kind string `json:"kind"`
	// condition of the owner that reports on the resource.
	// +optional
	Condition string `json:"condition,omitempty"`
	// after lists the keys of what the resource needs; deletion goes the other way.
	// +optional
	// +listType=atomic
	After []string `json:"after,omitempty"`
	// state is pending, refused or bound.
	// +required
	// +kubebuilder:validation:Enum=pending;refused;bound
	State State `json:"state"`
	// id outside; empty while it isn't known.
	// +optional
	ID string `json:"id,omitempty"`
	// scope is the IDs of what the resource lies in, by their kinds: without them it can't be named outside. Written with the intention.
	// +optional
	Scope Scope `json:"scope,omitempty"`
	// proven is the id if our tag was seen on it, or if an answer to a create of ours or an operator has named it. Only what is
	// proven is given back a tag that went missing.
	// +optional
	Proven string `json:"proven,omitempty"`
	// untagged is the id if it was taken over from another provider and carried no tag then: until it carries one, this says
	// in place of a tag that it is ours.
	// +optional
	Untagged string `json:"untagged,omitempty"`
	// title is the name outside that the spec gave, or what the ID was looked up by.
	// +optional
	Title string `json:"title,omitempty"`
	// token of the attempt to create it.
	// +optional
	Token string `json:"token,omitempty"`
	// before are the IDs of what had the title before the attempt and was being deleted, where no tag tells it from what the attempt makes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=512
	Before []string `json:"before,omitempty"`
	// params are the choices made for the attempt.
	// +optional
	Params map[string]string `json:"params,omitempty"`
	// at is when the resource was attempted or refused.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
	// refusal is the class of the error with which it was refused.
	// +optional
	Refusal string `json:"refusal,omitempty"`
	// message says why it was refused.
	// +optional
	Message string `json:"message,omitempty"`
	// generation of the owner to which it was refused, or for which it is repaired.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// foreign: the user's own, never deleted.
	// +optional
	Foreign bool `json:"foreign,omitempty"`
	// applied are the changes that were made last.
	// +optional
	Applied string `json:"applied,omitempty"`
	// appliedAt is when they were made.
	// +optional
	AppliedAt *metav1.Time `json:"appliedAt,omitempty"`
	// inEffect: the service said so, since the last changes.
	// +optional
	InEffect bool `json:"inEffect,omitempty"`
	// unreadySince is when it was first seen not to be ready, of what can be repaired.
	// +optional
	UnreadySince *metav1.Time `json:"unreadySince,omitempty"`
	// repairs is how often a remedy was tried since then.
	// +optional
	Repairs int32 `json:"repairs,omitempty"`
	// repairedAt is when it was tried last.
	// +optional
	RepairedAt *metav1.Time `json:"repairedAt,omitempty"`
	// goneAt is when it was first seen to be gone, where that has to last to count.
	// +optional
	GoneAt *metav1.Time `json:"goneAt,omitempty"`
}

// MaxBefore is how many IDs before has at most.
const MaxBefore = 256

// Scope is what a resource lies in: IDs by the names of their kinds, such as "site".
type Scope map[string]string

// Within is the part of a scope that has the given names; nil if one of them is missing.
func (s Scope) Within(names []string) Scope {
	part := Scope{}
	for _, name := range names {
		if part[name] = s[name]; part[name] == "" {
			return nil
		}
	}
	return part
}

// String is "NAME=ID,NAME=ID".
func (s Scope) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, name+"="+s[name])
	}
	return strings.Join(parts, ",")
}

// Owned reports whether the resource is ours and may exist. A refusal with a token is one of a name that was taken, perhaps by an
// attempt of ours whose answer was lost.
func (e *Entry) Owned() bool {
	return !e.Foreign && (e.State != Refused || e.At == nil || e.Token != "")
}

// Owner names the object that a ledger is of. It is in the ledger's namespace.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="owner is immutable"
type Owner struct {
	// kind of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// LedgerSpec is what is remembered.
type LedgerSpec struct {
	// owner is the object that the resources were made for.
	// +required
	Owner Owner `json:"owner,omitzero"`
	// ownerID is what everything that was made for it carries outside. It is short, because it has to fit into names where an
	// API has no tags, and it isn't the object's UID, which changes with `clusterctl move`.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=12
	OwnerID string `json:"ownerID"`
	// ownerUID is the UID of the object, for a ledger whose owner reference another client has taken away.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	OwnerUID string `json:"ownerUID,omitempty"`
	// home is the UID of the Namespace kube-system of the management cluster that may act on this ledger.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Home string `json:"home"`
	// credentials names what the resources were made with: NAMESPACE/NAME of one or more Secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Credentials []string `json:"credentials,omitempty"`
	// account is where the resources were made, of a service whose credentials lead to one of many: with those of another account all
	// that was made here looks gone.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Account string `json:"account,omitempty"`
	// released are the users' own resources that aren't in use any more, as KIND ID: the last 64, and what the owner shows.
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=512
	Released []string `json:"released,omitempty"`
	// closed: the owner is being deleted, and everything that was made for it is confirmed gone.
	// +optional
	Closed bool `json:"closed,omitempty"`
	// entries by key.
	// +optional
	// +listType=map
	// +listMapKey=key
	Entries []Entry `json:"entries,omitempty"`
}

// LedgerStatus counts entries, for people. It is written together with the spec.
type LedgerStatus struct {
	// bound is how many resources are known by ID.
	// +optional
	Bound int32 `json:"bound"`
	// pending is how many may exist, and are looked for.
	// +optional
	Pending int32 `json:"pending"`
}

// Ledger is what Bedplate remembers of the resources that it made outside Kubernetes for one object, or that it uses there.
// Bedplate alone writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ledgers,shortName=lg,scope=Namespaced,categories=ledgers
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io="}
// +kubebuilder:validation:XValidation:rule="self.spec.owner.kind.size() + self.spec.owner.name.size() > 252 || self.metadata.name == self.spec.owner.kind.lowerAscii() + '-' + self.spec.owner.name",fieldPath=".metadata",message="a ledger is named after its owner, so that an object has one: KIND-NAME in lower case"
// +kubebuilder:printcolumn:name="Kind",type="string",JSONPath=".spec.owner.kind",description="Kind of the object that it is of"
// +kubebuilder:printcolumn:name="Owner",type="string",JSONPath=".spec.owner.name",description="Name of the object that it is of"
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".spec.ownerID",description="What everything that was made for the object carries outside"
// +kubebuilder:printcolumn:name="Bound",type="integer",JSONPath=".status.bound",description="Resources that are known by ID"
// +kubebuilder:printcolumn:name="Pending",type="integer",JSONPath=".status.pending",description="Resources that may exist, and are looked for"
// +kubebuilder:printcolumn:name="Credentials",type="string",JSONPath=".spec.credentials",description="Secrets that they were made with",priority=1
// +kubebuilder:printcolumn:name="Home",type="string",JSONPath=".spec.home",description="UID of the Namespace kube-system of the management cluster that may act on it",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Ledger struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is what is remembered.
	// +required
	Spec LedgerSpec `json:"spec,omitzero"`

	// status counts the entries.
	// +optional
	Status LedgerStatus `json:"status,omitzero"`
}

// Entry under a key; nil where there is none.
func (l *Ledger) Entry(key string) *Entry {
	for i := range l.Spec.Entries {
		if l.Spec.Entries[i].Key == key {
			return &l.Spec.Entries[i]
		}
	}
	return nil
}

// Owns reports whether it names anything that is ours and may exist. No ledger does not.
func (l *Ledger) Owns() bool {
	if l == nil {
		return false
	}
	for i := range l.Spec.Entries {
		if l.Spec.Entries[i].Owned() {
			return true
		}
	}
	return false
}

// IsOf reports whether it is the ledger of the object with a UID, and not of one of its name that was before or is elsewhere. No copy
// is: the object's UID is written into a ledger where it is, by us or by `clusterctl move`. Where another client has taken our
// reference away, or has put its own in its place, it says itself whose it is.
func (l *Ledger) IsOf(owner types.UID) bool {
	if l == nil {
		return false
	}
	refers := false
	for _, r := range l.OwnerReferences {
		if r.UID == owner {
			return true
		}
		refers = refers || r.Kind == l.Spec.Owner.Kind && r.Name == l.Spec.Owner.Name
	}
	return !refers && owner != "" && l.Spec.OwnerUID == string(owner)
}

// Names reports whether an entry is that of a resource.
func (l *Ledger) Names(o OutsideID) bool {
	return slices.ContainsFunc(l.Spec.Entries, func(e Entry) bool { return e.Kind == o.Kind && e.ID == o.ID })
}

// LedgerList is a list of ledgers.
//
// +kubebuilder:object:root=true
type LedgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Ledger `json:"items"`
}

// OutsideID is an ID that spec or status of an object show of a resource, and what that lies in.
// +kubebuilder:object:generate=false
type OutsideID struct {
	Kind, ID string
	Scope    Scope
}

// String is for people.
func (o OutsideID) String() string { return o.Kind + " " + o.ID }

// maxName is how long the name of an object may be.
const maxName = 253

// Name of the ledger of an object.
func Name(kind, name string) string {
	full := strings.ToLower(kind) + "-" + name
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	hash := "-" + hex.EncodeToString(sum[:8])
	return strings.TrimRight(full[:maxName-len(hash)], "-.") + hash
}
