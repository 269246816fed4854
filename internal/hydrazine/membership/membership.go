// Package membership says whether a host may be a member of the group that it names, beside all the others. It is pure: the
// webhook calls it before an object exists, and the controller afterwards, since both objects of a conflict may be created
// concurrently.
package membership

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// Reasons for which a host can't be a member.
const (
	ReasonNoGroup          = "ResourceGroupNotFound"
	ReasonOutsideNetwork   = "OutsideNetwork"
	ReasonAddressTaken     = "AddressTaken"
	ReasonDPUOfAnotherHost = "DPUTaken"
)

// Problem is what keeps a host out of a group. The zero value is none.
type Problem struct {
	Reason string
	// Field of the spec, such as "hostIP".
	Field string
	// Message names the other object and the remedy.
	Message string
}

// Of a host in a group: nil if there is no such group, or it is being deleted. The others are all ManagedResources that share
// the group or one of the host's DPU IPs; the host itself may be among them. The first one stays: what was accepted once is
// never refused because of a later one.
func Of(r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, others []resourcev1.ManagedResource) Problem {
	if group == nil || !group.DeletionTimestamp.IsZero() {
		return Problem{ReasonNoGroup, "resourceGroup", fmt.Sprintf("there is no ResourceGroup %s/%s: make it, or name another one",
			r.Namespace, r.Spec.ResourceGroup)}
	}
	if problem := place(r, group); problem.Reason != "" {
		return problem
	}
	return Conflict(r, others)
}

// Conflict of a host with the first of the hosts before it, whether or not its group exists.
func Conflict(r *resourcev1.ManagedResource, others []resourcev1.ManagedResource) (found Problem) {
	for i := range others {
		if problem := held(r, &others[i]); problem.Reason != "" {
			return problem
		}
	}
	var first *resourcev1.ManagedResource
	for i := range others {
		other := &others[i]
		if first != nil && before(other, first) > 0 {
			continue
		}
		if problem := conflict(r, other); problem.Reason != "" {
			first, found = other, problem
		}
	}
	return found
}

// before orders hosts: attached ones first, then older ones. An older one may have changed what it asks for.
func before(a, b *resourcev1.ManagedResource) int {
	if a.UID == b.UID {
		return 0
	}
	return cmp.Or(order(!attached(a), !attached(b)), Older(a, b))
}

// keeps reports whether of two hosts that ask for an address of the fabric this one keeps it: the one that has it, then the older
// one. One that is attached with other addresses, and asks for this one now, has it no more than a new one.
func keeps(r, other *resourcev1.ManagedResource, ip resourcev1.IPAddress) bool {
	return cmp.Or(order(!has(r, ip), !has(other, ip)), Older(r, other)) < 0
}

// has reports whether a DPU may answer for an address because of a host, or because it is the host's DPU.
func has(r *resourcev1.ManagedResource, ip resourcev1.IPAddress) bool {
	return slices.Contains(Reached(r), ip) || attached(r) && (r.Spec.DPUIPs[0] == ip || slices.Contains(r.Status.DPUAddresses, ip))
}

// attached reports whether a DPU may have the host on a network, and it is the one that the host asks for.
func attached(r *resourcev1.ManagedResource) bool {
	at := r.Status.LogicalPortReference
	return r.Status.LeaseExpires != nil && at != nil && len(r.Spec.DPUIPs) > 0 && at.Agent == r.Spec.DPUIPs[0]
}

// Older orders by age: negative means that a is older than b. Two with the same UID are the same.
func Older(a, b *resourcev1.ManagedResource) int {
	if a.UID == b.UID {
		return 0
	}
	// One that doesn't exist yet, at admission, is younger than all.
	return cmp.Or(
		order(a.CreationTimestamp.IsZero(), b.CreationTimestamp.IsZero()),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.UID, b.UID),
	)
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// place reports whether the host's addresses are in the group's networks.
func place(r *resourcev1.ManagedResource, group *resourcev1.ResourceGroup) Problem {
	if problem := inside(r, group.Spec.Network, "hostIP", r.Spec.HostIP); problem.Reason != "" || r.Spec.SecondHostIP == "" {
		return problem
	}
	if group.Spec.SecondNetwork == nil {
		return Problem{ReasonOutsideNetwork, "secondHostIP", fmt.Sprintf("ResourceGroup %s has no second network: leave %s out",
			r.Spec.ResourceGroup, r.Spec.SecondHostIP)}
	}
	return inside(r, group.Spec.SecondNetwork, "secondHostIP", r.Spec.SecondHostIP)
}

// inside reports whether an address is one of a network's hosts.
func inside(r *resourcev1.ManagedResource, n *resourcev1.IPNet, field string, ip resourcev1.IPAddress) Problem {
	network, gateway, err := n.Parse()
	if err != nil {
		return Problem{ReasonOutsideNetwork, "resourceGroup", fmt.Sprintf("ResourceGroup %s has no network: %v", r.Spec.ResourceGroup, err)}
	}
	host, err := netip.ParseAddr(string(ip))
	outside := func(why string) Problem {
		return Problem{ReasonOutsideNetwork, field, fmt.Sprintf("%s %s of ResourceGroup %s: choose another address of the network",
			ip, why, r.Spec.ResourceGroup)}
	}
	switch {
	case err != nil || !network.Contains(host):
		return outside(fmt.Sprintf("isn't in the network %s", network))
	case host == gateway:
		return outside("is the gateway")
	case host == network.Addr():
		return outside("is the network's own address")
	case host.Is4() && host == Last(network):
		return outside("is the broadcast address")
	}
	return Problem{}
}

// Last address of an IPv4 network, which is its broadcast address.
func Last(network netip.Prefix) netip.Addr {
	bytes := network.Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(bytes)
}

// Reached are the addresses of the fabric that a DPU may answer for because of a host, whatever its spec says by now.
func Reached(r *resourcev1.ManagedResource) []resourcev1.IPAddress {
	at := r.Status.LogicalPortReference
	if at == nil {
		return nil
	}
	reached := append(slices.Clone(at.FormerFabricIPs), at.FabricIP, at.SecondFabricIP)
	return slices.DeleteFunc(reached, func(ip resourcev1.IPAddress) bool { return ip == "" })
}

// held is the conflict with a host whose DPU may still answer for an address. Which one is older doesn't matter then, nor what the other
// one asks for by now. Of two whose DPUs both answer, the one that has moved, or asks for something else, hasn't released it yet.
func held(r, other *resourcev1.ManagedResource) Problem {
	if other.UID == r.UID {
		return Problem{}
	}
	own, moving := Reached(r), other.Status.LeaseExpires != nil && !attached(other)
	for _, ip := range Reached(other) {
		if slices.Contains(r.Spec.DPUIPs, ip) && (!slices.Contains(own, ip) || moving || !slices.Contains(other.Spec.DPUIPs, ip)) {
			return Problem{ReasonAddressTaken, "dpuIPs", fmt.Sprintf("the DPU of %s may still answer for the fabric's address %s: "+
				"wait until the DPU has released it, or choose another address", name(other, r.Namespace), ip)}
		}
	}
	return Problem{}
}

// conflict of a host with another one that comes before it.
func conflict(r, first *resourcev1.ManagedResource) Problem {
	if first.UID == r.UID {
		return Problem{}
	}
	earlier := before(first, r) < 0
	taken := func(field, what string) Problem {
		return Problem{ReasonAddressTaken, field, fmt.Sprintf("%s is in use by %s: choose another one, or delete that object", what, name(first, r.Namespace))}
	}
	if earlier && sameGroup(r, first) {
		switch {
		case r.Spec.HostIP == first.Spec.HostIP || r.Spec.HostIP == first.Spec.SecondHostIP:
			return taken("hostIP", "the address "+string(r.Spec.HostIP))
		case r.Spec.SecondHostIP != "" && (r.Spec.SecondHostIP == first.Spec.HostIP || r.Spec.SecondHostIP == first.Spec.SecondHostIP):
			return taken("secondHostIP", "the address "+string(r.Spec.SecondHostIP))
		case strings.EqualFold(string(r.Spec.HostMAC), string(first.Spec.HostMAC)):
			return taken("hostMAC", "the address "+string(r.Spec.HostMAC))
		}
	}
	for i, ip := range r.Spec.DPUIPs {
		switch {
		case i == 0 && sameDPU(r, first):
			if problem := share(r, first); earlier && problem != "" {
				return Problem{ReasonDPUOfAnotherHost, "dpuIPs", fmt.Sprintf("the DPU %s %s", ip, problem)}
			}
		case !keeps(first, r, ip):
		case slices.Contains(first.Spec.DPUIPs, ip), slices.Contains(first.Status.DPUAddresses, ip):
			return taken("dpuIPs", "the fabric's address "+string(ip))
		}
	}
	return Problem{}
}

// sameDPU reports whether two hosts are behind the same DPU, which may have several addresses of its own.
func sameDPU(a, b *resourcev1.ManagedResource) bool {
	one, other := a.Spec.DPUIPs[0], b.Spec.DPUIPs[0]
	return one == other || slices.Contains(a.Status.DPUAddresses, other) || slices.Contains(b.Status.DPUAddresses, one)
}

// share says why two hosts can't be behind the same DPU.
func share(r, first *resourcev1.ManagedResource) string {
	switch {
	case !sameGroup(r, first):
		return fmt.Sprintf("is in use for another ResourceGroup by %s: a DPU serves one ResourceGroup at a time; delete that object first", name(first, r.Namespace))
	case r.Spec.Identifier == first.Spec.Identifier || r.Spec.Identifier == "" || first.Spec.Identifier == "":
		return fmt.Sprintf("already has the host of %s: if a DPU has several hosts, set identifier in each ManagedResource", name(first, r.Namespace))
	}
	return ""
}

func sameGroup(a, b *resourcev1.ManagedResource) bool {
	return a.Namespace == b.Namespace && a.Spec.ResourceGroup == b.Spec.ResourceGroup
}

// name of an object as far as users of a namespace may know it: others are other tenants'.
func name(r *resourcev1.ManagedResource, namespace string) string {
	if r.Namespace != namespace {
		return "a ManagedResource of another namespace"
	}
	return "ManagedResource " + r.Name
}
