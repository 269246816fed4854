// Package hostnetwork moves the network of a cluster's workers onto their DPUs, node by node, and back. Each reconcile looks at the host
// cluster and the journal, takes the next steps, and says what it waits for: no worker waits.
package hostnetwork

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

const (
	defaultTimeout = 15 * time.Minute // as the CRD has it
	callsTimeout   = time.Minute      // of one reconcile
	dpuTimeout     = 10 * time.Second // of what is asked of DPU clusters in one reconcile
	// soon is when the next step is taken: a cache usually has the last one by then.
	soon = 50 * time.Millisecond
	// poll is when what is waited for is looked at again, if no watch says earlier that it has changed.
	poll       = 10 * time.Second
	maxMessage = 512 // of a node's status
	// atOnce are taken in one reconcile: each is a call, and all have to fit into its time.
	atOnce = 100
)

// Timeout of what is waited for on a node, or on a DPU.
func Timeout(config *operatorv1.DPFOperatorConfig) time.Duration {
	if network := config.Spec.HostNetworkConfiguration; network != nil && network.NodeTimeout.Duration > 0 {
		return network.NodeTimeout.Duration
	}
	return defaultTimeout
}

// Move is how the network is moved. All fields are required.
type Move struct {
	// Client of the host cluster. It may read a cache: what it writes is under optimistic locks.
	Client client.Client
	// Uncached reads the journal, and what is to be recorded in it: a cache may not.
	Uncached client.Reader
	// DPUSide says whether the Pod of the DPU CNI provisioner on a host's DPU is ready.
	DPUSide func(context.Context, operatorv1.Host) (Readiness, error)
	// Provisioner are the Pods of the host network provisioner.
	Provisioner Pods
	// CleanUp are the Pods that take away what that has made, on nodes with the label for it. They are ready when nothing is left.
	CleanUp Pods
	// Now is the time.
	Now func() time.Time
}

// Pods are in a namespace, and have all of the labels.
type Pods struct {
	Namespace string
	Labels    map[string]string
}

// Result of a reconcile.
type Result struct {
	// Nodes that have a DPU, or whose network is moved, for the status.
	Nodes []operatorv1.NodeStatus
	// Condition is HostNetworkConfigured, or Restored where the network is to be as it was before.
	Condition metav1.Condition
	// RequeueAfter is when the next step is due. 0: never, if nothing changes.
	RequeueAfter time.Duration
	// Done says that everything is as it should be: all nodes on their DPUs, or nothing left of the move.
	Done bool
	// Reports are what others have changed since, and so was left as it is.
	Reports []string
}

// Reconcile takes the next steps: to the DPUs, or back where the configuration is being deleted or has no hostNetworkConfiguration. A
// conflict is returned as such: another client has written, and the step is decided once more. Awake is since when the network is looked
// after: a node isn't late because of a time in which that was paused, or in which no operator ran.
func (m Move) Reconcile(ctx context.Context, config *operatorv1.DPFOperatorConfig, awake time.Time) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callsTimeout)
	defer cancel()
	o, err := m.observe(ctx, config, awake)
	if err != nil {
		return Result{}, err
	}
	state := o.journal.State()
	decision := Decide(o.Facts, state)
	decision.Steps = decision.Steps[:min(len(decision.Steps), atOnce)]
	reports := Reports(state)
	err = m.apply(ctx, o, decision.Steps)
	result := Result{Reports: reports, Done: decision.Done, RequeueAfter: poll}
	switch {
	case len(decision.Steps) > 0 && decision.Steps[0].Action == RemoveJournal && err == nil:
		result.Done, result.RequeueAfter = true, 0
	case len(decision.Steps) > 0:
		result.RequeueAfter = soon
	case decision.Done:
		result.RequeueAfter = 0
	}
	result.Nodes = statuses(o.Facts, o.journal.State(), decision)
	result.Condition = condition(o.Want, decision, result)
	return result, err
}

// Plan returns all steps that would be taken if everything that is waited for came to pass. It writes nothing.
func (m Move) Plan(ctx context.Context, config *operatorv1.DPFOperatorConfig) (steps []Step, problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callsTimeout)
	defer cancel()
	o, err := m.observe(ctx, config, m.Now())
	if err != nil {
		return nil, "", err
	}
	steps, problem = plan(o.Facts, o.journal.State())
	return steps, problem, nil
}

// Left is what the journal says isn't as it was before: a configuration that is abandoned leaves it so. Without anything left the
// components of the network go, and another move waits for its prerequisites: a cache may not say that.
func (m Move) Left(ctx context.Context) (left []string, err error) {
	j, err := journal.Load(ctx, m.Uncached, m.Client, ovnNamespace)
	if err != nil {
		return nil, err
	}
	state := j.State()
	names := bySequence(state)
	slices.Reverse(names)
	for _, name := range names {
		if record := state.Nodes[name]; !record.Untouched() {
			left = append(left, fmt.Sprintf("node %s is %s", name, record.Phase))
		}
	}
	c := state.Cluster
	if c.DaemonSet != nil && !c.DaemonSet.Restored {
		left = append(left, "the affinity of DaemonSet openshift-ovn-kubernetes/ovnkube-node, and its copy ovnkube-node-dpf")
	}
	if c.Webhook != nil && !c.Webhook.Restored {
		left = append(left, "ValidatingWebhookConfiguration network-node-identity.openshift.io")
	}
	if c.Operator != nil && !c.Operator.Restored {
		left = append(left, "the replicas of Deployment openshift-network-operator/network-operator")
	}
	if c.Override == nil {
		lost, err := m.marked(ctx)
		if err != nil {
			return nil, err
		}
		if lost {
			left = append(left, "what of the network isn't known, since its journal is lost")
		}
	} else if !c.Override.Restored {
		left = append(left, "the entry of the network operator in the overrides of ClusterVersion version")
	}
	if len(left) == 0 && !state.Empty() {
		left = []string{"the journal of the network"}
	}
	return left, nil
}

// statuses of all nodes that the move is about, by their names.
func statuses(f Facts, s journal.State, d Decision) []operatorv1.NodeStatus {
	listed := map[string]bool{}
	for _, host := range f.Hosts {
		listed[string(host.HostClusterNodeName)] = true
	}
	names := maps.Clone(listed)
	for name, node := range f.Nodes {
		if node.DPU && f.Want {
			names[name] = true
		}
	}
	for name := range s.Nodes {
		names[name] = true
	}
	var all []operatorv1.NodeStatus
	for _, name := range slices.Sorted(maps.Keys(names)) {
		record, recorded := s.Nodes[name]
		if !recorded && !f.Want {
			continue
		}
		status := operatorv1.NodeStatus{Name: name, Phase: operatorv1.NodePending, Message: d.Says[name]}
		if recorded {
			status.Phase, status.Since = record.Phase, &record.Since
		}
		if status.Message == "" {
			status.Message = record.Message
		}
		status.Message = status.Message[:min(len(status.Message), maxMessage)]
		all = append(all, status)
	}
	return all[:min(len(all), operatorv1.MaxHosts)]
}

func condition(want bool, d Decision, r Result) metav1.Condition {
	kind, phase, done := operatorv1.HostNetworkConfiguredCondition, operatorv1.NodeReady, "the network of %d nodes is on their DPUs"
	if !want {
		kind, phase, done = operatorv1.RestoredCondition, operatorv1.NodeRestored, "the network is as it was before"
	}
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: operatorv1.ReasonPending}
	reached := 0
	var says []string
	for _, node := range r.Nodes {
		if node.Phase == phase || !want && node.Phase == operatorv1.NodeFailed {
			reached++
		}
		if node.Message != "" && len(says) < 5 {
			says = append(says, fmt.Sprintf("node %s is %s: %s", node.Name, node.Phase, node.Message))
		}
	}
	switch {
	case d.Problem != "":
		c.Reason, c.Message = operatorv1.ReasonFailure, d.Problem
	case r.Done && want:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, operatorv1.ReasonSuccess, fmt.Sprintf(done, reached)
	case r.Done:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, operatorv1.ReasonSuccess, strings.Join(append([]string{done}, r.Reports...), "; ")
	default:
		c.Message = fmt.Sprintf("%d of %d nodes are %s", reached, len(r.Nodes), phase)
		if d.Waiting != "" {
			says = append([]string{"waits: " + d.Waiting}, says...)
		}
		for _, step := range d.Steps[:min(len(d.Steps), 1)] {
			says = append(says, "next: "+step.String())
		}
		c.Message = strings.Join(append([]string{c.Message}, says...), "; ")
	}
	return c
}
