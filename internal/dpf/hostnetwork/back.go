package hostnetwork

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// back goes the way back: the nodes in reverse, then what exists once, last of all the override.
func (d *decision) back() {
	busy, left := 0, 0
	names := bySequence(d.s)
	slices.Reverse(names)
	for _, name := range names {
		if d.s.Nodes[name].Phase == operatorv1.NodeRollingBack {
			busy++
		}
	}
	for _, name := range names {
		record := d.s.Nodes[name]
		// One that is marked all the same was taken for restored by an old cache or an old journal, which has its originals still.
		if node := d.f.Nodes[name]; record.Untouched() && (!node.marked() || node.UID != record.UID) {
			continue
		}
		left++
		switch {
		case record.Phase == operatorv1.NodeRollingBack || d.f.Nodes[name].UID != record.UID:
			d.node(name)
		case busy < d.f.MaxUnavailable:
			busy++
			d.enter(name, operatorv1.NodeRollingBack, "")
		default:
			d.Says[name] = "it waits for its turn to get its network back"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.f.Nodes)) {
		if _, recorded := d.s.Nodes[name]; !recorded && d.f.Nodes[name].marked() && d.Problem == "" { // ovnkube-node wouldn't run there
			d.Problem = "node " + name + ": " + unknownMark
		}
	}
	if left == 0 && d.Problem == "" {
		d.clusterBack()
	}
}

func (d *decision) clusterBack() {
	c := d.s.Cluster
	switch {
	case d.lost():
	case d.s.Empty():
		d.Done = true
	case d.f.CopiesPresent:
		d.do(DeleteCopies)
	case c.DaemonSet != nil && !c.DaemonSet.Restored:
		d.do(LetBack)
	case c.Webhook != nil && !c.Webhook.Restored:
		d.do(RestoreWebhook)
	case c.Operator != nil && !c.Operator.Restored:
		d.do(StartOperator)
	case c.Override != nil && !c.Override.Restored:
		d.do(RestoreOverride)
	default:
		d.do(RemoveJournal)
	}
}

// rollBack a node. It waits for Pods no longer than for those of the move: a kubelet that is dead holds up nothing.
func (d *decision) rollBack(name string, node Node) {
	record := d.s.Nodes[name]
	late := d.late(record)
	switch {
	case node.Moved && (node.Preconfigured || !node.Tainted || !node.CleanUp):
		d.doTo(name, Unswitch)
	case node.Moved && node.Custom != NoPod && !late:
		d.Says[name] = "its Pod of ovnkube-node-dpf isn't gone"
	case node.Moved && node.CleanedUp != Ready && !late:
		d.Says[name] = "its Pod of the host network provisioner's clean-up isn't ready"
	case node.Moved && node.CleanedUp != Ready && !record.Unclean:
		d.doTo(name, NoteUnclean)
	case node.Moved || node.CleanUp:
		d.doTo(name, Return)
	case node.Preconfigured:
		d.doTo(name, Unswitch)
	case node.Stock != Ready && !late:
		d.Says[name] = "its Pod of ovnkube-node isn't ready"
	case node.Tainted:
		d.doTo(name, Release)
	case record.Message != "" && d.f.Want:
		d.enter(name, operatorv1.NodeFailed, strings.Join(append([]string{record.Message}, unclean(record)...), "; "))
	default:
		said := unclean(record)
		if node.Stock != Ready {
			said = append(said, "its Pod of ovnkube-node isn't ready")
		}
		if len(said) > 0 {
			said[0] = "node " + name + " has everything back, but " + said[0]
		}
		d.enter(name, operatorv1.NodeRestored, strings.Join(said, "; "))
	}
}

// unclean is what isn't known of a node whose clean-up didn't end in time.
func unclean(record journal.Node) (said []string) {
	if record.Unclean {
		said = []string{"it isn't known whether the address and the route of the host network provisioner are gone: reboot it, or look there"}
	}
	return said
}

// What follows says of each original what it takes to restore it. A note is what others have changed since: that is left.

func affinityBack(now *corev1.Affinity, c journal.Cluster) (wanted *corev1.Affinity, note string) {
	original := c.DaemonSet.Affinity
	if equality.Semantic.DeepEqual(now, keepAway(original)) || equality.Semantic.DeepEqual(now, original) {
		return original, ""
	}
	return letBack(now), "the affinity of DaemonSet openshift-ovn-kubernetes/ovnkube-node was changed by others, and keeps that"
}

func webhookBack(now *admissionregistrationv1.ValidatingWebhookConfiguration, c journal.Cluster) (create bool, note string) {
	original := c.Webhook.Configuration
	switch {
	case now == nil:
		return original != nil, ""
	case original == nil:
		return false, "ValidatingWebhookConfiguration network-node-identity.openshift.io was created by others, and stays"
	case !equality.Semantic.DeepEqual(now.Webhooks, original.Webhooks):
		return false, "ValidatingWebhookConfiguration network-node-identity.openshift.io was created again by others, and keeps their webhooks"
	}
	return false, ""
}

func replicasBack(now *int32, c journal.Cluster) (scale bool, note string) {
	original := c.Operator.Replicas
	switch {
	case now == nil:
		return false, "Deployment openshift-network-operator/network-operator was deleted by others"
	case *now == original:
		return false, ""
	case *now == 0:
		return true, ""
	}
	return false, "Deployment openshift-network-operator/network-operator was scaled by others, and keeps its replicas"
}

func overrideBack(now *configv1.ComponentOverride, c journal.Cluster) (change bool, note string) {
	original := c.Override.Entry
	switch {
	case equality.Semantic.DeepEqual(now, original):
		return false, ""
	case now != nil && now.Unmanaged:
		return true, ""
	}
	return false, "the entry of the network operator in the overrides of ClusterVersion version was changed by others, and stays so"
}

// Reports are what others have changed since, and so was left as it is.
func Reports(s journal.State) (reports []string) {
	note := func(m journal.Mark) {
		if m.Note != "" {
			reports = append(reports, m.Note)
		}
	}
	for _, name := range bySequence(s) {
		switch record := s.Nodes[name]; {
		case record.Phase == operatorv1.NodeRestored && record.Message != "":
			reports = append(reports, record.Message)
		case record.Phase == operatorv1.NodeFailed && record.Unclean:
			reports = append(reports, "node "+name+": "+unclean(record)[0])
		}
	}
	c := s.Cluster
	if c.DaemonSet != nil {
		note(c.DaemonSet.Mark)
	}
	if c.Webhook != nil {
		note(c.Webhook.Mark)
	}
	if c.Operator != nil {
		note(c.Operator.Mark)
	}
	if c.Override != nil {
		note(c.Override.Mark)
	}
	return reports
}
