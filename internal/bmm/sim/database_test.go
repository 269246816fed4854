package sim_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/fault"
)

func nico(c *sim.Config) { c.APIName = sim.NICo }

// manyMachines is a world in which none of the tests' creates fails for want of a machine.
func manyMachines(c *sim.Config) { c.InstanceTypes[0].Machines = 40 }

// A create holds a connection and needs a second one: as many of them as there are connections wait for each other.
func TestConnections_createsThatHaveThemAllBlockEveryCallUntilTheirClientsLeave(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		impatient, leave := context.WithCancel(b.t.Context())
		for n := range 20 {
			go func() { _, _ = b.client.CreateInstance(impatient, instanceRequest(fmt.Sprintf("many-%d", n), subnet)) }()
		}
		b.pass(time.Minute)
		short, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
		defer cancel()
		_, err := b.client.Site(short, sim.DefaultSiteID)
		b.Expect(err).To(MatchError(context.DeadlineExceeded))

		leave()
		b.pass(10 * time.Second)
		_, err = b.client.Site(b.t.Context(), sim.DefaultSiteID)
		b.Expect(err).NotTo(HaveOccurred())
	}, nico, manyMachines)
}

func TestConnections_areUnlimitedInTheOlderRelease(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		for n := range 20 {
			go func() {
				_, _ = b.client.CreateInstance(b.t.Context(), instanceRequest(fmt.Sprintf("many-%d", n), subnet))
			}()
		}
		synctest.Wait()
		_, err := b.client.Site(b.t.Context(), sim.DefaultSiteID)
		b.Expect(err).NotTo(HaveOccurred())
		b.pass(time.Minute)
	}, manyMachines, func(c *sim.Config) { c.Release = sim.Release106 })
}

func TestLock_ofAnInstanceTypeIsHeldUntilTheSiteHasDoneItsPart(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		go func() { _, _ = b.client.CreateInstance(b.t.Context(), instanceRequest("first", subnet)) }()
		synctest.Wait()
		began := time.Now()
		_, err := b.client.CreateInstance(b.t.Context(), instanceRequest("second", subnet))
		b.Expect(err).To(MatchError(ContainSubstring("detected multiple parallel request on Instance Type by Tenant")))
		b.Expect(fault.ClassOf(err)).To(Equal(fault.Busy))
		b.Expect(fault.IsAmbiguous(err)).To(BeFalse())
		b.Expect(time.Since(began)).To(BeNumerically("~", 2*time.Second, time.Second))

		targeted := instanceRequest("targeted", subnet)
		targeted.InstanceTypeID, targeted.MachineID = "", fmt.Sprintf("fm100ht%030d", 8)
		_, err = b.client.CreateInstance(b.t.Context(), targeted)
		b.Expect(err).NotTo(HaveOccurred(), "it takes no lock")
		b.pass(time.Minute)
		_, err = b.client.CreateInstance(b.t.Context(), instanceRequest("second", subnet))
		b.Expect(err).NotTo(HaveOccurred())
	}, nico, func(c *sim.Config) { c.Times.Create.Duration = 20 * time.Second })
}

func TestLock_ofAnIPBlockIsForItsSubnets(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		request := client.SubnetCreateRequest{Name: "first", VPCID: vpc.ID, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24}
		go func() { _, _ = b.client.CreateSubnet(b.t.Context(), request) }()
		synctest.Wait()
		request.Name = "second"
		_, err := b.client.CreateSubnet(b.t.Context(), request)
		b.Expect(err).To(MatchError(ContainSubstring("detected multiple parallel request on IP Block by Tenant")))
		b.pass(time.Minute)
	}, nico, func(c *sim.Config) { c.Times.Create.Duration = 20 * time.Second })
}

// The client leaves two seconds into a create that takes the site twenty.
func TestCreate_ofAClientThatLeaves(t *testing.T) {
	for fate, there := range map[sim.Abandoned]struct{ instances, strays int }{
		sim.AbandonedRolledBack: {0, 0},
		sim.AbandonedCommitted:  {1, 0},
		sim.AbandonedAtSite:     {0, 1},
	} {
		t.Run(string(fate), func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				subnet := b.subnet(b.vpc("net"), "nodes")
				short, leave := context.WithTimeout(b.t.Context(), 2*time.Second)
				defer leave()
				_, err := b.client.CreateInstance(short, instanceRequest("abandoned", subnet))
				b.Expect(fault.IsAmbiguous(err)).To(BeTrue(), "%v", err)
				b.pass(time.Minute)
				state := b.server.State()
				b.Expect(state.Instances).To(HaveLen(there.instances))
				b.Expect(state.Strays).To(HaveLen(there.strays))
				b.Expect(state.Empty()).To(BeFalse())
				inUse := 0
				for _, m := range b.machines() {
					if m.Status == "InUse" {
						inUse++
					}
				}
				b.Expect(inUse).To(Equal(there.instances+there.strays), "a stray has its machine")

				again, err := b.client.CreateInstance(b.t.Context(), instanceRequest("another", subnet))
				b.Expect(err).NotTo(HaveOccurred(), "the lock is free")
				b.Expect(b.status("instance", again.ID)).NotTo(Equal("gone"))
			}, func(c *sim.Config) {
				c.Abandoned = fate
				c.Times.Create.Duration = 20 * time.Second
			})
		})
	}
}

func (b bench) machines() []client.Machine {
	return answer[[]client.Machine](b, http.StatusOK, http.MethodGet, "/machine?pageSize=100", nil)
}
