// Package describe shows Krake's Clusters: where they are and why there, what they wait for, and their nodes. It asks nothing outside.
package describe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
)

// Kinds that can be described. Cluster API has a kind Cluster, too.
var Kinds = []describe.Kind{{
	Names: []string{"krake", "krc"}, Read: cluster,
	Shows: `a Cluster of Krake's: its cloud, and why it is that one; its infrastructure, with its machines, and the end
of its log if it has failed; and its nodes. Those that aren't well come first`,
}}

func cluster(ctx context.Context, c client.Client, namespace, name string) (*describe.Object, error) {
	object := &krakev1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("read Krake's Cluster %s/%s: %w", namespace, name, err)
	}
	outside, err := describe.Outside(ctx, c, krakev1.LedgerGroup, "Cluster", object)
	if err != nil {
		return nil, err
	}
	root := &describe.Object{
		Kind: "Cluster", Name: name, Conditions: slices.Clone(object.Status.Conditions), Outside: outside, Details: details(object),
	}
	slices.SortFunc(root.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	root.State = meta.FindStatusCondition(root.Conditions, krakev1.ReadyCondition)
	if root.State == nil { // not reconciled yet
		root.State = &metav1.Condition{Type: krakev1.ReadyCondition, Status: metav1.ConditionUnknown}
	}
	for _, n := range object.Status.Nodes {
		root.Children = append(root.Children, node(n))
	}
	return root, nil
}

func details(object *krakev1.Cluster) (all []describe.Detail) {
	status := object.Status
	say := func(name, text string, at *metav1.Time) {
		all = append(all, describe.Detail{Name: name, Text: text, Time: at})
	}
	if at := object.DeletionTimestamp; at != nil {
		say("deleted", "", at)
	}
	if object.Spec.Paused {
		say("paused", "", nil)
	}
	state := string(cmp.Or(status.State, "not known yet"))
	if status.Retries > 0 {
		state += fmt.Sprintf(", after %d retries", status.Retries)
	}
	say("state", state, nil)
	if status.Reason != nil { // its message is that of a condition
		say("reason", string(status.Reason.Code), nil)
	}
	if status.ScheduledTo != nil {
		all = append(all, placed(status)...)
	}
	return all
}

// placed is what there is to know of a Cluster that is bound to a cloud: why to that one, and what is there.
func placed(status krakev1.ClusterStatus) (all []describe.Detail) {
	say := func(name, text string, at *metav1.Time) {
		all = append(all, describe.Detail{Name: name, Text: text, Time: at})
	}
	say("cloud", status.ScheduledTo.String()+", chosen", status.ScheduledAt)
	if scheduled := meta.FindStatusCondition(status.Conditions, krakev1.ScheduledCondition); scheduled != nil {
		for verdict := range strings.SplitSeq(scheduled.Message, "; ") {
			say("  "+verdict, "", nil)
		}
	}
	if status.LastAppliedTOSCAHash != "" {
		say("template", "with the hash "+status.LastAppliedTOSCAHash[:min(12, len(status.LastAppliedTOSCAHash))]+" was applied last", nil)
	}
	for _, vm := range status.VMs {
		say("VM "+vm.ID, vm.State, nil)
	}
	if len(status.Log) > 0 {
		say("log of the infrastructure, its end", "", nil)
	}
	for _, line := range status.Log {
		say("  "+line, "", nil)
	}
	return all
}

// node with what isn't well of it.
func node(n krakev1.NodeStatus) *describe.Object {
	o := &describe.Object{Kind: "Node", Name: n.Name, State: &metav1.Condition{Type: krakev1.ReadyCondition, Status: metav1.ConditionUnknown}}
	for _, c := range n.Conditions {
		status := metav1.ConditionStatus(c.Status)
		switch {
		case c.Type == krakev1.ReadyCondition:
			o.State = &metav1.Condition{Type: c.Type, Status: status, Reason: c.Reason, Message: c.Message}
		case status == metav1.ConditionTrue: // all others say what is wrong
			o.Details = append(o.Details, describe.Detail{Name: c.Type, Text: c.Message})
		}
	}
	return o
}
