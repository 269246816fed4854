package cluster

import (
	"cmp"
	"slices"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// vmsOf an infrastructure for its status: first those that aren't configured, in the order of their numbers.
func vmsOf(states map[string]im.State) (vms []krakev1.VMStatus) {
	for id, state := range states {
		if id != "" && len(id) <= krakev1.MaxVMID { // IM's are numbers
			vms = append(vms, krakev1.VMStatus{ID: id, State: string(state)})
		}
	}
	well := func(vm krakev1.VMStatus) int {
		if vm.State == string(im.Configured) {
			return 1
		}
		return 0
	}
	slices.SortFunc(vms, func(a, b krakev1.VMStatus) int {
		return cmp.Or(well(a)-well(b), len(a.ID)-len(b.ID), cmp.Compare(a.ID, b.ID))
	})
	return vms[:min(len(vms), krakev1.MaxVMs)]
}
