package hostnetwork

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

// Decision says what is done next. Steps of different nodes don't depend on each other; there is at most one for each.
type Decision struct {
	Steps   []Step
	Waiting string            // what is waited for, of what exists once
	Problem string            // what a person has to correct before another node is begun
	Says    map[string]string // likewise, by the name of the node
	Done    bool              // nothing is left to be done
}

// Decide the next steps. It calls, writes and waits for nothing, so that a plan is made of the same decisions.
func Decide(f Facts, s journal.State) Decision {
	d := &decision{f: f, s: s, Decision: Decision{Says: map[string]string{}}}
	switch original := s.Cluster.Override; {
	case original != nil && f.VersionUID != "" && original.UID != f.VersionUID: // such as from a backup
		d.Problem = "the journal is of another cluster, and its originals aren't of this one: delete the ConfigMaps with the label " +
			journal.Label + " in openshift-ovn-kubernetes"
	case f.Want && !returning(s.Cluster):
		d.forward()
	default:
		d.back()
	}
	return d.Decision
}

// returning says that the way back has come to what exists once: it is gone to its end, and a new move has a new journal.
func returning(c journal.Cluster) bool {
	return c.Override != nil && c.Override.Restored || c.Operator != nil && c.Operator.Restored ||
		c.Webhook != nil && c.Webhook.Restored || c.DaemonSet != nil && c.DaemonSet.Restored
}

type decision struct {
	Decision
	f Facts
	s journal.State
}

func (d *decision) do(action Action) { d.Steps = append(d.Steps, Step{Action: action}) }

func (d *decision) doTo(node string, action Action) {
	d.Steps = append(d.Steps, Step{Action: action, Node: node})
}

func (d *decision) enter(node string, phase operatorv1.NodePhase, message string) {
	d.Steps = append(d.Steps, Step{Action: Enter, Node: node, Phase: phase, Message: message})
}

func (d *decision) forward() {
	mayBegin := d.cluster()
	ready := true
	listed, busy := d.listed(), d.busy()
	for _, name := range bySequence(d.s) {
		record := d.s.Nodes[name]
		// The provisioners take from a node that isn't listed any more what they gave it: it can't stay where it is.
		leaves := !listed[name] && !record.Untouched() && record.Phase != operatorv1.NodeRollingBack && d.f.Nodes[name].UID == record.UID
		switch {
		case !leaves:
			d.node(name)
		case record.Phase == operatorv1.NodeReady && busy >= d.f.MaxUnavailable:
			d.Says[name] = "it has no entry in hosts any more, and waits for its turn to get its network back"
		default:
			busy++
			d.enter(name, operatorv1.NodeRollingBack, "")
		}
		ready = ready && (record.Phase == operatorv1.NodeReady && listed[name] || record.Phase == operatorv1.NodeRestored ||
			record.Phase == operatorv1.NodeFailed && !listed[name])
	}
	if mayBegin {
		ready = d.begin() && ready
	}
	ready = d.unlisted() && ready
	d.Done = mayBegin && ready && len(d.Steps) == 0
}

func (d *decision) listed() map[string]bool {
	listed := map[string]bool{}
	for _, host := range d.f.Hosts {
		listed[string(host.HostClusterNodeName)] = true
	}
	return listed
}

// busy is how many nodes are on their way, there or back.
func (d *decision) busy() (busy int) {
	for _, record := range d.s.Nodes {
		if !record.Untouched() && record.Phase != operatorv1.NodeReady {
			busy++
		}
	}
	return busy
}

// unlisted nodes have a DPU that the spec says nothing of. It says whether there is none.
func (d *decision) unlisted() bool {
	listed := d.listed()
	var missing []string
	for name, node := range d.f.Nodes {
		if record, recorded := d.s.Nodes[name]; node.DPU && (!recorded || record.Untouched()) && !listed[name] {
			d.Says[name] = "it has a DPU, but no entry in hosts: add one"
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && d.Problem == "" {
		slices.Sort(missing)
		d.Problem = fmt.Sprintf("nodes with a DPU have no entry in hosts: %s", strings.Join(missing[:min(len(missing), 20)], ", "))
	}
	return len(missing) == 0
}

// lost says that what was changed is there, and the journal with the originals isn't.
func (d *decision) lost() bool {
	if !d.f.Marked || d.s.Cluster.Override != nil {
		return false
	}
	d.Problem = lostJournal
	return true
}

const lostJournal = "ClusterVersion version has the annotation " + journal.Label + ", but the journal is lost, and with it what the " +
	"cluster was before: restore the ConfigMaps with the label " + journal.Label + " in openshift-ovn-kubernetes from a backup; or take the " +
	"network back by hand, and remove the annotation"

// cluster goes through what exists once. It says whether all of that is done, so that nodes may be begun.
func (d *decision) cluster() bool {
	f, c := d.f, d.s.Cluster
	switch {
	case d.lost():
	case f.Problem != "":
		d.Problem = f.Problem
	case c.DaemonSet == nil && mentionsAway(f.Affinity):
		d.Problem = "the affinity of DaemonSet openshift-ovn-kubernetes/ovnkube-node has a term with dpf.nvidia.com/network-moved that the " +
			"journal doesn't know of: remove it"
	case c.Override == nil || f.Override == nil || !f.Override.Unmanaged || !f.Marked:
		d.do(ReleaseOperator)
	case c.Operator == nil || !c.Operator.Stopped && *f.Operator > 0:
		d.do(StopOperator)
	case !c.Operator.Stopped && f.OperatorPods > 0:
		d.Waiting = "Deployment openshift-network-operator/network-operator still has Pods"
	case !c.Operator.Stopped:
		d.do(MarkStopped)
	case *f.Operator > 0:
		d.Problem = "Deployment openshift-network-operator/network-operator was scaled up by others, and undoes the move: scale it to 0"
	case c.Webhook == nil || f.Webhook != nil:
		d.do(DeleteWebhook)
	case c.DaemonSet == nil || !isAway(f.Affinity):
		d.do(KeepAway)
	case !f.CopiesCurrent:
		d.do(WriteCopies)
	case f.Rollout != "":
		d.Waiting = f.Rollout
	default:
		return true
	}
	return false
}

// begin as many nodes as may be moved at a time. It says whether there is none left that could be.
func (d *decision) begin() bool {
	busy, listed := d.busy(), d.listed()
	for name, record := range d.s.Nodes {
		if record.Phase == operatorv1.NodeFailed && record.Generation == d.f.Generation {
			d.Problem = fmt.Sprintf("node %s failed: %s. Correct that, and change the spec: no other node is begun before", name, record.Message)
		} else if record.Phase == operatorv1.NodeReady && !listed[name] { // it is going to be
			busy++
		}
	}
	none := true
	for _, host := range d.f.Hosts {
		name := string(host.HostClusterNodeName)
		node, exists := d.f.Nodes[name]
		record, recorded := d.s.Nodes[name]
		switch {
		case !exists:
			d.Says[name] = "the host cluster has no such node"
			continue
		case recorded && !again(record, d.f.Generation):
			continue
		case !node.DPU:
			d.Says[name] = "the label " + operatorv1.DPUEnabledLabel + "=true is missing: NFD finds no DPU"
			continue
		case node.marked():
			d.Says[name] = unknownMark
			d.Problem = "node " + name + ": " + d.Says[name]
		case d.Problem != "":
		case busy >= d.f.MaxUnavailable:
			d.Says[name] = "it waits for its turn"
		default:
			busy++
			d.doTo(name, Begin)
		}
		none = false
	}
	return none
}

const unknownMark = "it has the taint or a label of an earlier move that the journal doesn't know of: restore the journal from a backup, or " +
	"remove them"

// again says that a node may be begun though it has a record: it got everything back, and if it failed, the spec has changed since.
func again(record journal.Node, generation int64) bool {
	return record.Phase == operatorv1.NodeRestored || record.Phase == operatorv1.NodeFailed && record.Generation != generation
}

// newRecord of a node that is begun.
func newRecord(f Facts, s journal.State, name string) journal.Node {
	sequence := 0
	for _, record := range s.Nodes {
		sequence = max(sequence, record.Sequence)
	}
	return journal.Node{
		UID: f.Nodes[name].UID, ChassisID: f.Nodes[name].ChassisID, Sequence: sequence + 1,
		Phase: operatorv1.NodeIsolated, Since: metav1.NewTime(f.Now), Generation: f.Generation,
	}
}

// node decides about one that has a record.
func (d *decision) node(name string) {
	record, node := d.s.Nodes[name], d.f.Nodes[name]
	if node.UID != record.UID { // also where there is none, or another one of the same name
		d.doTo(name, Forget)
		return
	}
	steps := len(d.Steps)
	switch record.Phase {
	case operatorv1.NodeIsolated:
		d.isolate(name, node)
	case operatorv1.NodeProvisioning:
		d.provision(name, node)
	case operatorv1.NodeSwitching:
		d.change(name, node)
	case operatorv1.NodeReady:
		if !node.switched() {
			d.doTo(name, Switch)
		} else if node.Custom != Ready {
			d.Says[name] = "its Pod of ovnkube-node-dpf isn't ready"
		}
		return
	case operatorv1.NodeRollingBack:
		d.rollBack(name, node)
		return
	default:
		return
	}
	goesOn := len(d.Steps) > steps && d.Steps[steps].Action == Enter
	if !goesOn && d.late(record) {
		why := d.Says[name]
		if why == "" {
			why = "others undo what is done"
		}
		d.Steps = d.Steps[:steps]
		d.enter(name, operatorv1.NodeRollingBack, fmt.Sprintf("%s for longer than %s: %s", record.Phase, d.f.Timeout, why))
	}
}

// late says that a node has been in its phase for too long, while it was looked after.
func (d *decision) late(record journal.Node) bool {
	since := record.Since.Time
	if d.f.Awake.After(since) {
		since = d.f.Awake
	}
	return d.f.Now.Sub(since) > d.f.Timeout
}

func (d *decision) isolate(name string, node Node) {
	switch {
	case !node.isolated():
		d.doTo(name, Isolate)
	case node.Stock != NoPod:
		d.Says[name] = "its Pod of ovnkube-node isn't gone"
	case node.ChassisID != nil: // the Pod would have written it again
		d.doTo(name, ClearChassis)
	default:
		d.enter(name, operatorv1.NodeProvisioning, "")
	}
}

func (d *decision) provision(name string, node Node) {
	switch {
	case !node.isolated():
		d.doTo(name, Isolate)
	case node.ChassisID != nil:
		d.doTo(name, ClearChassis)
	case node.Provisioner != Ready:
		d.Says[name] = "its Pod of the host network provisioner isn't ready"
	case !node.DPUSide.Ready:
		d.Says[name] = node.DPUSide.Why
	default:
		d.enter(name, operatorv1.NodeSwitching, "")
	}
}

func (d *decision) change(name string, node Node) {
	switch {
	case !node.switched():
		d.doTo(name, Switch)
	case node.Custom != Ready:
		d.Says[name] = "its Pod of ovnkube-node-dpf isn't ready"
	default:
		d.enter(name, operatorv1.NodeReady, "")
	}
}
