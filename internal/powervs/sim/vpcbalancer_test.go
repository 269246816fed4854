package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func monitor() *vpcv1.LoadBalancerPoolHealthMonitorPrototype {
	return &vpcv1.LoadBalancerPoolHealthMonitorPrototype{
		Type: ptr.To("tcp"), Delay: ptr.To[int64](5), Timeout: ptr.To[int64](2), MaxRetries: ptr.To[int64](2)}
}

func balancerRequest(name string, subnets ...*vpcv1.Subnet) *vpcv1.CreateLoadBalancerOptions {
	o := &vpcv1.CreateLoadBalancerOptions{
		Name: &name, IsPublic: ptr.To(true), ResourceGroup: group(),
		Pools: []vpcv1.LoadBalancerPoolPrototypeLoadBalancerContext{{
			Name: ptr.To("api"), Algorithm: ptr.To("round_robin"), Protocol: ptr.To("tcp"), HealthMonitor: monitor()}},
		Listeners: []vpcv1.LoadBalancerListenerPrototypeLoadBalancerContext{{
			Port: ptr.To[int64](6443), Protocol: ptr.To("tcp"), DefaultPool: &vpcv1.LoadBalancerPoolIdentityByName{Name: ptr.To("api")}}},
	}
	for _, s := range subnets {
		o.Subnets = append(o.Subnets, &vpcv1.SubnetIdentityByID{ID: s.ID})
	}
	return o
}

// newBalancer makes one that is create_pending.
func (n networks) newBalancer(name string, subnets ...*vpcv1.Subnet) *vpcv1.LoadBalancer {
	n.t.Helper()
	made, response, err := n.vpc.CreateLoadBalancer(balancerRequest(name, subnets...))
	n.Expect(answered(response, err)).To(Equal("201"))
	return made
}

func (n networks) balancerStatus(id *string) string {
	b, response, err := n.vpc.GetLoadBalancer(&vpcv1.GetLoadBalancerOptions{ID: id})
	if err != nil {
		return answered(response, err)
	}
	return *b.ProvisioningStatus
}

func (n networks) deleteBalancer(id *string) string {
	return answered(n.vpc.DeleteLoadBalancer(&vpcv1.DeleteLoadBalancerOptions{ID: id}))
}

func (n networks) addMember(b *vpcv1.LoadBalancer, address string) (*vpcv1.LoadBalancerPoolMember, string) {
	made, response, err := n.vpc.CreateLoadBalancerPoolMember(&vpcv1.CreateLoadBalancerPoolMemberOptions{
		LoadBalancerID: b.ID, PoolID: b.Pools[0].ID, Port: ptr.To[int64](6443),
		Target: &vpcv1.LoadBalancerPoolMemberTargetPrototypeIP{Address: &address}})
	return made, answered(response, err)
}

func (n networks) members(b *vpcv1.LoadBalancer) []vpcv1.LoadBalancerPoolMember {
	list, _, err := n.vpc.ListLoadBalancerPoolMembers(&vpcv1.ListLoadBalancerPoolMembersOptions{LoadBalancerID: b.ID, PoolID: b.Pools[0].ID})
	n.Expect(err).NotTo(HaveOccurred())
	return list.Members
}

func TestLoadBalancer_takesItsTimeToComeAndToGo(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		first, second := n.newSubnet(vpc, "a", zone), n.newSubnet(vpc, "b", region+"-2")
		made := n.newBalancer("api", first, second)
		n.Expect(*made.ProvisioningStatus).To(Equal("create_pending"))
		n.Expect(*made.Hostname).To(Equal("127.200.0.1"), "where a lab is, no DNS knows others")
		n.Expect(made.Subnets).To(HaveLen(2))
		n.Expect(*made.SecurityGroups[0].ID).To(Equal(*vpc.DefaultSecurityGroup.ID))
		_, answer := n.addMember(made, "192.168.0.5")
		n.Expect(answer).To(Equal("409 load_balancer_update_conflict"))
		n.Expect(n.deleteBalancer(made.ID)).To(Equal("409 load_balancer_delete_conflict"))
		n.Expect(*n.newBalancer("other", first).Hostname).To(Equal("127.200.0.2"))

		n.pass(150 * time.Second)
		ready, _, err := n.vpc.GetLoadBalancer(&vpcv1.GetLoadBalancerOptions{ID: made.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect([]string{*ready.ProvisioningStatus, *ready.OperatingStatus, *ready.PublicIps[0].Address}).
			To(Equal([]string{"active", "online", "127.200.0.1"}))
		listener, _, err := n.vpc.GetLoadBalancerListener(&vpcv1.GetLoadBalancerListenerOptions{LoadBalancerID: made.ID, ID: made.Listeners[0].ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect([]any{*listener.Port, *listener.Protocol, *listener.DefaultPool.Name, *listener.ProvisioningStatus}).
			To(Equal([]any{int64(6443), "tcp", "api", "active"}))

		n.Expect(n.deleteSubnet(first.ID)).To(Equal("409 subnet_not_empty_loadbalancer_exists"))
		n.Expect(n.deleteBalancer(made.ID)).To(Equal("204"))
		n.Expect(n.balancerStatus(made.ID)).To(Equal("delete_pending"))
		n.Expect(n.deleteBalancer(made.ID)).To(Equal("409 load_balancer_delete_conflict"))
		n.Expect(n.deleteSubnet(second.ID)).To(Equal("409 subnet_not_empty_loadbalancer_exists"), "until it is gone")
		n.pass(time.Minute)
		n.Expect(n.balancerStatus(made.ID)).To(Equal("404 load_balancer_not_found"))
		n.Expect(n.deleteSubnet(second.ID)).To(Equal("204"))
	})
}

func TestLoadBalancer_isBusyAfterEachChange(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		b := n.newBalancer("api", n.newSubnet(vpc, "a", zone))
		n.pass(150 * time.Second)
		member, answer := n.addMember(b, "192.168.0.5")
		n.Expect(answer).To(Equal("201"))
		n.Expect(*member.ProvisioningStatus).To(Equal("create_pending"))
		n.Expect(*member.Target.(*vpcv1.LoadBalancerPoolMemberTarget).Address).To(Equal("192.168.0.5"))
		n.Expect(n.balancerStatus(b.ID)).To(Equal("update_pending"))
		_, answer = n.addMember(b, "192.168.0.6")
		n.Expect(answer).To(Equal("409 load_balancer_update_conflict"))
		n.Expect(n.deleteBalancer(b.ID)).To(Equal("409 load_balancer_delete_conflict"))
		n.pass(20 * time.Second)
		n.Expect(n.balancerStatus(b.ID)).To(Equal("active"))
		n.Expect(*n.members(b)[0].ProvisioningStatus).To(Equal("active"))
		_, answer = n.addMember(b, "192.168.0.5")
		n.Expect(answer).To(Equal("409 member_duplicate_address_and_port"))
		n.Expect(n.balancerStatus(b.ID)).To(Equal("active"), "what was refused is no change")

		remove := func() string {
			return answered(n.vpc.DeleteLoadBalancerPoolMember(&vpcv1.DeleteLoadBalancerPoolMemberOptions{
				LoadBalancerID: b.ID, PoolID: b.Pools[0].ID, ID: member.ID}))
		}
		n.Expect(remove()).To(Equal("204"))
		n.Expect(*n.members(b)[0].ProvisioningStatus).To(Equal("delete_pending"))
		n.Expect(remove()).To(Equal("409 load_balancer_update_conflict"))
		n.pass(20 * time.Second)
		n.Expect(n.members(b)).To(BeEmpty())
		n.Expect(remove()).To(Equal("404 member_not_found"))
	})
}

func TestLoadBalancer_canGetMorePoolsAndListeners(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		b := n.newBalancer("api", n.newSubnet(n.newVPC("net"), "a", zone))
		n.pass(150 * time.Second)
		pool, response, err := n.vpc.CreateLoadBalancerPool(&vpcv1.CreateLoadBalancerPoolOptions{
			LoadBalancerID: b.ID, Name: ptr.To("ssh"), Algorithm: ptr.To("round_robin"), Protocol: ptr.To("tcp"), HealthMonitor: monitor()})
		n.Expect(answered(response, err)).To(Equal("201"))
		listen := func() (*vpcv1.LoadBalancerListener, string) {
			made, response, err := n.vpc.CreateLoadBalancerListener(&vpcv1.CreateLoadBalancerListenerOptions{
				LoadBalancerID: b.ID, Port: ptr.To[int64](22), Protocol: ptr.To("tcp"),
				DefaultPool: &vpcv1.LoadBalancerPoolIdentityLoadBalancerPoolIdentityByID{ID: pool.ID}})
			return made, answered(response, err)
		}
		_, answer := listen()
		n.Expect(answer).To(Equal("409 load_balancer_update_conflict"))
		n.pass(20 * time.Second)
		listener, answer := listen()
		n.Expect(answer).To(Equal("201"))
		n.pass(20 * time.Second)
		_, answer = listen()
		n.Expect(answer).To(Equal("409 listener_duplicate_port"))

		listeners, _, err := n.vpc.ListLoadBalancerListeners(&vpcv1.ListLoadBalancerListenersOptions{LoadBalancerID: b.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(listeners.Listeners).To(HaveLen(2))
		pools, _, err := n.vpc.ListLoadBalancerPools(&vpcv1.ListLoadBalancerPoolsOptions{LoadBalancerID: b.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(pools.Pools).To(HaveLen(2))

		deletePool := func() string {
			return answered(n.vpc.DeleteLoadBalancerPool(&vpcv1.DeleteLoadBalancerPoolOptions{LoadBalancerID: b.ID, ID: pool.ID}))
		}
		n.Expect(deletePool()).To(Equal("409 pool_delete_conflict"))
		n.Expect(answered(n.vpc.DeleteLoadBalancerListener(
			&vpcv1.DeleteLoadBalancerListenerOptions{LoadBalancerID: b.ID, ID: listener.ID}))).To(Equal("204"))
		n.pass(20 * time.Second)
		n.Expect(deletePool()).To(Equal("204"))
		n.pass(20 * time.Second)
		n.Expect(deletePool()).To(Equal("404 pool_not_found"))
	})
}

func TestLoadBalancer_keepsItsSecurityGroups(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		group := n.newGroup(vpc, "api")
		request := balancerRequest("api", n.newSubnet(vpc, "a", zone))
		request.IsPublic = ptr.To(false)
		request.SecurityGroups = []vpcv1.SecurityGroupIdentityIntf{&vpcv1.SecurityGroupIdentityByID{ID: group.ID}}
		b, response, err := n.vpc.CreateLoadBalancer(request)
		n.Expect(answered(response, err)).To(Equal("201"))
		n.pass(150 * time.Second)
		private, _, err := n.vpc.GetLoadBalancer(&vpcv1.GetLoadBalancerOptions{ID: b.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(private.PublicIps).To(BeEmpty())
		n.Expect(*private.PrivateIps[0].Address).To(Equal(*b.Hostname))

		shown, _, err := n.vpc.GetSecurityGroup(&vpcv1.GetSecurityGroupOptions{ID: group.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(shown.Targets).To(HaveLen(1))
		n.Expect(n.deleteGroup(group.ID)).To(Equal("409 security_group_in_use"))
	})
}

func TestLoadBalancerRequests_thatAreRefused(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc, other := n.newVPC("net"), n.newVPC("other")
		subnet, stranger := n.newSubnet(vpc, "a", zone), n.newSubnet(other, "a", zone)
		strange := n.newGroup(other, "api")
		young, _, err := n.vpc.CreateSubnet(&vpcv1.CreateSubnetOptions{SubnetPrototype: &vpcv1.SubnetPrototypeSubnetByTotalCount{
			VPC: &vpcv1.VPCIdentityByID{ID: vpc.ID}, Zone: &vpcv1.ZoneIdentityByName{Name: ptr.To(zone)}, TotalIpv4AddressCount: ptr.To[int64](8)}})
		n.Expect(err).NotTo(HaveOccurred())
		b := n.newBalancer("api", subnet)
		in := func(fields string) string {
			return fmt.Sprintf(`{"subnets": [{"id": %q}], "is_public": true%s}`, *subnet.ID, fields)
		}
		const path, check = "/v1/load_balancers", `"health_monitor": {"type": "tcp", "delay": 5, "timeout": 2, "max_retries": 2}`
		pool := func(fields string) string {
			return in(`, "pools": [{"algorithm": "round_robin", "protocol": "tcp", ` + fields + `}]`)
		}
		listener := func(fields string) string {
			return in(`, "pools": [{"name": "p", "algorithm": "round_robin", "protocol": "tcp", ` + check + `}], "listeners": [` + fields + `]`)
		}
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"taken name":         {"POST", path, in(`, "name": "api"`), 409, "load_balancer_duplicate_name"},
			"bad name":           {"POST", path, in(`, "name": "Api"`), 400, "validation_invalid_name"},
			"no is_public":       {"POST", path, `{"subnets": [{"id": "x"}]}`, 400, "load_balancer_missing_is_public"},
			"no subnets":         {"POST", path, `{"is_public": true}`, 400, "load_balancer_missing_subnets"},
			"unknown subnet":     {"POST", path, `{"is_public": true, "subnets": [{"id": "x"}]}`, 404, "load_balancer_subnet_not_found"},
			"pending subnet":     {"POST", path, `{"is_public": true, "subnets": [{"id": "` + *young.ID + `"}]}`, 400, "load_balancer_invalid_subnet"},
			"two VPCs":           {"POST", path, `{"is_public": true, "subnets": [{"id": "` + *subnet.ID + `"}, {"id": "` + *stranger.ID + `"}]}`, 400, "load_balancer_subnets_not_in_same_vpc"},
			"unknown group":      {"POST", path, in(`, "security_groups": [{"id": "x"}]`), 404, "not_found"},
			"another VPC's":      {"POST", path, in(`, "security_groups": [{"id": "` + *strange.ID + `"}]`), 400, "security_group_not_in_vpc"},
			"no algorithm":       {"POST", path, in(`, "pools": [{"protocol": "tcp", ` + check + `}]`), 400, "pool_missing_algorithm"},
			"no monitor":         {"POST", path, pool(`"name": "p"`), 400, "pool_missing_health_monitor"},
			"slow monitor":       {"POST", path, pool(`"health_monitor": {"type": "tcp", "delay": 5, "timeout": 5, "max_retries": 2}`), 400, "validation_failure"},
			"monitor of nothing": {"POST", path, pool(`"health_monitor": {"type": "udp", "delay": 5, "timeout": 2, "max_retries": 2}`), 400, "validation_enum"},
			"no retries":         {"POST", path, pool(`"health_monitor": {"type": "tcp", "delay": 5, "timeout": 2}`), 400, "validation_max_value"},
			"no port":            {"POST", path, listener(`{"protocol": "tcp"}`), 400, "listener_missing_port"},
			"bad port":           {"POST", path, listener(`{"protocol": "tcp", "port": 65536}`), 400, "listener_invalid_port"},
			"reserved port":      {"POST", path, listener(`{"protocol": "tcp", "port": 56500}`), 400, "listener_reserved_port_conflict"},
			"bad protocol":       {"POST", path, listener(`{"protocol": "sctp", "port": 1}`), 400, "listener_invalid_protocol"},
			"same port":          {"POST", path, listener(`{"protocol": "tcp", "port": 1}, {"protocol": "tcp", "port": 1}`), 409, "listener_duplicate_port"},
			"unknown pool":       {"POST", path, listener(`{"protocol": "tcp", "port": 1, "default_pool": {"name": "x"}}`), 404, "pool_not_found"},
			"other protocol":     {"POST", path, listener(`{"protocol": "http", "port": 1, "default_pool": {"name": "p"}}`), 400, "listener_pool_protocols_conflict"},
			"two of a pool": {"POST", path, listener(`{"protocol": "tcp", "port": 1, "default_pool": {"name": "p"}},
				{"protocol": "tcp", "port": 2, "default_pool": {"name": "p"}}`), 409, "listener_pool_in_use"},
		})
		n.Expect(n.cloud.State()[sim.KindLoadBalancer]).To(HaveLen(1))
		n.Expect(n.cloud.State()[sim.KindPool]).To(HaveLen(1), "what is refused leaves nothing")

		n.newBalancer("other", subnet)
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"quota": {"POST", path, in(`, "name": "more"`), 400, "load_balancer_over_quota"},
		})

		n.pass(150 * time.Second)
		members := path + "/" + *b.ID + "/pools/" + *b.Pools[0].ID + "/members"
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"no address":  {"POST", members, `{"port": 1}`, 400, "member_missing_address"},
			"bad address": {"POST", members, `{"port": 1, "target": {"address": "x"}}`, 400, "member_invalid_address"},
			"bad port":    {"POST", members, `{"port": 0, "target": {"address": "10.0.0.1"}}`, 400, "member_invalid_port"},
			"bad weight":  {"POST", members, `{"port": 1, "weight": 101, "target": {"address": "10.0.0.1"}}`, 400, "member_invalid_weight"},
			"unknown":     {"POST", path + "/x/pools/x/members", `{}`, 404, "load_balancer_not_found"},
			"unknown too": {"POST", path + "/" + *b.ID + "/pools/x/members", `{}`, 404, "pool_not_found"},
		})
	}, func(c *sim.Config) { c.Quotas.LoadBalancers = 2 })
}
