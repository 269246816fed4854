// Package dpuagent makes the ServiceInterfaces and ServiceChains of one DPU real in its Open vSwitch: interfaces are ports of the bridge
// br-sfc, and each switch of a chain is one layer 2 segment of its ports, made of flows.
//
// It is level-based: all objects of the node are one plan, which is compared with what there is. Ports are written in one transaction, and
// the flows of all segments in one bundle. It never touches a port or a flow that it hasn't made.
//
// Segments are flows, not VLANs of the bridge: a port that no chain has named could send into a VLAN, and would get what is flooded there,
// as a port without a tag is a trunk. Here it reaches nothing, and frames with VLAN tags pass a segment unchanged.
package dpuagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=serviceinterfaces;servicechains,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=serviceinterfaces/status;servicechains/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// agent of one node.
type agent struct {
	client.Client               // it writes
	cache         client.Reader // of the node's objects
	config        Config
	database      *openvswitch.Database
	flows         *flows
	failing       time.Time            // since when; zero if the last call was a success
	asked         map[string]time.Time // when ovs-vswitchd was asked to look again, by ports with an error
}

// blip is how long Open vSwitch may be away, as while it or this agent starts, before that is said of interfaces and chains: what was
// ready still forwards.
const blip = 5 * time.Second

// Reconcile the node: there is one request.
func (a *agent) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	o, err := a.read(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := a.claim(ctx, o); err != nil {
		return reconcile.Result{}, err
	}
	p, err := a.apply(ctx, o)
	if err != nil {
		if a.failing.IsZero() {
			a.failing = time.Now()
		}
		if time.Since(a.failing) > blip {
			err = errors.Join(err, a.report(ctx, o, plan{}, err))
		}
		return reconcile.Result{}, err
	}
	a.failing = time.Time{}
	if err := errors.Join(a.report(ctx, o, p, nil), a.dismiss(ctx, o)); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: a.config.Interval}, nil // flows are in no database that tells of changes
}

// read the node's objects.
func (a *agent) read(ctx context.Context) (o objects, err error) {
	var interfaces svcv1.ServiceInterfaceList
	var chains svcv1.ServiceChainList
	var pods corev1.PodList
	err = errors.Join(a.cache.List(ctx, &interfaces), a.cache.List(ctx, &pods))
	if a.config.has(Chains) {
		err = errors.Join(err, a.cache.List(ctx, &chains))
	}
	if err != nil {
		return o, fmt.Errorf("read the objects of node %s: %w", a.config.Node, err)
	}
	for i := range interfaces.Items {
		if interfaces.Items[i].Spec.Node == a.config.Node {
			o.interfaces = append(o.interfaces, &interfaces.Items[i])
		}
	}
	for i := range chains.Items {
		if chains.Items[i].Spec.Node == a.config.Node {
			o.chains = append(o.chains, &chains.Items[i])
		}
	}
	o.pods = pods.Items
	return o, nil
}

// claim objects before something is made for them.
func (a *agent) claim(ctx context.Context, o objects) error {
	return a.each(o, func(object svcv1.Object, finalizer string) error {
		if object.GetDeletionTimestamp().IsZero() {
			return patch.AddFinalizer(ctx, a.Client, object.(client.Object), finalizer)
		}
		return nil
	})
}

// dismiss deleted objects of which nothing is left.
func (a *agent) dismiss(ctx context.Context, o objects) error {
	return a.each(o, func(object svcv1.Object, finalizer string) error {
		if object.GetDeletionTimestamp().IsZero() {
			return nil
		}
		return patch.RemoveFinalizer(ctx, a.Client, object.(client.Object), finalizer)
	})
}

// each object that this agent makes real, with the finalizer that it has.
func (a *agent) each(o objects, do func(object svcv1.Object, finalizer string) error) error {
	var problems []error
	if a.config.has(Interfaces) {
		for _, i := range o.interfaces {
			problems = append(problems, do(i, svcv1.ServiceInterfaceFinalizer))
		}
	}
	for _, c := range o.chains {
		problems = append(problems, do(c, svcv1.ServiceChainFinalizer))
	}
	return errors.Join(problems...)
}

// apply what the objects want, and add to the plan what keeps it from being real.
func (a *agent) apply(ctx context.Context, o objects) (plan, error) {
	before, err := a.database.Snapshot()
	if err != nil {
		return plan{}, err
	}
	made := pods(before)
	p := planned(o, a.config.InterfaceType, func(id string) string { return made[id] })
	var refused map[string]problem
	if a.config.has(Interfaces) {
		if refused, err = ports(ctx, a.database, p, a.config.DatapathType, a.again(before)); err != nil {
			a.asked = nil // whether it was isn't known
			return plan{}, err
		}
	}
	now, err := a.database.Snapshot()
	if err != nil {
		return plan{}, err
	}
	var byPort map[string]int
	byPort, p.waiting = numbers(now)
	if a.config.has(Chains) && now.Bridges[Bridge] != nil { // without the bridge there are no flows
		if err := a.flows.apply(ctx, p.segments, byPort); err != nil {
			return plan{}, err
		}
	}
	for key, at := range p.plugs {
		if _, known := p.waiting[at.port]; !known && byPort[at.port] == 0 { // its interface is another process'
			p.waiting[at.port] = pending("port %s isn't on bridge %s", at.port, Bridge)
		}
		wrong := refused[at.port]
		if far := p.ports[at.port].options["peer"]; wrong == (problem{}) && far != "" {
			wrong = refused[far]
		}
		if wrong != (problem{}) {
			p.interfaces[key] = wrong
		}
	}
	return p, nil
}
