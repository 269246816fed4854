// Package instance is what Cluster API's machines and OpenShift's have in common: an instance of the BMM API.
package instance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

const key = "instance"

// Machine is an object that wants an instance.
type Machine interface {
	// InstanceName is the machine's own, so that an instance is found by it.
	InstanceName() string
	// Shown are the IDs that the object shows of its instance; empty before there is one.
	Shown() (providerID, instanceID string)
	// NewSiteID is the site where an instance would be created; empty if that isn't known.
	NewSiteID() string
	// InstanceTypeID is the type that an instance would be of; empty if the spec names one certain machine.
	InstanceTypeID() string
	// Network is what the spec asks for.
	Network() infrav1.NetworkSpec
	// InstanceRequest is the request that would create an instance.
	InstanceRequest(context.Context, graph.Key) (*bmm.InstanceCreateRequest, error)
	// SecurityGroup is what the instance itself is to be attached to. As long as it isn't known, nothing is changed.
	SecurityGroup() (id string, known bool)
	// Health is called when the instance is to be deleted.
	Health(context.Context) (Health, error)
}

// Instance of one Machine, in the graph of its owner.
type Instance struct {
	Graph *graph.Graph

	machine   Machine
	engine    *graph.Engine
	reports   *Reports
	api       *bmm.Client
	inventory *inventory.Inventory
	kind      *graph.Kind[bmm.Instance]
	handle    *graph.Handle[bmm.Instance]
	// deleted is when the owner was deleted; searched: its deletion has looked for what else is the owner's.
	deleted  *metav1.Time
	searched bool
	// got is the instance as last read in this reconcile, on deletion too.
	got *bmm.Instance
}

// KindOf are instances as a client sees them. A machine's own is read from the inventory, and what is wrong with it is reported
// when it is deleted: see Open.
func KindOf(api *bmm.Client) *graph.Kind[bmm.Instance] {
	return &graph.Kind[bmm.Instance]{
		Name: "instance", Service: &graph.Service{Endpoint: api.Endpoint()}, Within: []string{infrav1.KindSite}, Site: infrav1.KindSite,
		ID:  func(o *bmm.Instance) string { return o.ID },
		Tag: func(o *bmm.Instance) graph.Tag { return tag.FromLabels(o.Labels) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.Instance, error) {
			return api.Instance(ctx, in[infrav1.KindSite], id)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteInstance(ctx, in[infrav1.KindSite], id)
		},
	}
}

// Open the graph of an owner that has a Machine's instance in it and nothing else. An error means that the ledger can't be
// used.
func Open(
	ctx context.Context, engine *graph.Engine, owner graph.Owner, secret string, api *bmm.Client, inventory *inventory.Inventory, reports *Reports,
	machine Machine,
) (*Instance, error) {
	i := &Instance{machine: machine, engine: engine, reports: reports, api: api, inventory: inventory, deleted: owner.GetDeletionTimestamp()}
	i.kind = KindOf(api)
	i.kind.Scope, i.kind.Find, i.kind.Delete = i.scope, i.find, i.delete
	i.kind.Get = func(ctx context.Context, id string, in graph.Scope) (*bmm.Instance, error) {
		instance, err := inventory.Get(ctx, api, in[infrav1.KindSite], id)
		if id == i.ID() { // and not another one of that name
			i.got = instance
		}
		return instance, err
	}
	i.kind.Phase = func(o *bmm.Instance) phases.Phase { return i.announced(phaseOf(o)) }
	g, err := engine.New(ctx, owner, []string{secret}, i.kind)
	i.Graph = g
	return i, err
}

// find lists by name. What came of an attempt without an answer may have got another name since, and is searched for by its label, too.
// So is, instead, what an older ledger lacks when the owner is deleted. That is looked for twice: the first list is the one that all machines
// share, if it began after the deletion. What the owner has outside was made before that.
func (i *Instance) find(ctx context.Context, k graph.Key) ([]bmm.Instance, error) {
	site, attempted := k.Scope[infrav1.KindSite], i.ID() == "" && k.Token != ""
	if i.deleted != nil && !attempted && !i.searched {
		i.searched = true
		isOwners := func(o *bmm.Instance) bool { return tag.FromLabels(o.Labels).Owner == k.Owner }
		if found, ok := i.inventory.Since(i.api, site, i.deleted.Add(time.Second), isOwners); ok { // the API server's times have whole seconds
			return found, nil
		}
	}
	byName, byLabel := bmm.InstanceFilter{SiteID: site, Name: i.machine.InstanceName()}, bmm.InstanceFilter{SiteID: site, Query: k.Owner}
	if i.deleted != nil && !attempted {
		return i.api.Instances(ctx, byLabel)
	}
	found, err := i.api.Instances(ctx, byName)
	if err != nil || !attempted {
		return found, err
	}
	labelled, err := i.api.Instances(ctx, byLabel)
	for _, l := range labelled {
		if !slices.ContainsFunc(found, func(f bmm.Instance) bool { return f.ID == l.ID }) {
			found = append(found, l)
		}
	}
	return found, err
}

// Reconcile brings the instance a step further, once what it comes after is ready.
func (i *Instance) Reconcile(ctx context.Context, after ...graph.Ref) (ctrl.Result, error) {
	i.Want(after...)
	i.Graph.Gate(infrav1.NetworkConfiguredCondition, i.networkPhase)
	return i.Graph.Reconcile(ctx)
}

// Want the instance, once what it comes after is ready.
func (i *Instance) Want(after ...graph.Ref) {
	i.handle = graph.Add(i.Graph, i.kind, graph.Want[bmm.Instance]{
		Key: key, Condition: infrav1.InstanceProvisionedCondition, After: after,
		Create: i.create, Lock: i.lock,
		Update: i.update,
		IfLost: "delete the Machine to get another one", // A machine isn't repaired under its node.
	})
}

// lock is that of the service: it creates one instance of a tenant and a type at a time, and refuses others.
func (i *Instance) lock() string {
	typeID := i.machine.InstanceTypeID()
	if typeID == "" { // the spec names one certain machine
		return ""
	}
	return "instance type " + typeID + " of " + i.api.Tenancy()
}

// ID of the instance; empty before it exists.
func (i *Instance) ID() string { return i.Graph.ID(key) }

// Exists reports whether the instance that the ledger names exists. Without an error the answer is certain.
func (i *Instance) Exists(ctx context.Context) (bool, error) {
	_, err := i.kind.Get(ctx, i.ID(), graph.Scope{infrav1.KindSite: i.SiteID()})
	if fault.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Object is the instance as seen in this reconcile; nil if it wasn't.
func (i *Instance) Object() *bmm.Instance {
	if i.handle != nil && i.handle.Object() != nil {
		return i.handle.Object()
	}
	return i.got
}

// SiteID of the instance.
func (i *Instance) SiteID() string {
	return cmp.Or(i.Graph.Scope(key)[infrav1.KindSite], i.newSiteID())
}

// newSiteID is its site by what the object says. The object's own records come first: they survive the cluster.
func (i *Instance) newSiteID() string {
	shown, _ := i.machine.Shown()
	if id, err := providerid.Parse(shown); err == nil {
		return id.SiteID
	}
	return i.machine.NewSiteID()
}

func (i *Instance) scope(string) graph.Scope { return graph.Scope{infrav1.KindSite: i.newSiteID()} }

// ProviderID names the instance; empty before it exists.
func (i *Instance) ProviderID() string {
	id, site := i.ID(), i.SiteID()
	if id == "" || site == "" {
		return ""
	}
	return providerid.ProviderID{SiteID: site, InstanceID: id}.String()
}

// networkPhase reports whether every interface has its address, and those that were asked for.
func (i *Instance) networkPhase() phases.Phase {
	instance := i.Object()
	if instance == nil {
		return phases.Waiting("there is no instance yet")
	}
	if lacks := Unaddressed(instance); lacks != "" {
		return i.announced(phases.Waiting("instance %s has no %s yet", instance.ID, lacks))
	}
	for _, wanted := range i.machine.Network().Interfaces() { // the first releases ignore what they don't know
		if wanted.IPAddress != "" && !hasAddress(instance, wanted.IPAddress) {
			return phases.Failed("the BMM API has ignored ipAddress %s: no interface of instance %s has it, and this can't be changed; "+
				"replace this machine by one without ipAddress, or at a site whose release knows it", wanted.IPAddress, instance.ID)
		}
	}
	return phases.Ready()
}

func hasAddress(o *bmm.Instance, wanted string) bool {
	return slices.ContainsFunc(o.Interfaces, func(i bmm.Interface) bool { return slices.Contains(i.IPAddresses, wanted) })
}

// Unaddressed is what an instance lacks until every interface has its address; empty if it lacks nothing.
func Unaddressed(o *bmm.Instance) string {
	for _, n := range o.Interfaces {
		if len(n.IPAddresses) == 0 {
			return "address in " + cmp.Or(n.SubnetID, n.VPCPrefixID)
		}
	}
	if len(o.Interfaces) == 0 {
		return "interface"
	}
	return ""
}

// Project shows the instance in a status. What wasn't seen stays as it was.
func (i *Instance) Project(status *infrav1.InstanceStatus) {
	status.InstanceID = cmp.Or(i.ID(), status.InstanceID)
	if o := i.Object(); o != nil {
		status.InstanceState, status.MachineID, status.SerialConsoleURL = string(o.Status), o.MachineID, o.SerialConsoleURL
	}
}

// announced is a phase whose change the inventory reports, once the object can be found by its instance.
func (i *Instance) announced(p phases.Phase) phases.Phase {
	if _, shown := i.machine.Shown(); shown == "" || shown != i.ID() {
		return p
	}
	return p.Announced()
}

func (i *Instance) create(ctx context.Context, k graph.Key) (graph.Call[bmm.Instance], error) {
	request, err := i.machine.InstanceRequest(ctx, k)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*bmm.Instance, error) {
		instance, err := i.api.CreateInstance(ctx, *request)
		if err != nil {
			return nil, refused(err, request)
		}
		i.inventory.Put(i.api, k.Scope[infrav1.KindSite], instance)
		return instance, nil
	}, nil
}

// update is the request that makes an instance match the spec.
func (i *Instance) update(o *bmm.Instance) graph.Update {
	var update bmm.InstanceUpdateRequest
	var changes []graph.Change
	attached := o.NetworkSecurityGroupID
	if o.NetworkSecurityGroupInherited {
		attached = ""
	}
	if wanted, known := i.machine.SecurityGroup(); known && wanted != attached {
		update.NetworkSecurityGroupID = &wanted
		changes = append(changes, graph.Change{Field: "networkSecurityGroupId", From: attached, To: wanted})
	}
	if tag.FromLabels(o.Labels).Owner == "" { // without it no lookup finds the instance, and it isn't deleted
		labels := bmm.Labels(tag.Kept(o.Labels, i.handle.OwnKey(), o.Labels))
		update.Labels = &labels
		changes = append(changes, graph.Change{Field: "label " + tag.LabelOwner, To: i.handle.OwnKey().Owner})
	}
	return graph.Update{Changes: changes, Apply: func(ctx context.Context) error {
		defer i.inventory.Touch(i.api, i.SiteID(), o.ID)
		_, err := i.api.UpdateInstance(ctx, i.SiteID(), o.ID, update)
		return err
	}}
}

// delete reports to the site's operator what is wrong with the machine, if that is certain: otherwise the next tenant gets the
// same one.
func (i *Instance) delete(ctx context.Context, id string, in graph.Scope) error {
	siteID := in[infrav1.KindSite]
	i.inventory.Touch(i.api, siteID, id)
	defer i.inventory.Touch(i.api, siteID, id) // a list may have begun meanwhile
	now, err := i.api.Instance(ctx, siteID, id)
	if err != nil {
		return err
	}
	// What the decision has seen is the inventory's, which may be some intervals old, or a list's.
	if is := tag.FromLabels(now.Labels); is.Owner != i.Graph.OwnerID() || i.got != nil && i.got.ID == id && is != tag.FromLabels(i.got.Labels) {
		return &fault.Error{Class: fault.Busy, Op: "delete instance " + id, Err: errors.New("its labels have changed: it is looked at again")}
	}
	issue, err := i.healthIssue(ctx, id)
	if err != nil {
		return err
	}
	if issue != nil {
		return i.api.DeleteUnhealthyInstance(ctx, siteID, id, *issue)
	}
	return i.api.DeleteInstance(ctx, siteID, id)
}

// phaseOf is the phase of an instance.
func phaseOf(o *bmm.Instance) phases.Phase {
	switch o.Status {
	case bmm.InstanceReady:
		return phases.Ready()
	case bmm.InstanceTerminating, bmm.InstanceTerminated:
		return phases.Deleting()
	case bmm.InstanceError:
		return phases.Failed("the BMM API reports instance %s as Error: ask the site's operator, or delete the Machine to "+
			"get another one", o.ID)
	case bmm.InstanceRepairing, bmm.InstanceRebooting, bmm.InstanceUpdating: // it was ready, and comes back as the same
		return phases.Waiting("instance %s is %s", o.ID, o.Status).Because(string(o.Status))
	}
	return phases.Waiting("instance %s is %s", o.ID, o.Status)
}

// Addresses of an instance, as its node has them: its name, and the addresses of all its interfaces.
func Addresses(o *bmm.Instance) []corev1.NodeAddress {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: o.Name}}
	for _, i := range o.Interfaces {
		for _, ip := range i.IPAddresses {
			addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
		}
	}
	return addresses
}
