package machineapi

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/bedplate/bedplate/internal/graph"
)

// changedByOthers wakes a Machine for what others write, also in its status: which Node it has, and which API is responsible
// for it.
func changedByOthers() predicate.Predicate {
	status := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*machinev1.Machine).Status, e.ObjectNew.(*machinev1.Machine).Status
		return before.AuthoritativeAPI != after.AuthoritativeAPI || !equality.Semantic.DeepEqual(before.NodeRef, after.NodeRef)
	}}
	return predicate.Or(graph.ChangedByOthers(), predicate.Predicate(status))
}
