package hostnetwork

import (
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// Facts are what the next steps are decided by, beside the journal.
type Facts struct {
	Now, Awake     time.Time // Awake: since when the network is looked after
	Want           bool      // the network is to be on the DPUs; otherwise where it was before
	Generation     int64     // of the spec
	MaxUnavailable int
	Timeout        time.Duration // of a phase

	// Problem is why nothing may be begun: ovn-kubernetes of this release isn't understood, or something is missing.
	Problem    string
	VersionUID types.UID
	Marked     bool                        // the cluster was changed: there was a journal
	Override   *configv1.ComponentOverride // nil: there is none

	OperatorUID  types.UID
	Operator     *int32 // replicas that are wanted; nil: there is no Deployment
	OperatorPods int32

	Webhook *admissionregistrationv1.ValidatingWebhookConfiguration // nil: there is none

	StockUID types.UID
	Affinity *corev1.Affinity // of the cluster's own ovn-kubernetes
	Rollout  string           // what is waited for until all of its Pods are of its template

	CopiesPresent, CopiesCurrent bool

	Hosts []operatorv1.Host // of the spec, in the order in which they are moved
	Nodes map[string]Node   // of the host cluster
}

// Node is what was seen of a node.
type Node struct {
	UID                           types.UID
	DPU                           bool // by NFD's label
	Tainted, Moved, Preconfigured bool
	CleanUp                       bool // the provisioner leaves, and what it has made
	ChassisID                     *string
	Stock, Custom, Provisioner    Pod
	CleanedUp                     Pod       // is ready when nothing is left of what the provisioner has made
	DPUSide                       Readiness // of a node that is Provisioning
}

// marked says that a node has something of ours.
func (n Node) marked() bool { return n.Tainted || n.Moved || n.Preconfigured || n.CleanUp }

// switched says that a node is as it should be when its network is on its DPU.
func (n Node) switched() bool { return !n.Tainted && n.Moved && n.Preconfigured && !n.CleanUp }

// isolated says that a node is as it should be before.
func (n Node) isolated() bool { return n.Tainted && n.Moved && !n.CleanUp }

// Pod is that of a DaemonSet on a node.
type Pod int

// A Pod that is being deleted is NotReady.
const (
	NoPod Pod = iota
	NotReady
	Ready
)

// Readiness says whether something is ready, or what it waits for.
type Readiness struct {
	Ready bool
	Why   string
}

// bySequence are the names of nodes with records, in the order in which they were begun.
func bySequence(state journal.State) []string {
	return slices.SortedFunc(maps.Keys(state.Nodes), func(a, b string) int {
		return state.Nodes[a].Sequence - state.Nodes[b].Sequence
	})
}
