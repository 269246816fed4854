package provider_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/graph"
)

const (
	stranger = "7e4a0000-0000-4000-8000-000000000009"
	unknown  = "a0000000-0000-4000-8000-000000000009"
)

// asTenant makes the token one of a tenant, without the provider's rights, at a site with another tenant.
func asTenant(w *sim.Config) {
	w.TokenRoles = map[string][]sim.Role{sim.DefaultToken: {sim.TenantAdmin}}
	w.OtherTenants = []sim.Tenant{{ID: stranger, Name: "stranger"}}
	w.IPBlocks = append(w.IPBlocks, sim.IPBlock{
		ID: stranger, Name: "theirs", SiteID: sim.DefaultSiteID, TenantID: stranger, Prefix: netip.MustParseAddr("127.101.0.0"), PrefixLength: 16,
	})
}

// Each mistake has one condition that says what is wrong with which object, and what to do about it.
func TestTrouble_whatCannotBeIsSaidOnce(t *testing.T) {
	t.Parallel()
	cluster := func(change func(*infrav1.NvidiaBMMCluster)) func(*bmmtest.Fixture) graph.Owner {
		return func(f *bmmtest.Fixture) graph.Owner { return f.CreateCluster("demo", change) }
	}
	machine := func(change func(*infrav1.NvidiaBMMMachine)) func(*bmmtest.Fixture) graph.Owner {
		return func(f *bmmtest.Fixture) graph.Owner {
			f.UntilReady(f.CreateCluster("demo"))
			return f.CreateMachine("demo", "worker-1", bootData, change)
		}
	}
	asIs := func(*infrav1.NvidiaBMMMachine) {}
	const noneFree = ": there is no free machine of instance type " + sim.DefaultInstanceTypeID +
		" for this tenant: give one back, or ask the site's provider for one"
	for _, row := range []struct {
		name   string
		world  func(*sim.Config)
		object func(*bmmtest.Fixture) graph.Owner

		condition, reason, message string
	}{
		{
			"a subnet outside the block", asTenant,
			cluster(func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.Subnets[0] = infrav1.SubnetSpec{Name: "nodes", CIDR: "10.9.0.0/24"}
			}),
			infrav1.SubnetsReadyCondition, "Invalid",
			`subnet "nodes": 10.9.0.0/24 lies outside of IP block block-1 (127.100.0.0/16): replace it by another one, of another name, ` +
				`with a range within it, or with prefixLength, which leaves the range to the BMM API`,
		},
		{
			"a subnet larger than the block", asTenant,
			cluster(func(c *infrav1.NvidiaBMMCluster) { c.Spec.Subnets[0].PrefixLength = ptr.To[int32](12) }),
			infrav1.SubnetsReadyCondition, "Invalid",
			`subnet "nodes": /12 is larger than IP block block-1 (127.100.0.0/16): replace it by another one, of another name, with a longer prefix`,
		},
		{
			"an unknown site", asTenant,
			cluster(func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef = infrav1.SiteReference{Name: "nowhere"} }),
			infrav1.ReferencesResolvedCondition, "NotFound",
			`site "nowhere": find site: no site is named "nowhere": correct spec.siteRef`,
		},
		{
			"an unknown site's ID", asTenant,
			cluster(func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef = infrav1.SiteReference{ID: unknown} }),
			infrav1.ReferencesResolvedCondition, "Missing",
			"site " + unknown + " does not exist: name another one in the spec, or restore it",
		},
		{
			"a missing instance type", asTenant,
			machine(func(m *infrav1.NvidiaBMMMachine) { m.Spec.InstanceType.ID = unknown }),
			infrav1.InstanceProvisionedCondition, "Invalid",
			"create instance: 400 Bad Request: Could not find Instance Type with ID specified in request data: replace Machine worker-1, " +
				"which asks for a machine of instance type " + unknown + ", by one that asks for something else",
		},
		{
			"an exhausted quota", func(w *sim.Config) { w.InstanceTypes[0].MaxInstances = 1 },
			func(f *bmmtest.Fixture) graph.Owner {
				first := machine(asIs)(f)
				f.UntilReady(first)
				return f.CreateMachine("demo", "worker-2", bootData)
			},
			infrav1.InstanceProvisionedCondition, "Quota",
			"create instance: 403 Forbidden: Tenant has reached the maximum number of Instances for Instance Type specified in request data" + noneFree,
		},
		{
			"no free machine", func(w *sim.Config) { w.InstanceTypes[0].Machines = 0 }, machine(asIs),
			infrav1.InstanceProvisionedCondition, "Quota",
			"create instance: 400 Bad Request: No Machines are available for specified Instance Type" + noneFree,
		},
		{
			"no allocation", func(w *sim.Config) { w.InstanceTypes[0].Unallocated = true }, machine(asIs),
			infrav1.InstanceProvisionedCondition, "Quota",
			"create instance: 500 Internal Server Error: No Allocations for specified Instance Type were found for current Tenant" + noneFree,
		},
		{
			"a peer VPC of another tenant", asTenant,
			func(f *bmmtest.Fixture) graph.Owner {
				f.Make(sim.Object{Kind: sim.KindVPC, ID: stranger, TenantID: stranger, Request: bmm.VPCCreateRequest{
					Name: "theirs", SiteID: sim.DefaultSiteID,
				}})
				return f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
					c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: stranger}}
				})
			},
			infrav1.VPCPeeringsReadyCondition, "Invalid",
			"create VPC peering: 403 Forbidden: User does not have access to create the VPC peering: VPC " + stranger + " can't be a peer; correct spec.vpcPeerings, or ask for the right to peer with it",
		},
		{
			"a group at a site without groups", func(w *sim.Config) { w.Sites[0].NetworkSecurityGroup = false }, cluster(grouped),
			infrav1.NSGReadyCondition, "Invalid",
			"site site-1 has no network security groups: remove spec.vpc.networkSecurityGroup, or choose another site",
		},
		{
			"FNN at a site without native networking", asTenant,
			cluster(func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.VPC.NetworkVirtualizationType = infrav1.FabricNativeNetworking
				c.Spec.Subnets, c.Spec.VPCPrefixes = nil, []infrav1.VPCPrefixSpec{{Name: "nodes", PrefixLength: ptr.To[int32](24)}}
			}),
			infrav1.VPCReadyCondition, "Invalid",
			"site site-1 has no native networking, which FNN needs: use ETHERNET_VIRTUALIZER, or choose another site",
		},
		{
			"an allocation without the provider's rights", asTenant,
			cluster(func(c *infrav1.NvidiaBMMCluster) {
				c.Spec.IPBlock = &infrav1.IPBlockReference{Create: &infrav1.IPBlockCreateSpec{Prefix: "10.77.0.0/16"}}
			}),
			infrav1.IPBlockReadyCondition, "Invalid",
			"spec.ipBlock.create needs credentials with the role PROVIDER_ADMIN; as a tenant name an existing block instead",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, row.world)
			object := row.object(f)
			f.UntilReason(object, row.condition, row.reason, row.message)
			f.UntilReason(object, "Ready", row.reason, row.condition+": ")
			for _, c := range object.GetConditions() {
				if c.Type != row.condition && c.Type != graph.ReadyCondition {
					f.Expect(c.Reason).To(BeElementOf("Ready", "Waiting", "Creating", "NotWanted", "NotPaused", "NotAccepted"), "%s: %s", c.Type, c.Message)
				}
			}
			f.Delete(object)
			f.UntilGone(object)
		})
	}
}
