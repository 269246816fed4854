package bmmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/optest"
)

// callsAtRest and reconcilesAtRest are what an object, and what it needs, may cause in a poll interval: a reconcile reads each of up to
// nine resources, and a cluster is reconciled in most intervals while its group isn't known to be in effect.
const callsAtRest, reconcilesAtRest = 9, 3

// owner is written instead of the ID of an object that something was made for.
const owner = "OWNER"

// World of the operations suite: the provider, and an object that isn't created yet.
func (f *Fixture) World(object client.Object) *optest.World {
	world := f.Fixture.World(object, f.look)
	world.Poll, world.CallsAtRest, world.ReconcilesAtRest = Poll, callsAtRest, reconcilesAtRest
	return world
}

// kinds are those of the site's state.
var kinds = []string{"ipBlocks", "allocations", "networkSecurityGroups", "vpcs", "subnets", "vpcPrefixes", "vpcPeerings", "instances"}

// chosen is what the service chooses by itself, or what follows from the time.
var chosen = []string{
	"id", "bedplate-token", "vni", "ipv4Prefix", "ipv4Gateway", "ipAddresses", "macAddress", "machineId", "statusHistory", "attachmentStats",
	"networkSecurityGroupPropagationDetails", "conditions", "cidr", "addresses", "machineID",
}

// look at all that exists at the site, in a form that is the same at another one, and at what a status shows of it. A create that is at
// work isn't seen as moving: one that is refused is repeated for ever. Nor is it seen which groups the site applies: it loses them after
// changes, and gets them again some time later.
func (f *Fixture) look(status map[string]any) (all []string, moving bool) {
	state := f.Sim.State()
	objects, names := objectsOf(state), optest.Names{}
	for kind, of := range objects {
		for _, o := range of {
			name := fmt.Sprint(o["name"])
			if dash := strings.LastIndex(name, "-"); ledgers.IsOwnerID(name[dash+1:]) {
				names[name[dash+1:]] = owner
				name = name[:dash]
			}
			if labels, ok := o["labels"].(map[string]any); ok && labels[tag.LabelOwner] != nil {
				labels[tag.LabelOwner] = owner
			}
			names[fmt.Sprint(o["id"])] = kind + " " + name
			moving = moving || !slices.Contains([]string{"Ready", "Registered", "Error"}, fmt.Sprint(o["status"]))
		}
	}
	for kind, of := range objects {
		for _, o := range of {
			if kind == "vpcPrefixes" || kind == "ipBlocks" && o["tenantId"] != nil { // the service chooses the range
				delete(o, "prefix")
			}
			all = append(all, names.Text(kind, o, chosen...))
		}
	}
	if status != nil {
		all = append(all, names.Text("status", status, chosen...))
	}
	return all, moving
}

// objectsOf a state, as JSON, by kind.
func objectsOf(state sim.State) map[string][]map[string]any {
	all := map[string][]map[string]any{}
	data, _ := json.Marshal(state)
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(data, &parts) // it was JSON just now
	for _, kind := range kinds {
		var objects []map[string]any
		_ = json.Unmarshal(parts[kind], &objects)
		all[kind] = objects
	}
	return all
}
