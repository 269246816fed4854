package machine

import (
	"cmp"
	"context"
	"time"

	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/providerid"
)

// Keys within the graph. That of a member is memberKeys + BALANCER/PORT/ADDRESS.
const (
	vmKey      = "vm"
	dataKey    = "bootstrap-data"
	memberKeys = "member/"
)

// node is the graph of one IBMPowerVSMachine: bootstrap data in a bucket, a virtual machine, and members of pools.
type node struct {
	owners
	object     *infrav1.IBMPowerVSMachine
	reconciler *Reconciler
	api        *ibm.Client

	graph   *graph.Graph
	vms     *graph.Kind[ibm.Server]
	data    *graph.Kind[stored]
	members *graph.Kind[ibm.Member]
	vm      *graph.Handle[ibm.Server]

	// in is the workspace; what it is in is known before there is a virtual machine. The others are known when their gates are ready.
	in                 ibm.Workspace
	imageID, networkID string
	boot               bootstrap
	// pools by the keys of their members, as far as they were looked up.
	pools map[string]graph.Scope
	// got is the virtual machine as last read in this reconcile, on deletion too.
	got *ibm.Server
}

// node before its graph is opened.
func (r *Reconciler) node(api *ibm.Client, around owners, machine *infrav1.IBMPowerVSMachine) *node {
	n := &node{reconciler: r, api: api, owners: around, object: machine, pools: map[string]graph.Scope{}}
	if id, err := providerid.Parse(machine.Spec.ProviderID); err == nil { // it survives the cluster, and a move
		n.in = ibm.Workspace{Zone: id.Zone, ID: id.Workspace}
	}
	n.vms, n.data, n.members = n.vmKind(), dataKind(api), n.memberKind()
	n.data.Scope = func(string) graph.Scope { return n.bucket() }
	return n
}

func (n *node) kinds() []graph.AnyKind { return []graph.AnyKind{n.vms, n.data, n.members} }

func (r *Reconciler) open(
	ctx context.Context, api *ibm.Client, secret string, around owners, machine *infrav1.IBMPowerVSMachine,
) (*node, error) {
	n := r.node(api, around, machine)
	ledger, err := ledgers.Of(ctx, r.Client, r.Scheme(), machine)
	if shown := ledgers.Lacking(ledger, machine); err == nil && len(shown) > 0 { // nothing else says where that is
		err = n.locate(ctx, shown[0].ID)
	}
	if err != nil {
		return nil, err
	}
	opened, err := r.Engine.New(ctx, machine, []string{secret}, n.kinds()...)
	n.graph = opened
	if in := opened.Scope(vmKey); in != nil {
		n.in = workspaceIn(in)
	}
	return n, err
}

// soon is when a machine is requeued that is ready at once: the cache has what was written by then.
const soon = 100 * time.Millisecond

// Reconcile makes the virtual machine once what it needs exists, and shows it in the object.
func (n *node) Reconcile(ctx context.Context) (ctrl.Result, error) {
	recorded := n.recordJoin()
	n.want(ctx)
	result, err := n.graph.Reconcile(ctx)
	if complete := n.project(); err == nil && (!complete || !recorded) {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return result, err
}

// Delete the virtual machine and what belongs to it, and show what is left.
func (n *node) Delete(ctx context.Context, finalizer string) (ctrl.Result, error) {
	result, err := n.graph.DeleteAndRelease(ctx, finalizer)
	n.project()
	return result, err
}

// recordJoin records that the machine has become a node, where its data is in a bucket: a move takes the status that says so. The data
// isn't deleted before that is stored, or else it would be written again after a move.
func (n *node) recordJoin() (recorded bool) {
	_, recorded = n.object.Annotations[infrav1.JoinedAnnotation]
	if recorded || !n.joined() || n.infra == nil || n.infra.Spec.Ignition == nil {
		return true
	}
	ledgers.Annotate(n.object, infrav1.JoinedAnnotation, "true")
	n.graph.Keep(dataKey, "it is recorded first that the machine has become a node")
	return false
}

// want adds all that the spec asks for.
func (n *node) want(ctx context.Context) {
	n.boot = n.bootstrap(ctx)
	after := n.gates(ctx)
	if data := n.wantData(after); data != nil {
		after = append(after, data)
	}
	n.vm = graph.Add(n.graph, n.vms, graph.Want[ibm.Server]{
		Key: vmKey, Condition: infrav1.InstanceReadyCondition, After: after, Claim: graph.CreateNamed(vmName(n.object.Name)),
		Create: n.createVM,
		IfLost: "delete the Machine to get another one", // A machine isn't repaired under its node.
	})
	addressed := n.graph.Gate(infrav1.AddressReadyCondition, n.addressPhase, n.vm)
	n.wantMembers(ctx, addressed)
}

// exists reports whether there is a virtual machine, so that the problems of what was needed for it aren't the machine's any more.
func (n *node) exists() bool { return n.graph.ID(vmKey) != "" }

// joined reports whether the virtual machine has become a node. The status of its Machine doesn't survive a move, the annotation does.
func (n *node) joined() bool {
	_, before := n.object.Annotations[infrav1.JoinedAnnotation]
	return before || n.machine != nil && n.machine.Status.NodeRef.IsDefined()
}

// isControlPlane reports whether the machine belongs to the control plane.
func (n *node) isControlPlane() bool {
	return n.machine != nil && util.IsControlPlaneMachine(n.machine)
}

// server is the virtual machine as seen in this reconcile; nil if it wasn't.
func (n *node) server() *ibm.Server {
	if n.vm != nil && n.vm.Object() != nil {
		return n.vm.Object()
	}
	return n.got
}

// addressPhase reports whether the virtual machine has an address. A DHCP server may know it some time later.
func (n *node) addressPhase() phases.Phase {
	if s := n.server(); address(s) == "" {
		return n.announced(phases.Waiting("virtual machine %s has no address yet: neither it nor a DHCP server of its network shows one", s.ID))
	}
	return phases.Ready()
}

// address of a virtual machine in its first network that has one; empty if there is none.
func address(s *ibm.Server) (ip string) {
	if s == nil {
		return ""
	}
	for _, network := range s.Networks {
		ip = cmp.Or(ip, network.IP)
	}
	return ip
}

// announced is a phase whose change the inventory reports, once the object can be found by its virtual machine.
func (n *node) announced(p phases.Phase) phases.Phase {
	if shown := n.object.Status.InstanceID; shown == "" || shown != n.graph.ID(vmKey) {
		return p
	}
	return p.Announced()
}
