package inventory_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"github.com/bedplate/bedplate/internal/fault"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

var in = ibm.Workspace{Zone: sim.DefaultZone, ID: powervstest.WorkspaceID}

// leased is a workspace with virtual machines in the network of a DHCP server.
func leased(t *testing.T, names ...string) (f *powervstest.Fixture, api *ibm.Client, ids []string) {
	f = powervstest.StartCloudIn(t, nil, "", powervstest.WithWorkspace, func(c *sim.Config) { c.Speed = 1_000_000 })
	api = f.API()
	dhcp, err := api.CreateDHCPServer(t.Context(), in, ibm.DHCPServerRequest{Name: "demo"})
	f.Expect(err).NotTo(HaveOccurred())
	for _, name := range names {
		server, err := api.CreateServer(t.Context(), in, ibm.ServerRequest{
			Name: name, ImageID: powervstest.ImageID, NetworkID: dhcp.Network.ID, SystemType: "s1022", ProcessorType: "shared", Processors: 0.25,
			MemoryGiB: 2, UserTags: []string{"of:" + name},
		})
		f.Expect(err).NotTo(HaveOccurred())
		ids = append(ids, server.ID)
	}
	for _, id := range ids {
		f.Eventually(func(g Gomega) {
			server, err := api.Server(t.Context(), in, id)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(server.Status).To(Equal(inventory.StatusActive))
		}).Should(Succeed())
	}
	f.Eventually(func(g Gomega) {
		whole, err := api.DHCPServer(t.Context(), in, dhcp.ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(whole.Leases).To(HaveLen(len(names)))
	}).Should(Succeed())
	return f, api, ids
}

func TestInventory_knowsAddressesAndTagsFromOneList(t *testing.T) {
	t.Parallel()
	f, api, ids := leased(t, "a", "b", "c")
	v := inventory.New(time.Hour, clock.RealClock{})
	calls := func() (n [4]int) {
		for i, operation := range []string{"listServers", "listDHCPServers", "getDHCPServer", "getServer"} {
			n[i] = f.Called("power." + operation)
		}
		return n
	}
	before := calls()
	for range 3 {
		for i, id := range ids {
			server, err := v.Of(t.Context(), api, in, id)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(server.Networks).To(HaveLen(1))
			f.Expect(server.Networks[0].IP).To(Equal(fmt.Sprintf("192.168.0.%d", 3+i)), "no server shows it")
			f.Expect(server.UserTags).To(ConsistOf("of:"+server.Name), "no list shows them")
		}
	}
	after := calls()
	for i, most := range []int{1, 1 + 3, 1 + 3, 3} { // the tags of each are read once, and its address with them
		f.Expect(after[i]-before[i]).To(BeNumerically("<=", most), "%v and then %v", before, after)
	}

	f.Expect(api.DeleteServer(t.Context(), in, ids[0])).To(Succeed())
	f.Eventually(func() bool { _, err := api.Server(t.Context(), in, ids[0]); return fault.IsNotFound(err) }).Should(BeTrue())
	_, err := v.Of(t.Context(), api, in, ids[0])
	f.Expect(err).NotTo(HaveOccurred(), "the list is less than an interval old")
	v.Changing(api, in, ids[0])
	_, err = v.Of(t.Context(), api, in, ids[0])
	f.Expect(fault.IsNotFound(err)).To(BeTrue())
}
