package bmmtest

import (
	"encoding/json"
	"fmt"
	"slices"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/optest"
)

// callsAtRest and reconcilesAtRest are what an object, and what it needs, may cause in a poll interval.
const callsAtRest, reconcilesAtRest = 6, 4

// World of the operations suite: the provider, and an object that isn't created yet.
func (f *Fixture) World(object client.Object) *optest.World {
	return &optest.World{
		Client: f.Client, Object: object, Outside: f.outside, Moving: f.moving,
		Calls: func() (sum int) {
			for _, n := range f.Sim.Calls() {
				sum += n
			}
			return sum
		},
		Reconciles: f.Reconciles.Count,
		Poll:       Poll, CallsAtRest: callsAtRest, ReconcilesAtRest: reconcilesAtRest,
	}
}

// kinds are those of the site's state.
var kinds = []string{"ipBlocks", "allocations", "networkSecurityGroups", "vpcs", "subnets", "vpcPrefixes", "vpcPeerings", "instances"}

// chosen is what the service chooses by itself, or what follows from the time.
var chosen = []string{
	"id", "bedplate-token", "vni", "ipv4Prefix", "ipv4Gateway", "ipAddresses", "macAddress", "machineId", "statusHistory", "attachmentStats",
	"networkSecurityGroupPropagationDetails", "conditions", "cidr", "addresses", "machineID",
}

// outside is all that exists at the site, in a form that is the same at another one, and what the statuses show of it.
func (f *Fixture) outside() (all []string) {
	state := f.Sim.State()
	objects, names := objectsOf(state), f.names()
	owners := names.Replacer()
	for _, kind := range kinds {
		for _, o := range objects[kind] {
			names[fmt.Sprint(o["id"])] = owners.Replace(fmt.Sprint(kind, " ", o["name"]))
		}
	}
	for _, kind := range kinds {
		for _, o := range objects[kind] {
			if kind == "vpcPrefixes" || kind == "ipBlocks" && o["tenantId"] != nil { // the service chooses the range
				delete(o, "prefix")
			}
			all = append(all, names.Text(kind, o, chosen...))
		}
	}
	for vpc, group := range state.Enforced {
		all = append(all, names.Text("enforced", []string{vpc, group}))
	}
	clusters, machines := &infrav1.NvidiaBMMClusterList{}, &infrav1.NvidiaBMMMachineList{}
	f.Expect(f.Client.List(f.t.Context(), clusters, client.InNamespace(f.Namespace))).To(Succeed())
	f.Expect(f.Client.List(f.t.Context(), machines, client.InNamespace(f.Namespace))).To(Succeed())
	for _, c := range clusters.Items {
		all = append(all, names.Text("status of the cluster", c.Status, chosen...))
	}
	for _, m := range machines.Items {
		all = append(all, names.Text("status of the machine", m.Status, chosen...))
	}
	return all
}

// names of the objects that something was made for.
func (f *Fixture) names() optest.Names {
	ledgers, names := &ledgerv1.LedgerList{}, optest.Names{}
	f.Expect(f.Client.List(f.t.Context(), ledgers, client.InNamespace(f.Namespace))).To(Succeed())
	for _, l := range ledgers.Items {
		if len(l.OwnerReferences) > 0 {
			names[l.Spec.OwnerID] = "of " + l.OwnerReferences[0].Kind
		}
	}
	return names
}

// moving reports whether something is on its way to another state. A create that is at work doesn't count: one that is refused is repeated for ever.
func (f *Fixture) moving() bool {
	state := f.Sim.State()
	for _, objects := range objectsOf(state) {
		for _, o := range objects {
			if !slices.Contains([]string{"Ready", "Registered", "Error"}, fmt.Sprint(o["status"])) {
				return true
			}
		}
	}
	return false
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
