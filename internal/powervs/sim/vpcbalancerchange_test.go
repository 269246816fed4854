package sim_test

import (
	"testing"
	"time"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
)

func TestLoadBalancer_movesToOtherSubnets(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc, other := n.newVPC("net"), n.newVPC("other")
		first, second, stranger := n.newSubnet(vpc, "a", zone), n.newSubnet(vpc, "b", region+"-2"), n.newSubnet(other, "a", zone)
		b := n.newBalancer("api", first)
		move := func(etag string, to *vpcv1.Subnet) string {
			patch, err := (&vpcv1.LoadBalancerPatch{Subnets: []vpcv1.SubnetIdentityIntf{&vpcv1.SubnetIdentityByID{ID: to.ID}}}).AsPatch()
			n.Expect(err).NotTo(HaveOccurred())
			options := n.vpc.NewUpdateLoadBalancerOptions(*b.ID, patch)
			if etag != "" {
				options.IfMatch = &etag
			}
			_, response, err := n.vpc.UpdateLoadBalancer(options)
			return answered(response, err)
		}
		etag := func() string {
			_, response, err := n.vpc.GetLoadBalancer(&vpcv1.GetLoadBalancerOptions{ID: b.ID})
			n.Expect(err).NotTo(HaveOccurred())
			return response.Headers.Get("ETag")
		}
		n.Expect(move(etag(), second)).To(Equal("409 load_balancer_update_conflict"), "it isn't there yet")
		n.pass(150 * time.Second)
		n.Expect(move("", second)).To(Equal("428 precondition_required"))
		n.Expect(move(etag(), stranger)).To(Equal("400 load_balancer_subnets_not_in_same_vpc"))
		old := etag()
		n.Expect(move(old, second)).To(Equal("200"))
		n.Expect(n.balancerStatus(b.ID)).To(Equal("update_pending"))
		n.pass(20 * time.Second)
		n.Expect(move(old, first)).To(Equal("412 precondition_failed"))
		n.Expect(n.deleteSubnet(second.ID)).To(Equal("409 subnet_not_empty_loadbalancer_exists"))
		n.Expect(n.deleteSubnet(first.ID)).To(Equal("204"))
	})
}
