package hostnetwork

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// maxSteps is more than the longest way has: for each node, there or back.
func maxSteps(f Facts) int { return 100 + 20*(len(f.Nodes)+len(f.Hosts)) }

// plan decides until nothing is left, as if each step worked, and all that is waited for came to pass.
func plan(f Facts, s journal.State) (steps []Step, problem string) {
	f.Nodes, s.Nodes = maps.Clone(f.Nodes), maps.Clone(s.Nodes)
	for chunk := range slices.Chunk(turns(f, s), f.MaxUnavailable) {
		some, problem := planFew(&f, &s, chunk)
		if steps = append(steps, some...); problem != "" {
			break // it holds up those after it
		}
	}
	rest, problem := planAll(&f, &s, func(Step) bool { return false })
	return append(steps, rest...), problem
}

// planAll takes steps until there is none, or one that isn't to be taken.
func planAll(f *Facts, s *journal.State, stop func(Step) bool) (steps []Step, problem string) {
	for limit := maxSteps(*f); len(steps) < limit; {
		settle(f, *s)
		d := Decide(*f, *s)
		if len(d.Steps) == 0 || stop(d.Steps[0]) {
			return steps, d.Problem
		}
		for _, step := range d.Steps {
			steps = append(steps, step)
			project(f, s, step)
			if step.Action == RemoveJournal {
				return steps, ""
			}
		}
	}
	return steps, "the plan has no end"
}

// planFew is planAll of nodes that are moved at a time, without the others: each decision looks at every node that it knows. What exists
// once goes back after all nodes.
func planFew(f *Facts, s *journal.State, names []string) (steps []Step, problem string) {
	few, records := *f, *s
	few.Hosts, few.Nodes, records.Nodes = nil, map[string]Node{}, map[string]journal.Node{}
	for _, name := range names {
		if node, exists := f.Nodes[name]; exists {
			few.Nodes[name] = node
		}
		if record, exists := s.Nodes[name]; exists {
			records.Nodes[name] = record
		}
		few.Hosts = append(few.Hosts, operatorv1.Host{HostClusterNodeName: operatorv1.NodeName(name)})
		delete(s.Nodes, name)
	}
	back := !f.Want || returning(s.Cluster)
	steps, problem = planAll(&few, &records, func(step Step) bool { return back && step.Node == "" })
	maps.Copy(f.Nodes, few.Nodes)
	maps.Copy(s.Nodes, records.Nodes)
	records.Nodes, few.Nodes, few.Hosts = s.Nodes, f.Nodes, f.Hosts
	*f, *s = few, records
	return steps, problem
}

// turns are the names of nodes in the order in which they are worked on. There is none where one that failed holds up all others.
func turns(f Facts, s journal.State) (names []string) {
	listed := map[string]bool{}
	for _, host := range f.Hosts {
		listed[string(host.HostClusterNodeName)] = true
	}
	begun := bySequence(s)
	if !f.Want || returning(s.Cluster) {
		slices.Reverse(begun)
		return begun
	}
	taken := map[string]bool{}
	for _, name := range begun {
		record := s.Nodes[name]
		if record.Phase == operatorv1.NodeFailed && record.Generation == f.Generation || !listed[name] {
			return nil
		}
		if !record.Untouched() {
			names, taken[name] = append(names, name), true
		}
	}
	for _, host := range f.Hosts {
		if name := string(host.HostClusterNodeName); !taken[name] {
			names = append(names, name)
		}
	}
	return names
}

// settle lets come to pass what is waited for.
func settle(f *Facts, s journal.State) {
	f.Rollout = ""
	if f.Operator != nil {
		f.OperatorPods = *f.Operator
	}
	for name := range s.Nodes {
		node, exists := f.Nodes[name]
		if !exists {
			continue
		}
		node.Stock, node.Custom, node.Provisioner, node.CleanedUp, node.DPUSide = NoPod, NoPod, NoPod, NoPod, Readiness{}
		if node.Moved {
			node.Provisioner, node.DPUSide = Ready, Readiness{Ready: true}
		} else {
			node.Stock = Ready
		}
		if node.Preconfigured {
			node.Custom = Ready
		}
		if node.CleanUp {
			node.Provisioner, node.CleanedUp = NoPod, Ready
		}
		f.Nodes[name] = node
	}
}

// project does to the facts and the journal what a step does to the cluster.
func project(f *Facts, s *journal.State, step Step) {
	if step.Node != "" {
		projectNode(f, s, step)
		return
	}
	recordOriginal(step.Action, *f, &s.Cluster)
	was := *f
	switch step.Action {
	case ReleaseOperator:
		f.Override, f.Marked = &released, true
	case StopOperator:
		f.Operator = ptr.To[int32](0)
	case DeleteWebhook:
		f.Webhook = nil
	case KeepAway:
		f.Affinity = keepAway(f.Affinity)
	case WriteCopies:
		f.CopiesCurrent, f.CopiesPresent = true, true
	case DeleteCopies:
		f.CopiesCurrent, f.CopiesPresent = false, false
	case RestoreOverride:
		f.Marked = false
	case RemoveJournal:
		s.Cluster, s.Nodes = journal.Cluster{}, map[string]journal.Node{}
		return
	}
	markRestored(step.Action, was, &s.Cluster)
}

func projectNode(f *Facts, s *journal.State, step Step) {
	node, record := f.Nodes[step.Node], s.Nodes[step.Node]
	switch step.Action {
	case Begin:
		record = newRecord(*f, *s, step.Node)
	case Enter:
		record.Phase, record.Since, record.Message = step.Phase, metav1.NewTime(f.Now), step.Message
	case Forget:
		delete(s.Nodes, step.Node)
		return
	case Isolate:
		node.Tainted, node.Moved, node.CleanUp = true, true, false
	case ClearChassis:
		node.ChassisID = nil
	case Switch:
		node.Tainted, node.Moved, node.Preconfigured, node.CleanUp = false, true, true, false
	case Unswitch:
		node.Tainted, node.Preconfigured, node.CleanUp = true, false, true
	case NoteUnclean:
		record.Unclean = true
	case Return:
		node.Moved, node.CleanUp, node.ChassisID = false, false, record.ChassisID
	case Release:
		node.Tainted = false
	}
	f.Nodes[step.Node], s.Nodes[step.Node] = node, record
}
