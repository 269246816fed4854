// Package journal keeps what was there before the network was moved, until it is back: in ConfigMaps without an owner, which outlive the
// operator and its DPFOperatorConfig. Each original is written before the first change of its object, and never again: what has been
// changed can't be taken for what was there before.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

// State is all that the journal says.
type State struct {
	Cluster Cluster
	Nodes   map[string]Node
}

// Empty says that nothing was changed yet, or that everything is back.
func (s State) Empty() bool { return s.Cluster == Cluster{} && len(s.Nodes) == 0 }

// Cluster has the originals of what exists once. One that is nil wasn't changed yet.
type Cluster struct {
	Override  *Override  `json:"override,omitempty"`
	Operator  *Operator  `json:"operator,omitempty"`
	Webhook   *Webhook   `json:"webhook,omitempty"`
	DaemonSet *DaemonSet `json:"daemonSet,omitempty"`
}

// Mark says whose original it is, and what has become of it.
type Mark struct {
	UID types.UID `json:"uid,omitempty"` // of the object; empty: there was none
	// Restored says that it was taken back. Note is what others have changed since, and so was left as it is.
	Restored bool   `json:"restored,omitempty"`
	Note     string `json:"note,omitempty"`
}

// Override is the network operator's entry in the overrides of the ClusterVersion.
type Override struct {
	Mark
	Entry *configv1.ComponentOverride `json:"entry,omitempty"` // nil: there was none
}

// Operator has the replicas of the network operator's Deployment.
type Operator struct {
	Mark
	Replicas int32 `json:"replicas"`
	Stopped  bool  `json:"stopped,omitempty"` // its last Pod was gone: if it runs again, others have started it
}

// Webhook is the whole configuration of the network node identity.
type Webhook struct {
	Mark
	Configuration *admissionregistrationv1.ValidatingWebhookConfiguration `json:"configuration,omitempty"` // nil: there was none
}

// DaemonSet has the affinity of the cluster's own ovn-kubernetes.
type DaemonSet struct {
	Mark
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
}

// Node is one node's record: its originals, and how far it is. Labels and taints of ours it had none: such a node isn't begun.
type Node struct {
	UID       types.UID `json:"uid"`
	ChassisID *string   `json:"chassisID,omitempty"` // the annotation; nil: there was none

	Sequence   int                  `json:"sequence"` // in which nodes were begun, and are taken back in reverse
	Phase      operatorv1.NodePhase `json:"phase"`
	Since      metav1.Time          `json:"since"`             // of the phase
	Generation int64                `json:"generation"`        // of the spec that it was begun with
	Unclean    bool                 `json:"unclean,omitempty"` // on its way back the clean-up hasn't ended in time
	Message    string               `json:"message,omitempty"` // why it is rolled back; what others have changed since
}

// Untouched says that nothing of the node differs from what it was before.
func (n Node) Untouched() bool {
	return n.Phase == operatorv1.NodeRestored || n.Phase == operatorv1.NodeFailed
}

// ErrOriginal is returned instead of overwriting an original.
var ErrOriginal = errors.New("the journal has the original already: what is there now was changed since")

// keeps says whether each original of before is in after. One that was taken back may not be written again either: a new move begins
// with a new journal.
func (c Cluster) keeps(before Cluster) error {
	type pair struct{ before, after any }
	originals := []pair{
		{before.Override, c.Override}, {before.Operator, c.Operator}, {before.Webhook, c.Webhook}, {before.DaemonSet, c.DaemonSet},
	}
	for _, p := range originals {
		was, is := original(p.before), original(p.after)
		if was != nil && !equality.Semantic.DeepEqual(was, is) {
			return ErrOriginal
		}
	}
	return nil
}

// original is the part of an entry that never changes; nil: there is none.
func original(entry any) any {
	switch e := entry.(type) {
	case *Override:
		if e != nil {
			return Override{Mark: Mark{UID: e.UID}, Entry: e.Entry}
		}
	case *Operator:
		if e != nil {
			return Operator{Mark: Mark{UID: e.UID}, Replicas: e.Replicas}
		}
	case *Webhook:
		if e != nil {
			return Webhook{Mark: Mark{UID: e.UID}, Configuration: e.Configuration}
		}
	case *DaemonSet:
		if e != nil {
			return DaemonSet{Mark: Mark{UID: e.UID}, Affinity: e.Affinity}
		}
	}
	return nil
}

// keeps says whether a node's original is still there. One that has got everything back may be begun again.
func (n Node) keeps(before Node) error {
	if before.Untouched() {
		return nil
	}
	if n.UID != before.UID || !equality.Semantic.DeepEqual(n.ChassisID, before.ChassisID) || n.Sequence != before.Sequence {
		return ErrOriginal
	}
	return nil
}

// maxRecord is longer than any record that is written.
const maxRecord = 900 << 10

// decode one record. What can't be read is an error, never nothing: an unknown field is of a later version.
func decode[T any](text string) (record T, err error) {
	if len(text) > maxRecord {
		return record, fmt.Errorf("a record has %d bytes, more than %d", len(text), maxRecord)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&record); err != nil {
		return record, fmt.Errorf("a record can't be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return record, errors.New("a record can't be read: there is more after it")
	}
	return record, nil
}

// decodeNode is strict: a record without a UID or with an unknown phase is no record.
func decodeNode(text string) (Node, error) {
	node, err := decode[Node](text)
	if err != nil {
		return node, err
	}
	if node.UID == "" {
		return node, errors.New("a node's record has no UID")
	}
	switch node.Phase {
	case operatorv1.NodeIsolated, operatorv1.NodeProvisioning, operatorv1.NodeSwitching, operatorv1.NodeReady,
		operatorv1.NodeRollingBack, operatorv1.NodeRestored, operatorv1.NodeFailed:
		return node, nil
	}
	return node, fmt.Errorf("a node's record has the phase %q", node.Phase)
}
