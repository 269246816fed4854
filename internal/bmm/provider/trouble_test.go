package provider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/simulator"
)

// patient is how long trouble may take to be overcome on a busy computer.
const patient = 4 * time.Minute

// A fifth of all calls go wrong in every way there is, from the first call to the last one.
func TestTrouble_aFifthOfAllCallsFail(t *testing.T) {
	t.Parallel()
	const clusters, each, late = 3, 2, 500 * time.Millisecond
	for _, seed := range []uint64{1, 20261120} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			t.Logf("chaos with seed %d", seed)
			// Longer than any late commit, on a computer however busy: an attempt's time is written in whole seconds.
			f := bmmtest.StartPaced(t, 2*bmmtest.Poll, 6*time.Second)
			f.SetDefaultEventuallyTimeout(patient)
			f.Expect(f.Sim.StartChaos(simulator.Chaos{Seed: seed, Rate: 0.2, Hold: seconds(100), Delay: seconds(1000)})).To(Succeed())
			var owners []graph.Owner
			for c := range clusters {
				name := fmt.Sprintf("cluster-%d", c)
				owners = append(owners, f.CreateCluster(name, grouped))
				for m := range each {
					owners = append(owners, f.CreateMachine(name, fmt.Sprintf("%s-%d", name, m), bootData))
				}
			}
			for _, owner := range owners {
				f.UntilReady(owner)
			}
			f.Expect(keys(f.Sim.State())).To(Equal(map[string]int{
				"group": clusters, "vpc": clusters, "subnet/nodes": clusters, "instance": clusters * each,
			}), "one for each")

			for _, owner := range owners {
				f.Delete(owner)
			}
			for _, owner := range owners {
				f.UntilGone(owner)
			}
			left := f.Sim.State()
			f.Expect(left.Empty()).To(BeTrue(), "%+v", left)
			f.Sim.StopChaos()
			f.Consistently(func() bool { return f.Sim.State().Empty() }).WithTimeout(2*late).Should(BeTrue(), "nothing comes late")
		})
	}
}

// keys counts what is at a site by the keys that it was made under.
func keys(s sim.State) map[string]int {
	counts := map[string]int{}
	for _, g := range s.NetworkSecurityGroups {
		counts[tag.FromLabels(g.Labels).Key]++
	}
	for _, v := range s.VPCs {
		counts[tag.FromLabels(v.Labels).Key]++
	}
	for _, n := range s.Subnets {
		counts[tag.FromName("subnet", n.Name).Key]++
	}
	for _, i := range s.Instances {
		counts[tag.FromLabels(i.Labels).Key]++
	}
	return counts
}

// Whatever an object says of itself when it is deleted, nothing is left of it. One object is deleted at its first message,
// the next one at its second, and so on, until one is ready before that.
func TestTrouble_aClusterDeletedInEveryPhaseLeavesNothing(t *testing.T) {
	t.Parallel()
	f := inSlowMotion(t)
	peer := f.MakeVPC("peer", bmm.EthernetVirtualizer)
	before, changes := f.Snapshot(peer), f.Watch(&infrav1.NvidiaBMMClusterList{}, &ledgerv1.LedgerList{})
	var owners []graph.Owner
	for n := range phases {
		owners = append(owners, f.CreateCluster(fmt.Sprintf("demo-%d", n), grouped, func(c *infrav1.NvidiaBMMCluster) {
			c.Spec.VPCPeerings = []infrav1.VPCPeeringSpec{{PeerVPCID: peer}}
		}))
	}
	deleteInTurn(f, changes, owners)
	f.Expect(f.Snapshot(peer)).To(Equal(before))
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestTrouble_aMachineDeletedInEveryPhaseLeavesNothing(t *testing.T) {
	t.Parallel()
	f := inSlowMotion(t)
	changes := f.Watch(&infrav1.NvidiaBMMMachineList{}, &ledgerv1.LedgerList{})
	var owners []graph.Owner
	for n := range phases {
		owners = append(owners, f.CreateMachine("demo", fmt.Sprintf("worker-%d", n), bootData))
	}
	f.CreateCluster("demo", grouped) // the machines have their messages without it too
	deleteInTurn(f, changes, owners)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}

// phases is more than any object has.
const phases = 14

// inSlowMotion is a site where every phase lasts long enough to be seen.
func inSlowMotion(t *testing.T) *bmmtest.Fixture {
	f := bmmtest.Start(t, func(w *sim.Config) { w.Speed, w.InstanceTypes[0].Machines = 300, phases })
	f.SetDefaultEventuallyTimeout(patient)
	return f
}

// phaseOf an object is what its conditions say, in whatever order, and how its instance is.
func phaseOf(object graph.Owner) string {
	var says []string
	for _, c := range object.GetConditions() {
		says = append(says, fmt.Sprintln(c.Type, c.Status, c.Reason))
	}
	slices.Sort(says)
	if m, ok := object.(*infrav1.NvidiaBMMMachine); ok {
		says = append(says, m.Status.InstanceState)
	}
	return strings.Join(says, "")
}

// deleteInTurn deletes the nth owner when its conditions, or how much of it there is outside, have changed n times, or when it is
// ready, and returns when all are gone.
func deleteInTurn(f *bmmtest.Fixture, changes <-chan watch.Event, owners []graph.Owner) {
	says, bound := map[string]string{}, map[string]int32{}
	said, changed, deleted := map[string]string{}, map[string]int{}, map[string]bool{}
	isReady := map[string]bool{}
	var early []string
	for len(deleted) < len(owners) {
		var event watch.Event
		f.Eventually(changes).Should(Receive(&event))
		name := ""
		switch o := event.Object.(type) {
		case *ledgerv1.Ledger:
			name = o.Spec.Owner.Name
			bound[name] = o.Status.Bound
		case graph.Owner:
			name = o.GetName()
			says[name], isReady[name] = phaseOf(o), meta.IsStatusConditionTrue(o.GetConditions(), graph.ReadyCondition)
		}
		turn := slices.IndexFunc(owners, func(o graph.Owner) bool { return o.GetName() == name })
		if turn < 0 || deleted[name] {
			continue
		}
		if now := fmt.Sprintln(says[name], bound[name]); now != said[name] {
			said[name], changed[name] = now, changed[name]+1
		}
		ready := isReady[name]
		if changed[name] < turn && !ready {
			continue
		}
		if !ready {
			early = append(early, name)
		}
		deleted[name] = true
		f.Delete(owners[turn])
	}
	f.Expect(len(early)).To(And(BeNumerically(">=", 4), BeNumerically("<", len(owners))), "as many as there are phases: %v", early)
	for _, o := range owners {
		f.UntilGone(o)
	}
}

// What is the user's own and has the name that we would have chosen is named, and is as it was when we are gone.
func TestTrouble_whatIsTheUsersOwnIsNeverTouched(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, condition, says string
		// theirs makes what is the user's own, and the object that wants to be called so.
		theirs  func(*bmmtest.Fixture) (ids []string, object graph.Owner)
		refused []string
	}{
		{
			"a VPC", infrav1.VPCReadyCondition, "choose another spec.vpc.name (the name is taken by ",
			func(f *bmmtest.Fixture) ([]string, graph.Owner) {
				return []string{f.MakeVPC("demo", bmm.EthernetVirtualizer)}, f.CreateCluster("demo")
			}, []string{"updateVpc", "deleteVpc"},
		},
		{
			"a group", infrav1.NSGReadyCondition, "choose another spec.vpc.networkSecurityGroup.name (the name is taken by ",
			func(f *bmmtest.Fixture) ([]string, graph.Owner) {
				return []string{f.MakeGroup("demo")}, f.CreateCluster("demo", grouped)
			}, []string{"updateNetworkSecurityGroup", "deleteNetworkSecurityGroup", "createVpc"},
		},
		{
			"an instance", infrav1.InstanceProvisionedCondition,
			"delete or rename the other instance, or replace Machine worker-1 by one of another name (the name is taken by ",
			func(f *bmmtest.Fixture) ([]string, graph.Owner) {
				cluster := f.CreateCluster("demo")
				f.UntilReady(cluster)
				theirs := f.Make(sim.Object{Kind: sim.KindInstance, Request: instanceOf(cluster, "worker-1")})
				return []string{theirs}, f.CreateMachine("demo", "worker-1", bootData)
			}, []string{"updateInstance", "deleteInstance"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			ids, object := row.theirs(f)
			before := f.Snapshot(ids...)
			f.UntilReason(object, row.condition, "Conflict", row.says+ids[0]+")")
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Snapshot(ids...)).To(Equal(before))
			for _, operation := range row.refused {
				f.Expect(f.Called(operation)).To(BeZero(), operation)
			}
		})
	}
}

// Our subnets carry the owner's ID in their names, so that one of the user's own doesn't conflict with them. It blocks its
// VPC's deletion, and that is reported.
func TestTrouble_aSubnetOfTheUsersOwnIsNeverTouched(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo")
	f.UntilReady(object)
	theirs := f.Make(sim.Object{Kind: sim.KindSubnet, Request: bmm.SubnetCreateRequest{
		Name: "nodes", VPCID: object.Status.VPCID, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24,
	}})
	before := f.Snapshot(theirs)
	f.Delete(object)
	f.UntilReason(object, infrav1.VPCReadyCondition, "Busy", "Cannot delete VPC, one or more Subnets exist for this VPC")
	f.Expect(f.Snapshot(theirs)).To(Equal(before))
	f.Expect(f.API().DeleteSubnet(t.Context(), sim.DefaultSiteID, theirs)).To(Succeed())
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// Ten minutes of faults; a poll interval is half a minute. Nothing is forgotten, and no manual intervention is required.
func TestTrouble_tenMinutesOfItClearNothing(t *testing.T) {
	t.Parallel()
	everything := []string{
		"getSite", "listSites", "getIpBlock", "listIpBlocks", "getNetworkSecurityGroup", "listNetworkSecurityGroups",
		"getVpc", "listVpcs", "getSubnet", "listSubnets", "getInstance", "listInstances",
	}
	down := func(f *bmmtest.Fixture) (heal func()) { return f.Refuse(http.StatusServiceUnavailable, everything...) }
	for _, row := range []struct {
		name, reason string
		begin        func(*bmmtest.Fixture) (end func())
	}{
		{"the API is down", "Transient", down},
		{"nothing answers", "Transient", func(f *bmmtest.Fixture) func() {
			for _, operation := range everything {
				f.Fault(simulator.Fault{Operation: operation, Kind: simulator.FaultHang, Times: -1, Hold: seconds(200)})
			}
			return f.Sim.ClearFaults
		}},
		{"the token has expired", "Credentials", func(f *bmmtest.Fixture) func() {
			f.Sim.ExpireTokens()
			return func() { f.Sim.SetTokens([]string{sim.DefaultToken}) }
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t)
			cluster := f.CreateCluster("demo", grouped)
			f.UntilReady(cluster)
			machine := f.CreateMachine("demo", "worker-1", bootData)
			f.UntilReady(machine)
			f.UntilInEffect(cluster)
			before := remembered(f, cluster, machine)
			site := f.Snapshot(cluster.Status.VPCID, cluster.Status.NetworkSecurityGroupID, cluster.Status.Subnets[0].ID, machine.Status.InstanceID)

			end := row.begin(f)
			began := time.Now()
			f.UntilReason(cluster, "Ready", row.reason, "")
			f.UntilReason(machine, "Ready", row.reason, "")
			f.Eventually(func() time.Duration {
				f.Expect(remembered(f, cluster, machine)).To(Equal(before))
				return time.Since(began)
			}).Should(BeNumerically(">", 20*bmmtest.Poll))
			end()
			f.UntilReady(cluster)
			f.UntilReady(machine)
			f.Expect(remembered(f, cluster, machine)).To(Equal(before))
			f.Expect(f.Snapshot(cluster.Status.VPCID, cluster.Status.NetworkSecurityGroupID, cluster.Status.Subnets[0].ID, machine.Status.InstanceID)).
				To(Equal(site))
		})
	}
}

// YAML that was copied from the API server names another object's instance.
func TestTrouble_aCopiedObjectTouchesNothingOfTheOther(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilProvisioned(machine) // so that the copy shows the instance
	text, err := json.Marshal(machine)
	f.Expect(err).NotTo(HaveOccurred())
	twin := f.CreateMachine("demo", "worker-2", bootData, func(m *infrav1.NvidiaBMMMachine) {
		var copied infrav1.NvidiaBMMMachine
		f.Expect(json.Unmarshal(text, &copied)).To(Succeed())
		m.Annotations, m.Spec, m.Finalizers = copied.Annotations, copied.Spec, copied.Finalizers
	})
	f.UntilReason(twin, infrav1.InstanceProvisionedCondition, "Invalid", "is lost, but there is or was instance "+machine.Status.InstanceID)
	bmmtest.Change(f, twin, func(m *infrav1.NvidiaBMMMachine) {
		m.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	})
	f.UntilReason(twin, infrav1.InstanceProvisionedCondition, "Invalid", "are in ledger "+f.Namespace+"/nvidiabmmmachine-worker-1")
	f.Delete(twin)
	f.Expect(f.Called("createInstance")).To(Equal(1))
	f.Expect(f.Called("deleteInstance")).To(BeZero())
	f.UntilReady(machine)
}
