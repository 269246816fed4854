package hostnetwork

import (
	"fmt"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

// Action is what a step does.
type Action string

// What exists once, in the order of the move. The journal gets the original before.
const (
	ReleaseOperator Action = "ReleaseOperator"
	StopOperator    Action = "StopOperator"
	MarkStopped     Action = "MarkStopped"
	DeleteWebhook   Action = "DeleteWebhook"
	KeepAway        Action = "KeepAway"
	WriteCopies     Action = "WriteCopies"
)

// Of a node.
const (
	Begin        Action = "Begin"
	Isolate      Action = "Isolate"
	ClearChassis Action = "ClearChassis"
	Enter        Action = "Enter"
	Switch       Action = "Switch"
	Unswitch     Action = "Unswitch"
	NoteUnclean  Action = "NoteUnclean"
	Return       Action = "Return"
	Release      Action = "Release"
	Forget       Action = "Forget"
)

// What exists once, on the way back.
const (
	DeleteCopies    Action = "DeleteCopies"
	LetBack         Action = "LetBack"
	RestoreWebhook  Action = "RestoreWebhook"
	StartOperator   Action = "StartOperator"
	RestoreOverride Action = "RestoreOverride"
	RemoveJournal   Action = "RemoveJournal"
)

// Step is one change, or one entry in the journal.
type Step struct {
	Action  Action
	Node    string               // empty: it exists once
	Phase   operatorv1.NodePhase // that the node enters
	Message string               // why
}

var texts = map[Action]string{
	ReleaseOperator: "enter Deployment openshift-network-operator/network-operator as unmanaged into the overrides of " +
		"ClusterVersion version; upgrades of the cluster are blocked meanwhile",
	StopOperator:  "scale Deployment openshift-network-operator/network-operator to 0",
	MarkStopped:   "note in the journal that the network operator has stopped",
	DeleteWebhook: "delete ValidatingWebhookConfiguration network-node-identity.openshift.io",
	KeepAway: "keep DaemonSet openshift-ovn-kubernetes/ovnkube-node away from nodes with the label dpf.nvidia.com/network-moved; " +
		"its Pods restart once",
	WriteCopies: "write DaemonSet ovnkube-node-dpf and ConfigMaps ovnkube-config-dpf and ovnkube-script-lib-dpf into " +
		"openshift-ovn-kubernetes",
	Begin: "note in the journal what the node was before",
	Isolate: "add the taint dpf.nvidia.com/network-not-ready:NoSchedule and the label dpf.nvidia.com/network-moved: " +
		"ovnkube-node leaves",
	ClearChassis: "remove the annotation k8s.ovn.org/node-chassis-id",
	Switch:       "remove the taint, add the label dpf.nvidia.com/network-preconfig-ready: ovnkube-node-dpf starts",
	Unswitch: "add the taint, remove the label dpf.nvidia.com/network-preconfig-ready, add the label dpf.nvidia.com/network-clean-up: " +
		"ovnkube-node-dpf leaves, and what the host network provisioner has made",
	NoteUnclean: "note in the journal that the clean-up after the host network provisioner hasn't ended in time",
	Return: "remove the labels dpf.nvidia.com/network-moved and dpf.nvidia.com/network-clean-up, restore the annotation k8s.ovn.org/node-chassis-id: " +
		"ovnkube-node starts",
	Release:         "remove the taint",
	Forget:          "remove the record of a node that is gone from the journal",
	DeleteCopies:    "delete DaemonSet ovnkube-node-dpf and its ConfigMaps",
	LetBack:         "restore the affinity of DaemonSet openshift-ovn-kubernetes/ovnkube-node",
	RestoreWebhook:  "restore ValidatingWebhookConfiguration network-node-identity.openshift.io",
	StartOperator:   "restore the replicas of Deployment openshift-network-operator/network-operator",
	RestoreOverride: "restore the overrides of ClusterVersion version",
	RemoveJournal:   "remove the journal",
}

// String says it to people.
func (s Step) String() string {
	text := texts[s.Action]
	if s.Action == Enter {
		text = fmt.Sprintf("note in the journal that the node is %s", s.Phase)
	}
	if s.Node == "" {
		return text
	}
	return "node " + s.Node + ": " + text
}
