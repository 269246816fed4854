package hostnetwork

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// away keeps Pods from nodes whose network is moved.
var away = corev1.NodeSelectorRequirement{Key: operatorv1.NetworkMovedLabel, Operator: corev1.NodeSelectorOpDoesNotExist}

func isAwayRequirement(r corev1.NodeSelectorRequirement) bool {
	return equality.Semantic.DeepEqual(r, away)
}

// keepAway adds the requirement to every term: one is enough for a Pod. A term without requirements matches no node; with ours it would
// match nearly all.
func keepAway(affinity *corev1.Affinity) *corev1.Affinity {
	edited := ptr.To(ptr.Deref(affinity, corev1.Affinity{})).DeepCopy()
	if edited.NodeAffinity == nil {
		edited.NodeAffinity = &corev1.NodeAffinity{}
	}
	if edited.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		edited.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{away}}},
		}
		return edited
	}
	terms := edited.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		empty := len(terms[i].MatchExpressions) == 0 && len(terms[i].MatchFields) == 0
		if !empty && !slices.ContainsFunc(terms[i].MatchExpressions, isAwayRequirement) {
			terms[i].MatchExpressions = append(terms[i].MatchExpressions, away)
		}
	}
	return edited
}

// isAway says that keepAway has nothing to add.
func isAway(affinity *corev1.Affinity) bool {
	return affinity != nil && equality.Semantic.DeepEqual(keepAway(affinity), affinity)
}

// letBack takes out what keepAway adds, and leaves the rest as it is.
func letBack(affinity *corev1.Affinity) *corev1.Affinity {
	if !mentionsAway(affinity) {
		return affinity
	}
	edited := affinity.DeepCopy()
	required := edited.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	var terms []corev1.NodeSelectorTerm
	for _, term := range required.NodeSelectorTerms {
		was := len(term.MatchExpressions)
		term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, isAwayRequirement)
		if was > 0 && len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
			continue // it was ours alone
		}
		terms = append(terms, term)
	}
	required.NodeSelectorTerms = terms
	if len(terms) == 0 {
		edited.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	if equality.Semantic.DeepEqual(edited.NodeAffinity, &corev1.NodeAffinity{}) {
		edited.NodeAffinity = nil
	}
	if equality.Semantic.DeepEqual(edited, &corev1.Affinity{}) {
		return nil
	}
	return edited
}

func mentionsAway(affinity *corev1.Affinity) bool {
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, isAwayRequirement)
	})
}

// released is the override that lets the cluster-version-operator leave the network operator alone.
var released = configv1.ComponentOverride{
	Group: "apps", Kind: "Deployment", Namespace: operatorNamespace, Name: operatorName, Unmanaged: true,
}

func ofNetworkOperator(o configv1.ComponentOverride) bool {
	o.Unmanaged = true
	return o == released
}

// override returns the network operator's entry; nil: there is none.
func override(version *configv1.ClusterVersion) *configv1.ComponentOverride {
	if i := slices.IndexFunc(version.Spec.Overrides, ofNetworkOperator); i >= 0 {
		return ptr.To(version.Spec.Overrides[i])
	}
	return nil
}

// mark the ClusterVersion in its first change, until its last one: without the journal it says that this isn't the original.
func mark(version *configv1.ClusterVersion) {
	metav1.SetMetaDataAnnotation(&version.ObjectMeta, journal.Label, ovnNamespace)
}

func unmark(version *configv1.ClusterVersion) { delete(version.Annotations, journal.Label) }

func marked(version *configv1.ClusterVersion) bool {
	return version != nil && metav1.HasAnnotation(version.ObjectMeta, journal.Label)
}

// setOverride replaces the network operator's entry; nil removes it.
func setOverride(version *configv1.ClusterVersion, entry *configv1.ComponentOverride) {
	i := slices.IndexFunc(version.Spec.Overrides, ofNetworkOperator)
	switch {
	case i >= 0 && entry != nil:
		version.Spec.Overrides[i] = *entry
	case i >= 0:
		version.Spec.Overrides = slices.Delete(version.Spec.Overrides, i, i+1)
	case entry != nil:
		version.Spec.Overrides = append(version.Spec.Overrides, *entry)
	}
}

var notReady = corev1.Taint{Key: operatorv1.NetworkNotReadyTaint, Effect: corev1.TaintEffectNoSchedule}

func isOurTaint(t corev1.Taint) bool { return t.MatchTaint(&notReady) }

func tainted(node *corev1.Node) bool { return slices.ContainsFunc(node.Spec.Taints, isOurTaint) }

// editNode makes of a node what a step asks for. Maps are its own: the node is a copy.
func editNode(node *corev1.Node, action Action, chassisID *string) {
	taint := func() {
		if !tainted(node) {
			node.Spec.Taints = append(node.Spec.Taints, notReady)
		}
	}
	untaint := func() { node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isOurTaint) }
	label := func(name string) {
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[name] = ""
	}
	switch action {
	case Isolate:
		taint()
		label(operatorv1.NetworkMovedLabel)
		delete(node.Labels, operatorv1.NetworkCleanUpLabel)
	case ClearChassis:
		delete(node.Annotations, operatorv1.ChassisIDAnnotation)
	case Switch:
		untaint()
		label(operatorv1.NetworkMovedLabel)
		label(operatorv1.NetworkPreconfigReadyLabel)
		delete(node.Labels, operatorv1.NetworkCleanUpLabel)
	case Unswitch:
		taint()
		delete(node.Labels, operatorv1.NetworkPreconfigReadyLabel)
		label(operatorv1.NetworkCleanUpLabel)
	case Return:
		delete(node.Labels, operatorv1.NetworkMovedLabel)
		delete(node.Labels, operatorv1.NetworkCleanUpLabel)
		delete(node.Annotations, operatorv1.ChassisIDAnnotation)
		if chassisID != nil {
			if node.Annotations == nil {
				node.Annotations = map[string]string{}
			}
			node.Annotations[operatorv1.ChassisIDAnnotation] = *chassisID
		}
	case Release:
		untaint()
	}
}
