package cloudprovider

import (
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/httpclient"
)

// Reasons of the events that report a problem: first those of a node, then those of the site.
const (
	ReasonMalformedProviderID = "MalformedProviderID"
	ReasonForeignProviderID   = "ForeignProviderID"
	ReasonOtherSite           = "OtherSite"
	ReasonAmbiguous           = "AmbiguousInstance"
	ReasonUnknown             = "InstanceUnknown"
	ReasonNotFound            = "InstanceNotFound"
	// ReasonIncomplete is reported for a Node that can't be initialised yet.
	ReasonIncomplete = "InstanceIncomplete"
	// ReasonInstance is followed by the state of the instance: InstanceError, InstanceRepairing, InstanceTerminating, …
	ReasonInstance = "Instance"

	ReasonCredentials = "CredentialsRefused"
	ReasonAPI         = "BMMAPIUnavailable"
	// ReasonUnpublished is reported if instances are known from a management cluster only, and it has published
	// nothing.
	ReasonUnpublished = "InstancesNotPublished"
)

// problem is why nothing is known of the instance of a node, or of those of a whole site.
type problem struct {
	reason string
	ofSite bool
	err    error
}

// Error is what the event says.
func (t *problem) Error() string { return t.err.Error() }

// Unwrap returns the cause.
func (t *problem) Unwrap() error { return t.err }

// ofSite is a problem that all nodes have in common.
func ofSite(err error) *problem {
	if known, ok := errors.AsType[*problem](err); ok && known.ofSite {
		return known
	}
	reason := ReasonAPI
	if httpclient.Refused(err) {
		reason = ReasonCredentials
	}
	return &problem{reason: reason, ofSite: true, err: err}
}

// problems are reported as events when they start: once for each node, and once for the site if nothing is known of any
// node. They are remembered until they end, or their node is gone.
type problems struct {
	clock    clock.PassiveClock
	recorder record.EventRecorder
	// exists reports whether there still is a node: nothing is remembered of one that doesn't exist.
	exists func(*corev1.Node) bool

	mu    sync.Mutex
	nodes map[types.UID]nodeNotes
	site  string // the reason of the problem
	since time.Time
}

type nodeNotes struct {
	// problem is the reason why its instance isn't known or isn't well. What keeps a Node from being initialised is another
	// one: the next search for the instance doesn't end it.
	problem, incomplete string
	// sought is when the instance was first not found.
	sought time.Time
}

func newProblems(clock clock.PassiveClock) *problems {
	return &problems{
		clock: clock, recorder: &record.FakeRecorder{}, nodes: map[types.UID]nodeNotes{},
		exists: func(*corev1.Node) bool { return true },
	}
}

// note the result of a search for the instance of a node.
func (t *problems) note(node *corev1.Node, instance *bmm.Instance, err error) {
	if err == nil {
		err = ofState(instance)
	}
	found, _ := errors.AsType[*problem](err)
	if found != nil && found.ofSite {
		t.siteIs(found)
		return
	}
	t.nodeIs(node, found)
}

// nodeIs reports a new problem with a node's instance. Nil ends the last one.
func (t *problems) nodeIs(node *corev1.Node, now *problem) {
	t.tell(node, now, func(notes *nodeNotes) *string { return &notes.problem })
}

// initializes notes whether a node can be initialised.
func (t *problems) initializes(node *corev1.Node, err error) {
	var now *problem
	if err != nil {
		now = &problem{reason: ReasonIncomplete, err: fmt.Errorf("%w: until then the Node isn't initialised", err)}
	}
	t.tell(node, now, func(notes *nodeNotes) *string { return &notes.incomplete })
}

// tell reports a problem if it isn't the one that was noted.
func (t *problems) tell(node *corev1.Node, now *problem, noted func(*nodeNotes) *string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := t.nodes[node.UID]
	reason := ""
	if now != nil {
		reason = now.reason
	}
	before := noted(&notes)
	if *before == reason || now != nil && !t.exists(node) {
		return
	}
	*before = reason
	t.nodes[node.UID] = notes
	if now != nil {
		t.recorder.Event(node, corev1.EventTypeWarning, reason, now.Error())
	}
}

// lock is what the event of a site's problem is about: the Lease of the cloud controller manager. It has no node.
func lock() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: metav1.NamespaceSystem, Name: "cloud-controller-manager",
	}
}

func (t *problems) siteIs(now *problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.site == now.reason {
		return
	}
	t.site, t.since = now.reason, t.clock.Now()
	t.recorder.Event(lock(), corev1.EventTypeWarning, now.reason, now.Error()+"; until this is resolved no Node is deleted")
}

// siteAnswered ends the problem of the site, if a list began after it did: what is known from before proves nothing.
func (t *problems) siteAnswered(listed time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.site != "" && listed.After(t.since) {
		t.site = ""
	}
}

// soughtInVain returns how new a list must be in which a node's instance is searched for again. At first it has to be
// current, and newer than the node. A moment later it has to be newer than the first search, and from then on there is one
// in each interval. So all nodes that search at about the same time share a list.
func (t *problems) soughtInVain(node *corev1.Node, interval time.Duration) (since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, notes := t.clock.Now(), t.nodes[node.UID]
	if notes.sought.IsZero() {
		notes.sought = now
		if t.exists(node) {
			t.nodes[node.UID] = notes
		}
	}
	switch before := now.Add(-interval); {
	case now.Sub(notes.sought) < recent:
		since = notes.sought.Add(-recent)
		if created := node.CreationTimestamp.Time; created.After(since) && created.Before(notes.sought) {
			since = created
		}
		return since
	case before.After(notes.sought):
		return before
	}
	return notes.sought
}

// forget a node that is gone.
func (t *problems) forget(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.nodes, uid)
}
