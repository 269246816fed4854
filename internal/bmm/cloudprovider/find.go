package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/fault"
)

// found is the instance of a node, and the site that it was found at.
type found struct {
	site
	is *bmm.Instance
}

// look for an instance in the newest list. Nil without an error means that there is none in it.
type look func(context.Context, site) (*bmm.Instance, error)

// find the instance of a node, and record what is wrong with it. cloudprovider.InstanceNotFound is the only error that
// means that it is gone.
func (c *Cloud) find(ctx context.Context, node *corev1.Node) (found, error) {
	f, err := c.seek(ctx, node)
	c.problems.note(node, f.is, err)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return found{}, cloudprovider.InstanceNotFound // controllers compare it as it is
	}
	return f, err
}

func (c *Cloud) seek(ctx context.Context, node *corev1.Node) (found, error) {
	look, err := c.lookFor(node)
	if err != nil {
		return found{}, err
	}
	at, err := c.site(ctx)
	if err != nil {
		return found{}, ofSite(err)
	}
	it, err := look(ctx, at)
	// Where every interface has its address the list is newer than the boot of the machine.
	if err == nil && (it == nil || uninitialized(node) && instance.Unaddressed(it) != "") {
		since := c.problems.soughtInVain(node, c.config.Interval.Duration)
		if err := at.refresh(ctx, since); err != nil {
			return found{}, ofSite(err)
		}
		it, err = look(ctx, at)
	}
	switch {
	case err != nil:
		return found{}, err
	case it == nil:
		return found{}, &problem{reason: ReasonUnknown, err: fmt.Errorf(
			"no instance of site %s is named %s or has an address of this Node: start its kubelet with the right name or "+
				"with --provider-id", at.id(), node.Name)}
	}
	return found{at, it}, nil
}

// lookFor says how the instance of a node is found: by the node's provider ID, or without one by name and addresses.
func (c *Cloud) lookFor(node *corev1.Node) (look, error) {
	if node.Spec.ProviderID == "" {
		return func(ctx context.Context, at site) (*bmm.Instance, error) { return c.search(ctx, at, node) }, nil
	}
	id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		reason, remedy := ReasonMalformedProviderID, "delete the Node, and start its kubelet without --provider-id"
		if _, foreign := errors.AsType[*providerid.ForeignError](err); foreign {
			reason, remedy = ReasonForeignProviderID, "the Node is left to that provider"
		}
		return nil, &problem{reason: reason, err: fmt.Errorf("%w: %s", err, remedy)}
	}
	return func(ctx context.Context, at site) (*bmm.Instance, error) { return c.get(ctx, at, id) }, nil
}

// get the instance that a provider ID names.
func (c *Cloud) get(ctx context.Context, at site, id providerid.ProviderID) (*bmm.Instance, error) {
	if id.SiteID != at.id() {
		return nil, &problem{reason: ReasonOtherSite, err: fmt.Errorf(
			"instance %s is at site %s, but this cluster's cloud controller manager manages nodes at site %s only", id.InstanceID, id.SiteID, at.id())}
	}
	instance, err := at.instance(ctx, id.InstanceID)
	switch {
	case err == nil:
		return instance, nil
	case fault.IsNotFound(err):
		return nil, &problem{reason: ReasonNotFound, err: fmt.Errorf(
			"the BMM API has no instance %s, but has its site: the Node is deleted once it isn't Ready: %w",
			id.InstanceID, cloudprovider.InstanceNotFound)}
	}
	return nil, c.unknown(at, err)
}

// unknown is an error that proves nothing. If the site's instances can be listed, it is about the one instance.
func (c *Cloud) unknown(at site, err error) error {
	if _, listing := at.listed(); listing != nil {
		return ofSite(err)
	}
	return &problem{reason: ReasonUnknown, err: err}
}

// search for the instance of a node that has no provider ID: by the node's name, else by its addresses. Addresses are
// reused, so a list from before the node existed proves nothing about it.
func (c *Cloud) search(ctx context.Context, at site, node *corev1.Node) (*bmm.Instance, error) {
	var addresses []netip.Addr
	if listed, _ := at.listed(); listed.After(node.CreationTimestamp.Time) {
		addresses = addressesOf(node)
	}
	for _, way := range []struct {
		what string
		by   trait
	}{
		{"the name " + node.Name, trait{name: node.Name}},
		{"an address of this Node", trait{addresses: addresses}},
	} {
		all, err := at.find(ctx, way.by)
		if err != nil {
			return nil, ofSite(err)
		}
		if len(all) == 0 {
			continue
		}
		return c.only(all, way.what, node, at)
	}
	return nil, nil
}

// only is the instance of a node, if there is exactly one candidate, and no other node is on it.
func (c *Cloud) only(all []bmm.Instance, what string, node *corev1.Node, at site) (*bmm.Instance, error) {
	if len(all) > 1 {
		var ids []string
		for _, i := range all {
			ids = append(ids, i.ID)
		}
		slices.Sort(ids)
		return nil, &problem{reason: ReasonAmbiguous, err: fmt.Errorf(
			"instances %s have %s: start the Node's kubelet with --provider-id=%s",
			strings.Join(ids, " and "), what, providerid.ProviderID{SiteID: at.id(), InstanceID: "INSTANCE"})}
	}
	for _, other := range c.nodes.of(providerid.ProviderID{SiteID: at.id(), InstanceID: all[0].ID}) {
		if other.UID != node.UID {
			return nil, &problem{reason: ReasonAmbiguous, err: fmt.Errorf(
				"instance %s has %s, and already belongs to Node %s: delete the Node that doesn't run on the instance",
				all[0].ID, what, other.Name)}
		}
	}
	return &all[0], nil
}

// addressesOf are the IP addresses that a node's kubelet has reported.
func addressesOf(node *corev1.Node) (known []netip.Addr) {
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		if ip, err := netip.ParseAddr(a.Address); err == nil {
			known = append(known, ip.Unmap())
		}
	}
	return known
}

// trait is what an instance is searched for by: its name or, where there is none, one of its addresses.
type trait struct {
	name      string
	addresses []netip.Addr
}

// of reports whether an instance has it. No node runs on a machine that was given back.
func (t trait) of(i *bmm.Instance) bool {
	if i.Status == bmm.InstanceTerminated {
		return false
	}
	if t.name != "" {
		return i.Name == t.name
	}
	return slices.ContainsFunc(ipsOf(i), func(ip netip.Addr) bool { return slices.Contains(t.addresses, ip) })
}

// ipsOf are the addresses of an instance, in the form in which they are compared.
func ipsOf(i *bmm.Instance) (known []netip.Addr) {
	for _, n := range i.Interfaces {
		for _, text := range n.IPAddresses {
			if ip, err := netip.ParseAddr(text); err == nil {
				known = append(known, ip.Unmap())
			}
		}
	}
	return known
}

// ofState is the problem of an instance; nil for a healthy one.
func ofState(i *bmm.Instance) error {
	var what string
	switch i.Status {
	case bmm.InstanceError:
		what = "ask the site's operator, or replace the machine"
	case bmm.InstanceRepairing:
		what = "the site's operator works on the machine"
	case bmm.InstanceTerminating:
		what = "it was deleted outside Bedplate, and the Node is deleted when the instance is gone"
	case bmm.InstanceTerminated:
		what = "its machine was released, and the Node is deleted when the BMM API no longer has the instance"
	default:
		return nil
	}
	return &problem{reason: ReasonInstance + string(i.Status), err: fmt.Errorf("instance %s is %s: %s", i.ID, i.Status, what)}
}
