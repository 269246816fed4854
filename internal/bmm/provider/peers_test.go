package provider_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

func TestPeersGetWrong_theContractOfClusterAPI(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartSite(t)
	for _, kind := range []string{"nvidiabmmclusters", "nvidiabmmmachines", "nvidiabmmclustertemplates", "nvidiabmmmachinetemplates"} {
		definition := &metav1.PartialObjectMetadata{}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		definition.Name = kind + "." + infrav1.GroupVersion.Group
		f.Expect(f.Read(definition)).To(Succeed())
		f.Expect(definition.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", infrav1.GroupVersion.Version), kind)
	}
}

// No error but a proven 404 clears an ID, or makes anything again.
func TestPeersGetWrong_aFailedGetClearsNothing(t *testing.T) {
	t.Parallel()
	looks := []string{
		"getSite", "getIpBlock", "getNetworkSecurityGroup", "listNetworkSecurityGroups", "getVpc", "listVpcs", "getSubnet", "listSubnets",
		"getInstance", "listInstances",
	}
	faults := map[string]simulator.Fault{"no answer": {Kind: simulator.FaultHang, Hold: seconds(100)}, "a lost answer": {Kind: simulator.FaultLoseAnswer}}
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		faults[http.StatusText(status)] = simulator.Fault{Kind: simulator.FaultStatus, Status: status, Message: http.StatusText(status)}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			cluster := f.CreateCluster("demo", grouped)
			f.UntilReady(cluster)
			machine := f.CreateMachine("demo", "worker-1", bootData)
			f.UntilProvisioned(machine)
			f.UntilInEffect(cluster)
			before := remembered(f, cluster, machine)
			for _, operation := range looks {
				fault.Operation, fault.Times = operation, -1
				f.Fault(fault)
			}
			f.UntilNotReady(cluster)
			f.UntilNotReady(machine)
			f.Expect(remembered(f, cluster, machine)).To(Equal(before))
			f.Sim.ClearFaults()
			f.UntilReady(cluster)
			f.UntilReady(machine)
			f.Expect(remembered(f, cluster, machine)).To(Equal(before))
		})
	}
}

// remembered is what is known of a cluster and its machine, and what was made for them.
func remembered(f *bmmtest.Fixture, cluster *infrav1.NvidiaBMMCluster, machine *infrav1.NvidiaBMMMachine) any {
	f.Expect(f.Read(cluster)).To(Succeed())
	f.Expect(f.Read(machine)).To(Succeed())
	c, m := cluster.Status.DeepCopy(), machine.Status.DeepCopy()
	c.Conditions, m.Conditions = nil, nil
	return []any{c, m, machine.Spec, f.Ledger(cluster).Spec, f.Ledger(machine).Spec, written(f)}
}

// written counts the calls so far that make, change or delete something.
func written(f *bmmtest.Fixture) map[string]int {
	calls := f.Sim.Calls()
	maps.DeleteFunc(calls, func(operation string, _ int) bool {
		return strings.HasPrefix(operation, "get") || strings.HasPrefix(operation, "list")
	})
	return calls
}

// 202 is not gone. Whatever is still there outside when the object is gone would stay there for ever.
func TestPeersGetWrong_theFinalizerStaysUntilTheServerAnswers404(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) {
		w.Times.InstanceDelete = seconds(1_000_000) // until the test ends it
		w.Times.SubnetDelete, w.Times.VPCDelete, w.Times.NetworkSecurityGroupDelete = seconds(600), seconds(600), seconds(600)
	})
	cluster := f.CreateCluster("demo", grouped)
	f.UntilReady(cluster)
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilReady(machine)
	f.Delete(machine)
	f.Eventually(func() (string, error) {
		err := f.Read(machine)
		return machine.Status.InstanceState, err
	}).Should(Equal("Terminating"))
	f.Consistently(func() error { return f.Read(machine) }, 5*bmmtest.Poll).Should(Succeed())
	f.Expect(f.Sim.Vanish(machine.Status.InstanceID)).To(Succeed())
	f.UntilGone(machine)
	f.Delete(cluster)
	f.UntilGone(cluster)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// Killed after POST instance, in an organisation with more instances than fit on a page of any size that peers ask for, one
// of them at another site under the same name.
func TestPeersGetWrong_anInstanceIsAdoptedAmongManyAndGetsItsProviderID(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		t.Run(map[bool]string{false: "and used", true: "and deleted"}[deleted], func(t *testing.T) {
			t.Parallel()
			const far, others = "517e0000-0000-4000-8000-000000000002", 25
			f := bmmtest.Start(t, func(w *sim.Config) {
				w.InstanceTypes[0].Machines = others + 2
				w.Sites = append(w.Sites, sim.Site{ID: far, Name: "site-2"})
				kind, block := w.InstanceTypes[0], w.IPBlocks[0]
				kind.ID, kind.SiteID, kind.Machines = "17fe0000-0000-4000-8000-000000000002", far, 1
				block.ID, block.SiteID = "1b10c000-0000-4000-8000-000000000002", far
				w.InstanceTypes, w.IPBlocks = append(w.InstanceTypes, kind), append(w.IPBlocks, block)
			})
			vpc := f.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{Name: "far", SiteID: far}})
			subnet := f.Make(sim.Object{Kind: sim.KindSubnet, Request: bmm.SubnetCreateRequest{
				Name: "far", VPCID: vpc, Ipv4BlockID: "1b10c000-0000-4000-8000-000000000002", PrefixLength: 24,
			}})
			namesake := f.Make(sim.Object{Kind: sim.KindInstance, Request: bmm.InstanceCreateRequest{
				Name: "worker-1", VPCID: vpc, InstanceTypeID: "17fe0000-0000-4000-8000-000000000002",
				OperatingSystemID: bmmtest.OperatingSystemID, Interfaces: []bmm.InterfaceCreateRequest{{SubnetID: subnet}},
			}})
			cluster := f.CreateCluster("demo")
			f.UntilReady(cluster)
			for n := range others {
				f.Make(sim.Object{Kind: sim.KindInstance, Request: instanceOf(cluster, fmt.Sprintf("other-%d", n))})
			}
			before := f.Snapshot(namesake)
			f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultLoseAnswer})
			f.Refuse(http.StatusServiceUnavailable, "listInstances", "getInstance")
			machine := f.CreateMachine("demo", "worker-1", bootData)
			f.Eventually(func() []bmm.Instance { return f.Sim.State().Instances }).Should(HaveLen(others + 2))
			f.UntilReason(machine, infrav1.InstanceProvisionedCondition, "Transient", "")
			f.Expect(machine.Status.InstanceID).To(BeEmpty())
			if deleted {
				f.Delete(machine)
				f.Sim.ClearFaults()
				f.UntilGone(machine)
				f.Expect(f.Sim.State().Instances).To(HaveLen(others + 1))
				f.Expect(f.Sim.State().Releases).To(HaveLen(1))
			} else {
				f.Sim.ClearFaults()
				f.UntilProvisioned(machine)
				f.Expect(machine.Spec.ProviderID).To(Equal("nvidia-bmm://" + sim.DefaultSiteID + "/" + machine.Status.InstanceID))
				f.Expect(f.Sim.State().Instances).To(HaveLen(others + 2))
			}
			f.Expect(f.Called("createInstance")).To(Equal(1))
			f.Expect(f.Snapshot(namesake)).To(Equal(before))
		})
	}
}

// A tenant who was given a block, of whichever addresses, needs nothing of the provider.
func TestPeersGetWrong_aTenantsRightsAreEnoughAndNoRangeIsFixed(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) {
		w.TokenRoles = map[string][]sim.Role{sim.DefaultToken: {sim.TenantAdmin}}
		w.IPBlocks[0].Prefix, w.IPBlocks[0].PrefixLength = netip.MustParseAddr("172.20.16.0"), 20
	})
	cluster := f.CreateCluster("demo", grouped)
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilReady(cluster)
	f.UntilReady(machine)
	f.Expect(cluster.Status.Subnets).To(ConsistOf(HaveField("CIDR", "172.20.16.0/24")))
	f.Expect(f.Called("createIpBlock")).To(BeZero())
	f.Expect(f.Called("createAllocation")).To(BeZero())
	f.Delete(machine)
	f.Delete(cluster)
	f.UntilGone(machine)
	f.UntilGone(cluster)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// What is as it should be is read and not written, neither outside nor here.
func TestPeersGetWrong_nothingIsWrittenInTheSteadyState(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, 2*bmmtest.Poll, bmmtest.Settle)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	clusters := []*infrav1.NvidiaBMMCluster{
		f.CreateCluster("demo", grouped), f.CreateCluster("byo", grouped, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = vpc }),
	}
	var machines []*infrav1.NvidiaBMMMachine
	for _, cluster := range clusters {
		f.UntilReady(cluster)
		machine := f.CreateMachine(cluster.Name, cluster.Name+"-1", bootData)
		f.UntilReady(machine)
		machines = append(machines, machine)
	}
	versions := func() (all []string) {
		for i := range clusters {
			f.Expect(f.Read(clusters[i])).To(Succeed())
			f.Expect(f.Read(machines[i])).To(Succeed())
			all = append(all, clusters[i].ResourceVersion, machines[i].ResourceVersion)
		}
		return all
	}
	f.UntilInEffect(clusters[0])
	looks := func(more int) {
		looked := f.Called("getNetworkSecurityGroup")
		f.Eventually(func() int { return f.Called("getNetworkSecurityGroup") }).Should(BeNumerically(">=", looked+more))
	}
	f.Eventually(func() bool {
		before := versions()
		looks(2)
		return slices.Equal(versions(), before)
	}).Should(BeTrue(), "the last news is digested")
	before, calls := versions(), written(f)
	looks(6)
	f.Expect(versions()).To(Equal(before))
	f.Expect(written(f)).To(Equal(calls))
}

// A peer made 5,616 calls in the minute in which the server was broken.
func TestPeersGetWrong_aBrokenServerIsNotHammered(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	var machines []*infrav1.NvidiaBMMMachine
	for n := range 4 {
		machines = append(machines, f.CreateMachine("demo", fmt.Sprintf("worker-%d", n), bootData))
	}
	for _, machine := range machines {
		f.UntilReady(machine)
	}
	f.Refuse(http.StatusServiceUnavailable, "getSite", "getIpBlock", "getVpc", "listVpcs", "getSubnet", "listSubnets", "getInstance", "listInstances")
	f.UntilNotReady(cluster)
	for _, machine := range machines {
		f.UntilNotReady(machine)
	}
	all := func() (sum int) {
		for _, n := range f.Sim.Calls() {
			sum += n
		}
		return sum
	}
	const window = 80
	began, before := time.Now(), all()
	f.Eventually(all).Should(BeNumerically(">=", before+window))
	rate := window / time.Since(began).Seconds()
	t.Logf("%.0f calls per second, where a healthy server is polled %.0f times as often as by default", rate, 30/bmmtest.Poll.Seconds())
	f.Expect(rate).To(BeNumerically("<", 2*bmm.DefaultQPS), "a peer's 94, with a poll interval 600 times as long")
}
