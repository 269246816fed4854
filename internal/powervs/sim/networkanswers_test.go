package sim_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/IBM/go-sdk-core/v5/core"
	tg "github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
)

// expectComplete checks that a value of IBM's clients has all fields that they call required, and so have all others in it.
func expectComplete(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			expectComplete(t, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			expectComplete(t, v.Index(i))
		}
	case reflect.Struct:
		if !strings.HasPrefix(v.Type().PkgPath(), "github.com/IBM/") {
			return
		}
		if err := core.ValidateStruct(v.Addr().Interface(), "answer"); err != nil {
			t.Error(v.Type(), err)
		}
		for i := range v.NumField() {
			expectComplete(t, v.Field(i))
		}
	}
}

func TestAnswers_haveAllThatIsRequired(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		// get checks that an answer has all that IBM's client calls required.
		get := func(value any, response *core.DetailedResponse, err error) {
			n.t.Helper()
			n.Expect(err).NotTo(HaveOccurred(), "%v", response)
			expectComplete(t, reflect.ValueOf(value))
		}
		vpc := n.newVPC("net")
		subnet := n.newSubnet(vpc, "a", zone)
		b := n.newBalancer("api", subnet)
		n.pass(150 * time.Second)
		member, _ := n.addMember(b, "192.168.0.5")
		get(n.vpc.ListRegionZones(&vpcv1.ListRegionZonesOptions{RegionName: ptr.To(region)}))
		get(n.vpc.GetVPC(&vpcv1.GetVPCOptions{ID: vpc.ID}))
		get(n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{}))
		get(n.vpc.GetSubnet(&vpcv1.GetSubnetOptions{ID: subnet.ID}))
		get(n.vpc.ListSubnets(&vpcv1.ListSubnetsOptions{}))
		get(n.vpc.GetSecurityGroup(&vpcv1.GetSecurityGroupOptions{ID: vpc.DefaultSecurityGroup.ID}))
		get(n.vpc.ListSecurityGroups(&vpcv1.ListSecurityGroupsOptions{}))
		get(n.vpc.ListSecurityGroupRules(&vpcv1.ListSecurityGroupRulesOptions{SecurityGroupID: vpc.DefaultSecurityGroup.ID}))
		get(n.vpc.GetLoadBalancer(&vpcv1.GetLoadBalancerOptions{ID: b.ID}))
		get(n.vpc.ListLoadBalancers(&vpcv1.ListLoadBalancersOptions{}))
		get(n.vpc.ListLoadBalancerListeners(&vpcv1.ListLoadBalancerListenersOptions{LoadBalancerID: b.ID}))
		get(n.vpc.GetLoadBalancerListener(&vpcv1.GetLoadBalancerListenerOptions{LoadBalancerID: b.ID, ID: b.Listeners[0].ID}))
		get(n.vpc.ListLoadBalancerPools(&vpcv1.ListLoadBalancerPoolsOptions{LoadBalancerID: b.ID}))
		get(n.vpc.GetLoadBalancerPool(&vpcv1.GetLoadBalancerPoolOptions{LoadBalancerID: b.ID, ID: b.Pools[0].ID}))
		get(n.vpc.ListLoadBalancerPoolMembers(&vpcv1.ListLoadBalancerPoolMembersOptions{LoadBalancerID: b.ID, PoolID: b.Pools[0].ID}))
		get(n.vpc.GetLoadBalancerPoolMember(
			&vpcv1.GetLoadBalancerPoolMemberOptions{LoadBalancerID: b.ID, PoolID: b.Pools[0].ID, ID: member.ID}))

		g := n.newGateway("gate", region, false)
		c, _ := n.connect(g, "vpc", *vpc.CRN, "")
		get(n.transit.GetTransitGateway(&tg.GetTransitGatewayOptions{ID: g.ID}))
		get(n.transit.ListTransitGateways(&tg.ListTransitGatewaysOptions{}))
		get(n.transit.ListTransitGatewayConnections(&tg.ListTransitGatewayConnectionsOptions{TransitGatewayID: g.ID}))
		get(n.transit.GetTransitGatewayConnection(&tg.GetTransitGatewayConnectionOptions{TransitGatewayID: g.ID, ID: c.ID}))
	})
}
