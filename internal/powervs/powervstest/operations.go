package powervstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/optest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// callsAtRest and reconcilesAtRest are what an object, and what it needs, may cause in a poll interval.
const callsAtRest, reconcilesAtRest = 12, 3

// World of the operations suite: the provider, and an object that isn't created yet.
func (f *Fixture) World(object client.Object) *optest.World {
	world := f.Fixture.World(object, f.look)
	world.Poll, world.CallsAtRest, world.ReconcilesAtRest = Poll, callsAtRest, reconcilesAtRest
	return world
}

// look at all that exists in the account, in a form that is the same in another one, and at what a status shows of it.
func (f *Fixture) look(status map[string]any) (all []string, moving bool) {
	state, names := f.Cloud.State(), optest.Names{}
	for kind, items := range state {
		for _, item := range items {
			names[item.ID] = string(kind) + " " + NameOf(item.Name)
		}
	}
	for kind, items := range state {
		for _, item := range items {
			if item.Record {
				continue
			}
			moving = moving || item.Moving
			var detail any
			_ = json.Unmarshal([]byte(item.Detail), &detail) // none, or JSON
			if kind == sim.KindLoadBalancer {
				unordered(detail, names)
			}
			all = append(all, names.Text(string(kind), map[string]any{
				"name": names[item.ID], "within": item.Within, "status": item.Status, "detail": detail,
			}))
		}
	}
	if status != nil {
		all = append(all, names.Text("status", status, "hostname", "conditions", "jobID"))
	}
	return all, moving
}

// unordered has what a load balancer is in by names: the order in which it was put into its subnets is another in each world.
func unordered(balancer any, names optest.Names) {
	fields, _ := balancer.(map[string]any)
	for _, field := range []string{"subnets", "groups"} {
		ids, _ := fields[field].([]any)
		slices.SortFunc(ids, func(a, b any) int { return cmp.Compare(names[fmt.Sprint(a)], names[fmt.Sprint(b)]) })
	}
}
