package hostnetwork

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

var now = time.Unix(1_800_000_000, 0)

// untouched is a cluster of three nodes, of which a and b have DPUs.
func untouched() (Facts, journal.State) {
	f := Facts{
		Now: now, Want: true, Generation: 2, MaxUnavailable: 1, Timeout: 15 * time.Minute, VersionUID: "v", OperatorUID: "o",
		Operator: ptr.To[int32](1), OperatorPods: 1, Webhook: &admissionregistrationv1.ValidatingWebhookConfiguration{}, StockUID: "s",
		Nodes: map[string]Node{},
	}
	for _, name := range []string{"a", "b", "c"} {
		f.Nodes[name] = Node{UID: types.UID(name), DPU: name != "c", ChassisID: ptr.To("chassis-" + name), Stock: Ready}
	}
	for _, name := range []string{"a", "b"} {
		f.Hosts = append(f.Hosts, operatorv1.Host{HostClusterNodeName: operatorv1.NodeName(name)})
	}
	return f, journal.State{Nodes: map[string]journal.Node{}}
}

// prepared is one in which everything that exists once is done.
func prepared() (Facts, journal.State) {
	f, s := untouched()
	for _, action := range []Action{ReleaseOperator, StopOperator, MarkStopped, DeleteWebhook, KeepAway, WriteCopies} {
		project(&f, &s, Step{Action: action})
	}
	f.OperatorPods = 0
	return f, s
}

// in puts node a into a phase, with what was done to it by then.
func in(phase operatorv1.NodePhase) (Facts, journal.State) {
	f, s := prepared()
	node := f.Nodes["a"]
	s.Nodes["a"] = journal.Node{UID: "a", ChassisID: node.ChassisID, Sequence: 1, Phase: phase, Since: metav1.NewTime(now), Generation: 2}
	switch phase {
	case operatorv1.NodeIsolated:
	case operatorv1.NodeProvisioning:
		node.Tainted, node.Moved, node.ChassisID, node.Stock = true, true, nil, NoPod
	case operatorv1.NodeSwitching, operatorv1.NodeReady, operatorv1.NodeRollingBack:
		node.Moved, node.Preconfigured, node.ChassisID, node.Stock, node.Custom = true, true, ptr.To("chassis-dpu"), NoPod, Ready
	}
	f.Nodes["a"] = node
	return f, s
}

// row changes what there is, and says what has to be done then.
type row struct {
	change  func(*Facts, *journal.State)
	steps   []Step
	says    string // of node a
	waiting string
	problem string
	done    bool
}

func check(t *testing.T, name string, f Facts, s journal.State, r row) {
	t.Helper()
	g := NewWithT(t)
	if r.change != nil {
		r.change(&f, &s)
	}
	d := Decide(f, s)
	g.Expect(d.Steps).To(Equal(r.steps), name)
	g.Expect(d.Says["a"]).To(ContainSubstring(r.says), name)
	g.Expect(d.Waiting).To(ContainSubstring(r.waiting), name)
	g.Expect(d.Waiting == "").To(Equal(r.waiting == ""), name)
	g.Expect(d.Problem).To(ContainSubstring(r.problem), name)
	g.Expect(d.Problem == "").To(Equal(r.problem == ""), "%s: %s", name, d.Problem)
	g.Expect(d.Done).To(Equal(r.done), name)
}

func do(action Action) []Step             { return []Step{{Action: action}} }
func doTo(node string, a Action) []Step   { return []Step{{Action: a, Node: node}} }
func enter(p operatorv1.NodePhase) []Step { return []Step{{Action: Enter, Node: "a", Phase: p}} }

func TestDecide_whatExistsOnce(t *testing.T) {
	t.Parallel()
	begins := doTo("a", Begin)
	for name, r := range map[string]row{
		"all is done":          {nil, begins, "", "", "", false},
		"the override is gone": {func(f *Facts, _ *journal.State) { f.Override = nil }, do(ReleaseOperator), "", "", "", false},
		"the override says managed": {func(f *Facts, _ *journal.State) {
			f.Override = &configv1.ComponentOverride{}
		}, do(ReleaseOperator), "", "", "", false},
		"no record of the operator": {func(_ *Facts, s *journal.State) { s.Cluster.Operator = nil }, do(StopOperator), "", "", "", false},
		"the operator isn't scaled": {func(f *Facts, s *journal.State) {
			f.Operator, s.Cluster.Operator = ptr.To[int32](1), &journal.Operator{Replicas: 1}
		}, do(StopOperator), "", "", "", false},
		"the operator has Pods": {func(f *Facts, s *journal.State) {
			f.OperatorPods, s.Cluster.Operator = 1, &journal.Operator{Replicas: 1}
		}, nil, "", "network-operator still has Pods", "", false},
		"the operator stopped": {func(_ *Facts, s *journal.State) {
			s.Cluster.Operator = &journal.Operator{Replicas: 1}
		}, do(MarkStopped), "", "", "", false},
		"the operator was started": {func(f *Facts, _ *journal.State) {
			f.Operator = ptr.To[int32](1)
		}, nil, "", "", "was scaled up by others", false},
		"the webhook is back": {func(f *Facts, _ *journal.State) {
			f.Webhook = &admissionregistrationv1.ValidatingWebhookConfiguration{}
		}, do(DeleteWebhook), "", "", "", false},
		"no record of the webhook":  {func(_ *Facts, s *journal.State) { s.Cluster.Webhook = nil }, do(DeleteWebhook), "", "", "", false},
		"the affinity is back":      {func(f *Facts, _ *journal.State) { f.Affinity = nil }, do(KeepAway), "", "", "", false},
		"an affinity of before":     {func(_ *Facts, s *journal.State) { s.Cluster.DaemonSet = nil }, nil, "", "", "the journal doesn't know of", false},
		"the copies are of another": {func(f *Facts, _ *journal.State) { f.CopiesCurrent = false }, do(WriteCopies), "", "", "", false},
		"ovn-kubernetes rolls out":  {func(f *Facts, _ *journal.State) { f.Rollout = "2 of 3" }, nil, "", "2 of 3", "", false},
		"it isn't understood":       {func(f *Facts, _ *journal.State) { f.Problem = "no anchor" }, nil, "", "", "no anchor", false},
		"nothing is wanted": {func(f *Facts, s *journal.State) {
			f.Want, f.Marked, s.Cluster = false, false, journal.Cluster{}
		}, nil, "", "", "", true},
		"the journal is lost": {func(_ *Facts, s *journal.State) { s.Cluster = journal.Cluster{} }, nil, "", "", "the journal is lost", false},
		"… and the way back is wanted": {func(f *Facts, s *journal.State) {
			f.Want, s.Cluster = false, journal.Cluster{}
		}, nil, "", "", "the journal is lost", false},
		"the mark is gone": {func(f *Facts, _ *journal.State) { f.Marked = false }, do(ReleaseOperator), "", "", "", false},
		"the way back has begun": {func(_ *Facts, s *journal.State) {
			s.Cluster.Webhook.Restored = true
		}, do(DeleteCopies), "", "", "", false},
	} {
		f, s := prepared()
		check(t, name, f, s, r)
	}
	f, s := untouched()
	check(t, "untouched", f, s, row{steps: do(ReleaseOperator)})
}

func TestDecide_whichNodesAreBegun(t *testing.T) {
	t.Parallel()
	b := func(change func(*Node)) func(*Facts, *journal.State) {
		return func(f *Facts, _ *journal.State) {
			node := f.Nodes["b"]
			change(&node)
			f.Nodes["b"] = node
		}
	}
	for name, r := range map[string]row{
		"the next one":         {nil, doTo("b", Begin), "", "", "", false},
		"one that has no DPU":  {b(func(n *Node) { n.DPU = false }), nil, "", "", "", true},
		"one that is marked":   {b(func(n *Node) { n.Moved = true }), nil, "", "", "node b: it has the taint or a label of an earlier move", false},
		"one that is tainted":  {b(func(n *Node) { n.Tainted = true }), nil, "", "", "node b: it has the taint or a label of an earlier move", false},
		"one that is gone":     {func(f *Facts, _ *journal.State) { delete(f.Nodes, "b") }, nil, "", "", "", true},
		"one without an entry": {func(f *Facts, _ *journal.State) { f.Hosts = f.Hosts[:1] }, nil, "", "", "no entry in hosts: b", false},
		"the other one failed": {func(_ *Facts, s *journal.State) {
			s.Nodes["a"] = journal.Node{UID: "a", Phase: operatorv1.NodeFailed, Generation: 2, Message: "why"}
		}, nil, "", "", "node a failed: why", false},
		"the other one isn't ready": {func(f *Facts, s *journal.State) {
			*f, *s = in(operatorv1.NodeProvisioning)
		}, nil, "host network provisioner isn't ready", "", "", false},
		"two at a time": {func(f *Facts, s *journal.State) {
			*f, *s = in(operatorv1.NodeProvisioning)
			f.MaxUnavailable = 2
		}, doTo("b", Begin), "host network provisioner", "", "", false},
		"one that got its network back": {func(_ *Facts, s *journal.State) {
			s.Nodes["b"] = journal.Node{UID: "b", Phase: operatorv1.NodeRestored, Generation: 2}
		}, doTo("b", Begin), "", "", "", false},
		"one that is moved": {func(_ *Facts, s *journal.State) {
			s.Nodes["b"] = journal.Node{UID: "b", Phase: operatorv1.NodeReady}
		}, doTo("b", Switch), "", "", "", false},
	} {
		f, s := in(operatorv1.NodeReady)
		check(t, name, f, s, r)
	}
	f, s := prepared()
	s.Nodes["a"] = journal.Node{UID: "a", Phase: operatorv1.NodeFailed, Generation: 1, Message: "why"}
	check(t, "one that failed by another spec", f, s, row{steps: doTo("a", Begin)})
	f, s = prepared()
	f.MaxUnavailable = 5
	check(t, "all at once", f, s, row{steps: []Step{{Action: Begin, Node: "a"}, {Action: Begin, Node: "b"}}})
}

func TestDecide_aNode(t *testing.T) {
	t.Parallel()
	a := func(change func(*Node)) func(*Facts, *journal.State) {
		return func(f *Facts, _ *journal.State) {
			node := f.Nodes["a"]
			change(&node)
			f.Nodes["a"] = node
			f.Nodes["b"] = Node{UID: "b"} // it isn't to be moved here
		}
	}
	same := a(func(*Node) {})
	late := func(f *Facts, s *journal.State) { same(f, s); f.Now = now.Add(16 * time.Minute) }
	both := func(n *Node) { n.Provisioner, n.DPUSide.Ready = Ready, true }
	back := func(message string) []Step {
		return []Step{{Action: Enter, Node: "a", Phase: operatorv1.NodeRollingBack, Message: message}}
	}
	for phase, rows := range map[operatorv1.NodePhase]map[string]row{
		operatorv1.NodeIsolated: {
			"nothing is done":  {same, doTo("a", Isolate), "", "", "", false},
			"no taint":         {a(func(n *Node) { n.Moved = true }), doTo("a", Isolate), "", "", "", false},
			"the Pod is there": {a(func(n *Node) { n.Moved, n.Tainted = true, true }), nil, "ovnkube-node isn't gone", "", "", false},
			"the Pod ends": {a(func(n *Node) { n.Moved, n.Tainted, n.Stock = true, true, NotReady }), nil,
				"ovnkube-node isn't gone", "", "", false},
			"the Pod is gone": {a(func(n *Node) { n.Moved, n.Tainted, n.Stock = true, true, NoPod }), doTo("a", ClearChassis), "", "", "", false},
			"all is gone": {a(func(n *Node) { n.Moved, n.Tainted, n.Stock, n.ChassisID = true, true, NoPod, nil }),
				enter(operatorv1.NodeProvisioning), "", "", "", false},
			"undone by others": {late, back("Isolated for longer than 15m0s: others undo what is done"), "", "", "", false},
			"gone":             {func(f *Facts, s *journal.State) { same(f, s); delete(f.Nodes, "a") }, doTo("a", Forget), "no such node", "", "", false},
			"another one":      {a(func(n *Node) { n.UID = "another" }), doTo("a", Forget), "", "", "", false},
		},
		operatorv1.NodeProvisioning: {
			"no Pod":           {same, nil, "host network provisioner isn't ready", "", "", false},
			"one of two":       {a(func(n *Node) { n.Provisioner, n.DPUSide.Why = Ready, "it boots" }), nil, "it boots", "", "", false},
			"the other of two": {a(func(n *Node) { n.DPUSide.Ready = true }), nil, "host network provisioner isn't ready", "", "", false},
			"both":             {a(both), enter(operatorv1.NodeSwitching), "", "", "", false},
			"the annotation":   {a(func(n *Node) { both(n); n.ChassisID = ptr.To("a") }), doTo("a", ClearChassis), "", "", "", false},
			"no taint":         {a(func(n *Node) { both(n); n.Tainted = false }), doTo("a", Isolate), "", "", "", false},
			"late": {late, back("Provisioning for longer than 15m0s: its Pod of the host network provisioner isn't ready"),
				"provisioner", "", "", false},
			"late, but both": {func(f *Facts, s *journal.State) { a(both)(f, s); f.Now = now.Add(time.Hour) },
				enter(operatorv1.NodeSwitching), "", "", "", false},
		},
		operatorv1.NodeSwitching: {
			"ready":     {same, enter(operatorv1.NodeReady), "", "", "", false},
			"a taint":   {a(func(n *Node) { n.Tainted = true }), doTo("a", Switch), "", "", "", false},
			"no label":  {a(func(n *Node) { n.Preconfigured = false }), doTo("a", Switch), "", "", "", false},
			"not ready": {a(func(n *Node) { n.Custom = NotReady }), nil, "ovnkube-node-dpf isn't ready", "", "", false},
		},
		operatorv1.NodeReady: {
			"ready":      {same, nil, "", "", "", true},
			"not ready":  {a(func(n *Node) { n.Custom = NoPod }), nil, "ovnkube-node-dpf isn't ready", "", "", true},
			"a label":    {a(func(n *Node) { n.Moved = false }), doTo("a", Switch), "", "", "", false},
			"much later": {late, nil, "", "", "", true},
		},
		operatorv1.NodeRollingBack: {
			"it runs":              {same, doTo("a", Unswitch), "", "", "", false},
			"not to be cleaned up": {a(func(n *Node) { n.Tainted, n.Preconfigured = true, false }), doTo("a", Unswitch), "", "", "", false},
			"the Pod is there": {a(func(n *Node) { n.Tainted, n.Preconfigured, n.CleanUp, n.CleanedUp = true, false, true, Ready }), nil,
				"ovnkube-node-dpf isn't gone", "", "", false},
			"it isn't cleaned up": {a(func(n *Node) {
				n.Tainted, n.Preconfigured, n.CleanUp, n.Custom, n.CleanedUp = true, false, true, NoPod, NotReady
			}),
				nil, "clean-up isn't ready", "", "", false},
			"the Pod is gone": {a(func(n *Node) {
				n.Tainted, n.Preconfigured, n.CleanUp, n.Custom, n.CleanedUp = true, false, true, NoPod, Ready
			}),
				doTo("a", Return), "", "", "", false},
			"others took the label": {a(func(n *Node) { *n = Node{UID: "a", DPU: true, Tainted: true, CleanUp: true} }), doTo("a", Return), "", "", "", false},
			"no stock Pod":          {a(func(n *Node) { *n = Node{UID: "a", DPU: true, Tainted: true} }), nil, "ovnkube-node isn't ready", "", "", false},
			"a stock Pod":           {a(func(n *Node) { *n = Node{UID: "a", DPU: true, Tainted: true, Stock: Ready} }), doTo("a", Release), "", "", "", false},
			"all is back":           {a(func(n *Node) { *n = Node{UID: "a", DPU: true, Stock: Ready} }), enter(operatorv1.NodeRestored), "", "", "", false},
			"failed": {func(f *Facts, s *journal.State) {
				a(func(n *Node) { *n = Node{UID: "a", DPU: true, Stock: Ready} })(f, s)
				record := s.Nodes["a"]
				record.Message = "why"
				s.Nodes["a"] = record
			}, []Step{{Action: Enter, Node: "a", Phase: operatorv1.NodeFailed, Message: "why"}}, "", "", "", false},
			"a dead kubelet's Pod stays": {func(f *Facts, s *journal.State) {
				a(func(n *Node) { n.Tainted, n.Preconfigured, n.CleanUp = true, false, true })(f, s)
				f.Now = now.Add(time.Hour)
			}, doTo("a", NoteUnclean), "", "", "", false},
			"… and that is noted": {func(f *Facts, s *journal.State) {
				a(func(n *Node) { n.Tainted, n.Preconfigured, n.CleanUp = true, false, true })(f, s)
				f.Now = now.Add(time.Hour)
				record := s.Nodes["a"]
				record.Unclean = true
				s.Nodes["a"] = record
			}, doTo("a", Return), "", "", "", false},
			"a dead kubelet's Pod doesn't come": {func(f *Facts, s *journal.State) {
				a(func(n *Node) { *n = Node{UID: "a", DPU: true, Tainted: true} })(f, s)
				f.Now = now.Add(time.Hour)
			}, doTo("a", Release), "", "", "", false},
		},
	} {
		for name, r := range rows {
			f, s := in(phase)
			check(t, string(phase)+": "+name, f, s, r)
		}
	}
}

func TestDecide_theWayBackIsTheReverse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f, s := untouched()
	there, problem := plan(f, s)
	g.Expect(problem).To(BeEmpty())
	g.Expect(f.Nodes["a"]).To(HaveField("ChassisID", HaveValue(Equal("chassis-a"))), "a plan changes nothing")
	for _, step := range there {
		project(&f, &s, step)
	}
	g.Expect(f.Nodes["a"].switched()).To(BeTrue())
	g.Expect(f.Nodes["b"].switched()).To(BeTrue())
	g.Expect(f.Nodes["c"].marked()).To(BeFalse())
	g.Expect(Decide(f, s)).To(HaveField("Done", true))

	f.Want = false
	back, problem := plan(f, s)
	g.Expect(problem).To(BeEmpty())
	var actions []string
	for _, step := range back {
		actions = append(actions, step.Node+string(step.Action))
	}
	g.Expect(actions).To(Equal([]string{
		"bEnter", "bUnswitch", "bReturn", "bRelease", "bEnter", "aEnter", "aUnswitch", "aReturn", "aRelease", "aEnter",
		"DeleteCopies", "LetBack", "RestoreWebhook", "StartOperator", "RestoreOverride", "RemoveJournal",
	}))
}

func TestPlan_endsWhereANodeHoldsUpTheOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f, s := untouched()
	node := f.Nodes["a"]
	node.Tainted = true
	f.Nodes["a"] = node
	steps, problem := plan(f, s)
	g.Expect(problem).To(ContainSubstring("node a: it has the taint"))
	g.Expect(steps).To(HaveLen(6), "what exists once")
	f, s = untouched()
	node = f.Nodes["b"]
	node.Moved = true
	f.Nodes["b"] = node
	steps, problem = plan(f, s)
	g.Expect(problem).To(ContainSubstring("node b: it has the taint"))
	g.Expect(steps[len(steps)-1]).To(Equal(Step{Action: Enter, Node: "a", Phase: operatorv1.NodeReady}))
}

func TestPlan_ofAsManyHostsAsThereMayBe(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f, s := untouched()
	f.Hosts, f.Nodes = nil, map[string]Node{}
	for i := range operatorv1.MaxHosts {
		name := fmt.Sprintf("worker-%d", i)
		f.Hosts = append(f.Hosts, operatorv1.Host{HostClusterNodeName: operatorv1.NodeName(name)})
		f.Nodes[name] = Node{UID: types.UID(name), DPU: true, Stock: Ready, ChassisID: ptr.To(name)}
	}
	began := time.Now()
	steps, problem := plan(f, s)
	t.Logf("%d steps in %s", len(steps), time.Since(began))
	g.Expect(problem).To(BeEmpty())
	g.Expect(steps).To(HaveLen(6 + 7*operatorv1.MaxHosts))
}
