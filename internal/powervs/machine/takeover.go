package machine

import (
	"cmp"
	"context"
	"errors"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// shown is what another provider has made for this machine alone, as lines of a ledger: the virtual machine that spec or status name, its
// members of pools, and its bootstrap data.
func (n *node) shown(ctx context.Context) (lines []ledgers.Resource, _ error) {
	made := n.object.OutsideIDs()
	if len(made) == 0 {
		return nil, nil
	}
	id, deleted := made[0].ID, !n.object.DeletionTimestamp.IsZero()
	if err := n.locate(ctx, id); err != nil {
		return nil, err
	}
	server, err := n.reconciler.VMs.Of(ctx, n.api, n.in, id)
	switch {
	case fault.IsNotFound(err) && deleted:
	case fault.IsNotFound(err):
		return nil, fault.Invalidf("virtual machine %s, which spec or status show, doesn't exist: delete the Machine to get another one", id)
	case err != nil:
		return nil, err
	}
	lines = append(lines, ledgers.Resource{Key: vmKey, Kind: n.vms.Name, ID: id, Own: true, Scope: scopeOf(n.in)})
	places, known := n.places()
	if !known && !deleted {
		return nil, busy("the load balancers of the cluster aren't known yet")
	}
	if ip := cmp.Or(address(server), n.shownAddress()); ip != "" {
		for _, p := range places {
			member, err := n.memberAt(ctx, p, ip)
			if err != nil {
				return nil, err
			}
			lines = append(lines, member...)
		}
	}
	data, err := n.storedData(ctx)
	return append(lines, data...), err
}

// locate finds the workspace of a virtual machine, if no provider ID names it.
func (n *node) locate(ctx context.Context, id string) (err error) {
	switch {
	case n.in.ID != "":
		return nil
	case n.infra == nil || n.infra.Status.ServiceInstance == nil && !n.namesWorkspace():
		return busy("neither spec.providerID nor an IBMPowerVSCluster says which workspace virtual machine " + id + " is in: create the " +
			"IBMPowerVSCluster again; if the virtual machine is gone, remove the finalizer")
	}
	n.in, err = n.workspace(ctx)
	return err
}

// shownAddress is the first internal one of the status.
func (n *node) shownAddress() string {
	for _, a := range n.object.Status.Addresses {
		if a.Type == clusterv1.MachineInternalIP {
			return a.Address
		}
	}
	return ""
}

// memberAt is the member for an address at a port of a load balancer; none if there is no such one.
func (n *node) memberAt(ctx context.Context, p place, ip string) (lines []ledgers.Resource, _ error) {
	in, err := n.poolOf(ctx, p)
	switch {
	case fault.IsNotFound(err), err == nil && in == nil:
		return nil, nil
	case err != nil:
		return nil, err
	}
	found, err := n.members.Find(ctx, graph.Key{Scope: in, Title: titleOf(ip, p.port)})
	for _, m := range found {
		lines = append(lines, ledgers.Resource{Key: memberKey(p, ip), Kind: n.members.Name, ID: m.ID, Own: true, Scope: in})
	}
	return lines, err
}

// storedData is the bootstrap data in the bucket of the cluster; none if there is no bucket, or no data.
func (n *node) storedData(ctx context.Context) (lines []ledgers.Resource, _ error) {
	in := n.bucket()
	if in == nil {
		return nil, nil
	}
	found, err := n.data.Find(ctx, graph.Key{Scope: in, Title: n.objectKey()})
	for _, o := range found {
		lines = append(lines, ledgers.Resource{Key: dataKey, Kind: n.data.Name, ID: o.id, Own: true, Scope: in})
	}
	return lines, err
}

func busy(why string) error { return &fault.Error{Class: fault.Busy, Err: errors.New(why)} }
