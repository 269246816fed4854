package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const (
	servedPort = 8080 // of the servers of Settle
	atOnce     = 8    // probes
)

// Flow is traffic that has to pass, or must not, and how it went.
type Flow struct {
	From     string         `json:"from"` // node
	To       string         `json:"to"`   // what has the address
	Address  netip.Addr     `json:"address"`
	Protocol probe.Protocol `json:"protocol"`
	Passes   bool           `json:"passes"`            // whether it should
	Source   netip.Addr     `json:"source,omitzero"`   // that the other end has to see
	Problem  string         `json:"problem,omitempty"` // how it went otherwise
}

// Table writes flows as a list for people: pass or FAIL, and why.
func Table(w io.Writer, flows []Flow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\tFROM\tTO\tADDRESS\tBY\tEXPECTED")
	for _, f := range flows {
		verdict, expected := "pass", "no answer"
		if f.Passes {
			expected = "an answer"
		}
		if f.Source.IsValid() {
			expected += ", and to be seen as " + f.Source.String()
		}
		if f.Problem != "" {
			verdict, expected = "FAIL", expected+": "+f.Problem
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", verdict, f.From, f.To, f.Address, f.Protocol, expected)
	}
	return table.Flush()
}

// member is a host of the fabric on a network.
type member struct {
	host         fabric.Host
	group        string
	ip, fabricIP netip.Addr
	reachable    bool // from the fabric
	network      netip.Prefix
	gateway      netip.Addr
}

// members are the hosts that ManagedResources speak of, which are found by their MAC addresses.
func (o *Overlay) members(groups []resourcev1.ResourceGroup, resources []resourcev1.ManagedResource) ([]member, error) {
	var all []member
	for _, r := range resources {
		g := slices.IndexFunc(groups, func(g resourcev1.ResourceGroup) bool { return g.Name == r.Spec.ResourceGroup })
		h := slices.IndexFunc(o.Topology().Hosts(), func(h fabric.Host) bool {
			return strings.EqualFold(h.MAC.String(), string(r.Spec.HostMAC))
		})
		if g < 0 || h < 0 {
			return nil, fmt.Errorf("ManagedResource %s: the fabric has no such host, or there is no ResourceGroup %s", r.Name, r.Spec.ResourceGroup)
		}
		network, gateway, err := groups[g].Spec.Network.Parse()
		if err != nil {
			return nil, fmt.Errorf("ResourceGroup %s: %w", groups[g].Name, err)
		}
		m := member{
			host: o.Topology().Hosts()[h], group: groups[g].Name, network: network, gateway: gateway,
			reachable: r.Spec.HostAccess != resourcev1.NetworkAccess,
		}
		if m.ip, err = netip.ParseAddr(string(r.Spec.HostIP)); err != nil {
			return nil, fmt.Errorf("ManagedResource %s: %w", r.Name, err)
		}
		if len(r.Spec.DPUIPs) > 1 {
			if m.fabricIP, err = netip.ParseAddr(string(r.Spec.DPUIPs[1])); err != nil {
				return nil, fmt.Errorf("ManagedResource %s: %w", r.Name, err)
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// Settle gives hosts their addresses, as DHCP would, lets them and the data centre's server answer, and returns the traffic
// that has to pass among them and that must not.
func (o *Overlay) Settle(groups []resourcev1.ResourceGroup, resources []resourcev1.ManagedResource) ([]Flow, error) {
	members, err := o.members(groups, resources)
	if err != nil {
		return nil, err
	}
	if _, err := o.Serve(fabric.DC, servedPort); err != nil {
		return nil, err
	}
	for _, m := range members {
		if err := o.Configure(m.host.Name, netip.PrefixFrom(m.ip, m.network.Bits()), m.gateway); err != nil {
			return nil, err
		}
		if _, err := o.Serve(m.host.Name, servedPort); err != nil {
			return nil, err
		}
	}
	return flows(members, o.server(fabric.DC)), nil
}

// flows are those of the design's traffic analysis: within a network, between networks, and to and from the data centre.
func flows(members []member, dc netip.Addr) []Flow {
	var all []Flow
	for _, from := range members {
		add := func(to string, address netip.Addr, protocol probe.Protocol, passes bool, source netip.Addr) {
			all = append(all, Flow{From: from.host.Name, To: to, Address: address, Protocol: protocol, Passes: passes, Source: source})
		}
		for _, to := range members {
			own := slices.ContainsFunc(members, func(m member) bool { return m.group == from.group && m.ip == to.ip })
			switch {
			case to.host.Name == from.host.Name:
			case to.group == from.group:
				add(to.host.Name, to.ip, probe.ICMP, true, netip.Addr{})
			case !own: // otherwise the address means a host of its own network
				add(to.host.Name, to.ip, probe.ICMP, false, netip.Addr{})
			}
		}
		add("gateway of "+from.group, from.gateway, probe.ICMP, true, netip.Addr{})
		add(fabric.DC, dc, probe.TCP, from.fabricIP.IsValid(), from.fabricIP)
	}
	for _, to := range members {
		if to.fabricIP.IsValid() {
			all = append(all, Flow{
				From: fabric.DC, To: to.host.Name, Address: to.fabricIP, Protocol: probe.TCP, Passes: to.reachable, Source: sourceIf(to.reachable, dc),
			})
		}
	}
	return all
}

func sourceIf(passes bool, source netip.Addr) netip.Addr {
	if passes {
		return source
	}
	return netip.Addr{}
}

// Try sends packets, and writes into each flow what is wrong with it. It returns how many are.
func (o *Overlay) Try(ctx context.Context, flows []Flow) (wrong int) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range flows {
		group.Go(func() error {
			f := &flows[i]
			f.Problem = f.judge(o.Reach(ctx, probe.Probe{
				From: f.From, Protocol: f.Protocol, To: netip.AddrPortFrom(f.Address, servedPort),
			}))
			return nil
		})
	}
	_ = group.Wait()
	for _, f := range flows {
		if f.Problem != "" {
			wrong++
		}
	}
	return wrong
}

// judge compares what came back with what should have. Only silence is isolation: a refusal has been there and back.
func (f Flow) judge(answer probe.Answer, err error) string {
	switch {
	case f.Passes && err != nil:
		return err.Error()
	case f.Passes && f.Source.IsValid() && answer.Source != f.Source:
		return fmt.Sprintf("it is seen as %s", answer.Source)
	case !f.Passes && err == nil:
		return "it passes"
	case !f.Passes && !errors.Is(err, probe.ErrNoAnswer):
		return err.Error()
	}
	return ""
}
