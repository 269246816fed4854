package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

const (
	inbound = "inbound"
	// between is what divides the text of a rule: the other side follows.
	between = " with "
	// The other sides. Names are those of the VPC.
	anywhere   = "any"
	anyCIDR    = "0.0.0.0/0"
	ofAddress  = "address "
	ofSubnet   = "subnet "
	ofGroup    = "group "
	allTraffic = "any" // the protocol
)

// traffic is what a rule allows, as the spec says it. Its text is the title of the rule: a rule has a name, but it is what it allows that
// makes it the same as another one.
type traffic struct {
	direction, protocol string
	// ports are FROM-TO of tcp and udp, TYPE or TYPE/CODE of icmp; empty for all.
	ports, remote string
}

func (t traffic) String() string {
	return strings.Join(strings.Fields(t.direction+" "+t.protocol+" "+t.ports), " ") + between + t.remote
}

// headOf is the text of a rule without its other side.
func headOf(rule ibm.SecurityGroupRule) string {
	t := traffic{direction: rule.Direction, protocol: rule.Protocol}
	switch {
	case rule.PortMin != nil && rule.PortMax != nil:
		t.ports = fmt.Sprintf("%d-%d", *rule.PortMin, *rule.PortMax)
	case rule.ICMPType != nil && rule.ICMPCode != nil:
		t.ports = fmt.Sprintf("%d/%d", *rule.ICMPType, *rule.ICMPCode)
	case rule.ICMPType != nil:
		t.ports = fmt.Sprint(*rule.ICMPType)
	}
	head, _, _ := strings.Cut(t.String(), between)
	return head
}

// rule to create.
func (t traffic) rule(remote ibm.RuleRemote) (ibm.SecurityGroupRule, error) {
	rule := ibm.SecurityGroupRule{Direction: t.direction, Protocol: t.protocol, Remote: remote}
	if t.ports == "" {
		return rule, nil
	}
	first, second := new(int64), new(int64)
	read, err := fmt.Sscanf(strings.NewReplacer("-", " ", "/", " ").Replace(t.ports)+" ", "%d %d", first, second)
	if t.protocol != "icmp" {
		rule.PortMin, rule.PortMax = first, second
		return rule, err
	}
	if rule.ICMPType = first; read == 2 {
		rule.ICMPCode = second
	}
	return rule, nil
}

func ruleKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.SecurityGroupRule] {
	return &graph.Kind[ibm.SecurityGroupRule]{
		Name: infrav1.KindSecurityGroupRule, Service: service,
		Within: []string{infrav1.KindRegion, infrav1.KindVPC, infrav1.KindSecurityGroup},
		ID:     func(r *ibm.SecurityGroupRule) string { return r.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.SecurityGroupRule, error) {
			return api.SecurityGroupRule(ctx, in[infrav1.KindRegion], in[infrav1.KindSecurityGroup], id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.SecurityGroupRule, error) {
			head, side, _ := strings.Cut(key.Title, between)
			remote, found, err := remoteOf(ctx, api, key.Scope, side)
			if err != nil || !found { // without the other side there is no such rule
				return nil, err
			}
			all, err := api.SecurityGroupRules(ctx, key.Scope[infrav1.KindRegion], key.Scope[infrav1.KindSecurityGroup])
			return slices.DeleteFunc(all, func(r ibm.SecurityGroupRule) bool { return headOf(r) != head || r.Remote != remote }), err
		}),
		Phase: func(*ibm.SecurityGroupRule) phases.Phase { return phases.Ready() },
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteSecurityGroupRule(ctx, in[infrav1.KindRegion], in[infrav1.KindSecurityGroup], id)
		},
	}
}

// remoteOf is the other side of a rule of a VPC. Found is false if the VPC has nothing of the name.
func remoteOf(ctx context.Context, api *ibm.Client, in graph.Scope, side string) (_ ibm.RuleRemote, found bool, _ error) {
	region, vpc := in[infrav1.KindRegion], in[infrav1.KindVPC]
	if address, is := strings.CutPrefix(side, ofAddress); is {
		return ibm.RuleRemote{Address: address}, true, nil
	}
	if name, is := strings.CutPrefix(side, ofSubnet); is {
		all, err := api.Subnets(ctx, region, vpc)
		some, err := withName(all, err, name, func(s ibm.Subnet) string { return s.Name })
		if err != nil || len(some) == 0 {
			return ibm.RuleRemote{}, false, err
		}
		return ibm.RuleRemote{CIDR: some[0].CIDR}, true, nil
	}
	if name, is := strings.CutPrefix(side, ofGroup); is {
		all, err := api.SecurityGroups(ctx, region, vpc)
		some, err := withName(all, err, name, func(g ibm.SecurityGroup) string { return g.Name })
		if err != nil || len(some) == 0 {
			return ibm.RuleRemote{}, false, err
		}
		return ibm.RuleRemote{SecurityGroupID: some[0].ID}, true, nil
	}
	return ibm.RuleRemote{CIDR: anyCIDR}, true, nil
}

// addRule adds a rule after others, of which the first is its group. Mine says that none may be added to a group of the user's own: that
// it is one is seen only when it is found.
func (r *resources) addRule(
	key, condition string, group *graph.Handle[ibm.SecurityGroup], mine bool, after []graph.Ref, allowed traffic,
) *graph.Handle[ibm.SecurityGroupRule] {
	return graph.Add(r.graph, r.kinds.Rule, graph.Want[ibm.SecurityGroupRule]{
		Key: key, Condition: condition, After: append([]graph.Ref{group}, after...), Claim: graph.UseOrCreate(allowed.String()),
		Create: func(ctx context.Context, key graph.Key) (graph.Call[ibm.SecurityGroupRule], error) {
			if mine && group.IsUsers() {
				return nil, &fault.Error{Class: fault.Busy, Err: fmt.Errorf("security group %s is your own, and isn't changed", group.ID())}
			}
			remote, found, err := remoteOf(ctx, r.api, key.Scope, allowed.remote)
			if err == nil && !found {
				err = fault.Invalidf("the VPC has no %s: correct the rules in spec.vpcSecurityGroups", allowed.remote)
			}
			if err != nil {
				return nil, err
			}
			rule, err := allowed.rule(remote)
			if err != nil {
				return nil, err
			}
			region, group := key.Scope[infrav1.KindRegion], key.Scope[infrav1.KindSecurityGroup]
			return func(ctx context.Context) (*ibm.SecurityGroupRule, error) {
				return r.api.CreateSecurityGroupRule(ctx, region, group, rule)
			}, nil
		},
	})
}

// wantRules adds the rules of a security group, one for each of their remotes.
func (r *resources) wantRules(name string, group *graph.Handle[ibm.SecurityGroup], specs []infrav1.VPCSecurityGroupRule) {
	added := map[string]bool{}
	for _, spec := range specs {
		side := spec.Source
		if spec.Direction == infrav1.SecurityGroupOutbound {
			side = spec.Destination
		}
		for _, remote := range side.Remotes {
			allowed := trafficOf(spec.Direction, side, remote)
			key := ruleKey + name + "/" + allowed.String()
			if added[key] {
				continue
			}
			added[key] = true
			rule := r.addRule(key, infrav1.VPCSecurityGroupReadyCondition, group, true, r.remoteRefs(group, remote), allowed)
			r.rules[name] = append(r.rules[name], rule)
		}
	}
}

// remoteRefs are what has to be there before a rule about it: of the cluster's own subnets and groups.
func (r *resources) remoteRefs(group *graph.Handle[ibm.SecurityGroup], remote infrav1.VPCSecurityGroupRuleRemote) (refs []graph.Ref) {
	for _, s := range r.subnets {
		if s.name == remote.CIDRSubnetName {
			refs = append(refs, s.handle)
		}
	}
	for _, g := range r.groups {
		if g.name == remote.SecurityGroupName && g.handle != group {
			refs = append(refs, g.handle)
		}
	}
	return refs
}

func trafficOf(
	direction infrav1.VPCSecurityGroupRuleDirection, side *infrav1.VPCSecurityGroupRulePrototype, remote infrav1.VPCSecurityGroupRuleRemote,
) traffic {
	t := traffic{direction: string(direction), protocol: string(side.Protocol), remote: anywhere}
	if side.Protocol == infrav1.SecurityGroupProtocolAll {
		t.protocol = allTraffic
	}
	switch {
	case side.PortRange != nil:
		t.ports = fmt.Sprintf("%d-%d", side.PortRange.MinimumPort, side.PortRange.MaximumPort)
	case side.ICMPType != nil && side.ICMPCode != nil:
		t.ports = fmt.Sprintf("%d/%d", *side.ICMPType, *side.ICMPCode)
	case side.ICMPType != nil:
		t.ports = fmt.Sprint(*side.ICMPType)
	}
	switch remote.RemoteType {
	case infrav1.SecurityGroupRemoteAddress:
		t.remote = ofAddress + remote.Address
	case infrav1.SecurityGroupRemoteCIDR:
		t.remote = ofSubnet + remote.CIDRSubnetName
	case infrav1.SecurityGroupRemoteGroup:
		t.remote = ofGroup + remote.SecurityGroupName
	}
	return t
}
