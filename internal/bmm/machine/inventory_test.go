package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// slow is a poll interval at which a list is never too old, however busy the computer is.
const slow = 500 * time.Millisecond

// instanceCalls are the calls so far that are about instances.
func instanceCalls(f *bmmtest.Fixture) map[string]int {
	counts := map[string]int{}
	for operation, n := range f.Sim.Calls() {
		if strings.Contains(operation, "Instance") {
			counts[operation] = n
		}
	}
	return counts
}

// machines of a cluster that is ready, all of them made at once.
func machines(f *bmmtest.Fixture, number int) []*infrav1.NvidiaBMMMachine {
	f.UntilReady(f.CreateCluster("demo"))
	var all []*infrav1.NvidiaBMMMachine
	for n := range number {
		all = append(all, f.CreateMachine("demo", fmt.Sprintf("worker-%d", n), userData))
	}
	for _, object := range all {
		f.UntilReady(object)
	}
	return all
}

func TestInventory_oneListServesAllMachines(t *testing.T) {
	t.Parallel()
	const number = 8
	f := bmmtest.StartPaced(t, slow, bmmtest.Settle)
	all := machines(f, number)
	ready := instanceCalls(f)
	f.Expect(ready).To(HaveKeyWithValue("createInstance", number))
	f.Expect(ready["getInstance"]).To(BeNumerically("<=", number), "at most one look at each until it is ready")

	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">=", ready["listInstances"]+8), "the site is still listed")
	steady := instanceCalls(f)
	steady["listInstances"] = ready["listInstances"]
	f.Expect(steady).To(Equal(ready), "and no instance is read by its ID")

	for _, object := range all {
		f.Delete(object)
	}
	for _, object := range all {
		f.UntilGone(object)
	}
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
	f.Expect(f.Called("deleteInstance")).To(Equal(number))
}

// A machine that is ready is polled every ten intervals. A change is seen within about one, by the list.
func TestInventory_aChangeWakesItsMachine(t *testing.T) {
	t.Parallel()
	const poll = 4 * time.Second
	f := bmmtest.StartPaced(t, poll, bmmtest.Settle)
	all := machines(f, 2)
	object := all[0]
	changed := time.Now()
	f.Expect(f.Sim.SetStatus(sim.Status{ID: object.Status.InstanceID, Status: "Repairing"})).To(Succeed())
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Repairing", "")
	f.Expect(time.Since(changed)).To(BeNumerically("<", 4*poll))

	object = all[1]
	changed = time.Now()
	f.Expect(f.Sim.Vanish(object.Status.InstanceID)).To(Succeed())
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Lost", "instance "+object.Status.InstanceID+" was deleted outside Bedplate")
	f.Expect(time.Since(changed)).To(BeNumerically("<", 4*poll))
}

// A list is paged. An instance on any page is known, and half a list counts as none.
func TestInventory_knowsInstancesOfEveryPage(t *testing.T) {
	t.Parallel()
	const others = 110
	f := bmmtest.StartPaced(t, slow, bmmtest.Settle, func(w *sim.Config) { w.InstanceTypes[0].Machines = others + 1 })
	cluster := f.CreateCluster("demo")
	f.UntilReady(cluster)
	for n := range others {
		f.Make(theirs(cluster, fmt.Sprintf("theirs-%d", n)))
	}
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	before := f.Called("getInstance")
	f.Expect(before).To(BeNumerically("<=", 1))
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">=", lists+8))
	f.Expect(f.Called("getInstance")).To(Equal(before))
	f.Expect(f.Sim.SetStatus(sim.Status{ID: object.Status.InstanceID, Status: "Repairing"})).To(Succeed())
	f.UntilReason(object, infrav1.InstanceProvisionedCondition, "Repairing", "")
}

// theirs is an instance of the user's own in a cluster's network.
func theirs(c *infrav1.NvidiaBMMCluster, name string) sim.Object {
	return sim.Object{Kind: sim.KindInstance, Request: bmm.InstanceCreateRequest{
		Name: name, TenantID: sim.DefaultTenantID, VPCID: c.Status.VPCID, InstanceTypeID: sim.DefaultInstanceTypeID,
		OperatingSystemID: bmmtest.OperatingSystemID, Interfaces: []bmm.InterfaceCreateRequest{{SubnetID: c.Status.Subnets[0].ID}},
	}}
}
