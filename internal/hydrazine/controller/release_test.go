package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestForwardsBy_whatItsAgentSaysIfItCan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said *agentv1.Datapath
		does bool
	}{
		"an older agent":      {nil, true},
		"nothing is known":    {&agentv1.Datapath{}, false},
		"the change":          {&agentv1.Datapath{GroupUid: "blue", Change: 7}, true},
		"the one before":      {&agentv1.Datapath{GroupUid: "blue", Change: 6}, false},
		"of another database": {&agentv1.Datapath{GroupUid: "blue", Change: 8}, false},
		"of another group":    {&agentv1.Datapath{GroupUid: "red", Change: 7}, false},
	} {
		NewWithT(t).Expect(forwardsBy(c.said, "blue", 7)).To(Equal(c.does), name)
	}
}

// A member that has left a DPU, and is written with it still, keeps the DPU from coming back. One that has a place there doesn't.
func TestLingers_whoHasLeftAndIsWrittenStill(t *testing.T) {
	t.Parallel()
	host := func(uid types.UID, dpu string) resourcev1.ManagedResource {
		r := resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		if dpu != "" {
			r.Status.LogicalPortReference = &resourcev1.LogicalPortReference{DPU: dpu}
		}
		return r
	}
	written := &network{written: []topology.Member{{UID: "a", Chassis: "dpu1"}, {UID: "b", Chassis: "dpu2"}}}
	n := &networks{known: map[types.UID]*network{"blue": written, "new": {}}}
	for name, c := range map[string]struct {
		group   types.UID
		own     resourcev1.ManagedResource
		members []resourcev1.ManagedResource
		lingers bool
	}{
		"it has left":                 {"blue", host("a", ""), []resourcev1.ManagedResource{host("a", "dpu1")}, true},
		"it has a place":              {"blue", host("a", "dpu1"), []resourcev1.ManagedResource{host("a", "dpu1")}, false},
		"another one has left":        {"blue", host("c", ""), []resourcev1.ManagedResource{host("a", ""), host("c", "")}, true},
		"another one is elsewhere":    {"blue", host("c", ""), []resourcev1.ManagedResource{host("a", "dpu2"), host("c", "")}, true},
		"another one is gone":         {"blue", host("c", ""), []resourcev1.ManagedResource{host("c", "")}, true},
		"another one has a place":     {"blue", host("c", ""), []resourcev1.ManagedResource{host("a", "dpu1"), host("c", "")}, false},
		"nothing is written yet":      {"new", host("a", ""), nil, false},
		"the central isn't connected": {"red", host("a", ""), nil, false},
	} {
		NewWithT(t).Expect(n.lingers(c.group, "dpu1", &c.own, c.members)).To(Equal(c.lingers), name)
	}
	NewWithT(t).Expect(n.current(t.Context(), "red")).To(BeFalse(), "nothing is known of it")
}

// Each change of a group comes to each of its DPUs, and concerns few of its hosts.
func TestBehind_aChangeOfTheDatapathConcernsWhoReleasesAnAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects := fake.NewClientBuilder().WithScheme(testenv.Scheme(t))
	for name, change := range map[string]func(*resourcev1.ManagedResource){
		"stays":   func(*resourcev1.ManagedResource) {},
		"changes": func(r *resourcev1.ManagedResource) { r.Status.LogicalPortReference.FormerFabricIPs = r.Spec.DPUIPs[1:] },
		"leaves":  func(r *resourcev1.ManagedResource) { unmet(r, resourcev1.AttachedCondition, reasonIsolating, "") },
		"moves":   func(r *resourcev1.ManagedResource) { unmet(r, resourcev1.AttachedCondition, reasonMoving, "") },
		"elsewhere": func(r *resourcev1.ManagedResource) {
			r.Spec.DPUIPs[0], r.Status.LogicalPortReference.Agent = "172.18.0.6", "172.18.0.6"
			unmet(r, resourcev1.AttachedCondition, reasonIsolating, "")
		},
	} {
		r := &resourcev1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, UID: types.UID(name)}}
		r.Spec.DPUIPs = []resourcev1.IPAddress{"172.18.0.5", "172.18.0.105"}
		r.Status.LogicalPortReference = &resourcev1.LogicalPortReference{Agent: "172.18.0.5", GroupUID: "blue", DPU: "dpu1"}
		met(r, resourcev1.AttachedCondition)
		change(r)
		objects = objects.WithObjects(r)
	}
	r := &resourceReconciler{Client: testenv.Indexed(t, objects, Index).Build()}
	behind := func(change agents.Change) (names []string) {
		for _, request := range r.behind(t.Context(), change) {
			names = append(names, request.Name)
		}
		return names
	}
	g.Expect(behind(agents.Change{Address: "172.18.0.5"})).To(ConsistOf("stays", "changes", "leaves", "moves"))
	g.Expect(behind(agents.Change{Address: "172.18.0.5", Datapath: true})).To(ConsistOf("changes", "leaves", "moves"))
}
