package publish_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/bmm/publish"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

var userData = []byte("#cloud-config\n")

func isGone(gone bool) types.GomegaMatcher { return HaveField("Gone", gone) }

func TestPublish_tellsAClusterOfItsInstancesAndOfNothingElse(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	f.UntilReady(f.CreateCluster("other"))
	machine, others := f.CreateMachine("demo", "worker-1", userData), f.CreateMachine("other", "other-1", userData)
	f.UntilReady(machine)
	f.UntilReady(others)
	w.untilPublished(machine, And(
		HaveField("Name", "worker-1"), HaveField("Status", "Ready"), HaveField("SiteID", sim.DefaultSiteID),
		HaveField("InstanceType", "cpu.large"), HaveField("MachineID", machine.Status.MachineID), isGone(false),
		HaveField("Addresses", ContainElement(machine.Status.Addresses[1].Address))))
	f.Eventually(func(g Gomega) {
		g.Expect(w.site(g)).To(And(HaveField("ID", sim.DefaultSiteID), HaveField("Zone", "site-1"), HaveField("Region", "zurich"),
			HaveField("Complete.IsZero()", false)))
	}).Should(Succeed())

	// While nothing happens nothing is written, and the BMM API isn't asked more than anyway.
	written, lists := w.requested(http.MethodPatch), f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">", lists+5))
	looks := w.requested(http.MethodGet)
	f.Eventually(func() int { return w.requested(http.MethodGet) }).Should(BeNumerically(">=", looks+2), "whole looks go on")
	f.Expect(w.requested(http.MethodPatch)-written).To(BeNumerically("<=", w.requested(http.MethodGet)), "the site's alone")
	f.Expect(w.published(f)).To(HaveLen(1))
	f.Expect(f.Called("getInstanceType")).To(Equal(1), "names are asked for once an hour")
	f.Expect(w.text()).NotTo(Or(ContainSubstring(sim.DefaultToken), ContainSubstring(f.Endpoint), ContainSubstring("cloud-config"),
		ContainSubstring(sim.DefaultTenantID), ContainSubstring(others.Status.InstanceID)))
}

// Whatever else is wrong, that an instance is gone is said where it is proven, and nowhere else.
func TestPublish_saysGoneOnlyWhereItIsProven(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	machines := map[string]*infrav1.NvidiaBMMMachine{}
	for _, name := range []string{"stays", "vanishes", "is-deleted", "is-torn-out"} {
		machines[name] = f.CreateMachine("demo", name, userData)
	}
	for _, machine := range machines {
		f.UntilReady(machine)
		w.untilPublished(machine, HaveField("Status", "Ready"))
	}
	heal := f.Refuse(http.StatusServiceUnavailable, "listInstances", "getInstance", "getSite")
	f.Expect(f.Sim.Vanish(machines["vanishes"].Status.InstanceID)).To(Succeed())
	looks := w.requested(http.MethodGet)
	f.Eventually(func() int { return w.requested(http.MethodGet) }).Should(BeNumerically(">", looks+2))
	f.Expect(w.published(f)).To(And(HaveLen(4), HaveEach(isGone(false))))
	heal()
	w.untilPublished(machines["vanishes"], isGone(true))

	f.Delete(machines["is-deleted"])
	f.UntilGone(machines["is-deleted"])
	w.untilPublished(machines["is-deleted"], isGone(true))
	f.Delete(machines["vanishes"])
	f.UntilGone(machines["vanishes"])

	// A user removes the finalizer of a machine whose instance still exists.
	torn := machines["is-torn-out"]
	f.Refuse(http.StatusServiceUnavailable, "deleteInstance")
	f.Delete(torn)
	f.Eventually(func() error {
		if err := f.Read(torn); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := torn.DeepCopy()
		torn.Finalizers = nil
		return f.Client.Patch(t.Context(), torn, client.MergeFrom(before))
	}).Should(Succeed())
	f.UntilGone(torn)
	f.Eventually(func(g Gomega) {
		g.Expect(w.published(g)).NotTo(HaveKey(torn.Status.InstanceID), "that is unknown: it isn't called gone")
	}).Should(Succeed())
	f.Expect(w.published(f)).To(HaveLen(3))
	f.Expect(w.published(f)).To(HaveKeyWithValue(machines["stays"].Status.InstanceID, isGone(false)))
	f.Expect(w.published(f)).To(HaveKeyWithValue(machines["vanishes"].Status.InstanceID, isGone(true)), "tombstones stay a while")
}

func TestPublish_leavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	const old, young = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
	const missed, future = "aaaaaaaa-0000-4000-8000-000000000003", "aaaaaaaa-0000-4000-8000-000000000004"
	seen := func(ago time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-ago)) }
	for _, one := range []publication.Instance{
		{ID: old, Gone: true, Seen: seen(2 * time.Hour)}, {ID: young, Gone: true, Seen: seen(time.Minute)},
		{ID: missed, Seen: seen(time.Minute)}, {ID: future, Gone: true, Seen: seen(-time.Hour)},
	} {
		w.put(one)
	}
	f.Eventually(func(g Gomega) {
		g.Expect(w.published(g)).To(And(HaveLen(1), HaveKey(young)), "of machines that went while no manager looked")
	}).Should(Succeed())
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "another-clients"}}
	f.Create(mine)
	looks := w.requested(http.MethodGet)
	f.Eventually(func() int { return w.requested(http.MethodGet) }).Should(BeNumerically(">", looks+2))
	f.Expect(f.Read(mine)).To(Succeed())
}

// A cluster that has lost more machines within an hour than there may be obsolete ConfigMaps.
func TestPublish_goesOnBesideManyTombstones(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	f.Eventually(func(g Gomega) { g.Expect(w.site(g).ID).NotTo(BeEmpty()) }).Should(Succeed())
	cluster := named(f, "demo", &clusterv1.Cluster{})
	bmmtest.Change(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	for n := range publish.Strangers + 10 {
		w.put(publication.Instance{ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n), Gone: true, Seen: metav1.Now()})
	}
	bmmtest.Change(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(false) })
	machine := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(machine)
	w.untilPublished(machine, HaveField("Status", "Ready"))
}

// An address may be another instance's since the BMM API was seen last: what is known from then isn't new because it is published
// again.
func TestPublish_isCompleteAsOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	machine := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(machine)
	w.untilPublished(machine, HaveField("Status", "Ready"))
	f.Eventually(func(g Gomega) { g.Expect(w.site(g).Complete.Time).NotTo(BeZero()) }).Should(Succeed())
	f.Refuse(http.StatusServiceUnavailable, "listInstances", "getInstance")
	lists := f.Called("listInstances")
	f.Eventually(func() int { return f.Called("listInstances") }).Should(BeNumerically(">", lists+2))
	silent := time.Now()
	looks := w.requested(http.MethodGet)
	f.Eventually(func() int { return w.requested(http.MethodGet) }).Should(BeNumerically(">", looks+2))
	f.Consistently(func(g Gomega) {
		g.Expect(w.site(g).Complete.Time).To(BeTemporally("<=", silent))
	}, 3*time.Second).Should(Succeed())
}

// Root in the workload cluster writes anything there. It is reverted, and changes nothing outside.
func TestPublish_whatAWorkloadClusterWritesChangesNothingOutside(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	machine, victim := f.CreateMachine("demo", "worker-1", userData), f.CreateMachine("demo", "worker-2", userData)
	f.UntilProvisioned(machine)
	f.UntilProvisioned(victim)
	w.untilPublished(victim, isGone(false))
	id := victim.Status.InstanceID
	w.put(publication.Instance{ID: id, SiteID: "elsewhere", Name: "worker-1", Gone: true, Status: "Terminated", Addresses: []string{"evil"}})
	w.put(publication.Instance{ID: "11111111-0000-4000-8000-000000000001", Name: "../../secrets/x", Gone: true})
	w.put(publication.Site{ID: "elsewhere", Zone: "evil"})
	w.untilPublished(victim, And(isGone(false), HaveField("Name", "worker-2"), HaveField("SiteID", sim.DefaultSiteID)))
	f.Eventually(func(g Gomega) {
		g.Expect(w.published(g)).To(HaveLen(2))
		g.Expect(w.site(g)).To(HaveField("ID", sim.DefaultSiteID))
	}).Should(Succeed())
	for _, one := range []*infrav1.NvidiaBMMMachine{machine, victim} {
		before := one.DeepCopy()
		f.Expect(f.Read(one)).To(Succeed())
		f.Expect(one.UID).To(Equal(before.UID))
		f.Expect(one.Spec).To(Equal(before.Spec))
		f.Expect(one.Status.InstanceID).To(Equal(before.Status.InstanceID))
	}
	f.Expect(f.Sim.State().Instances).To(HaveLen(2))
	f.Expect(f.Called("deleteInstance")).To(BeZero())
}

// API servers that say nothing, for many clusters.
func TestPublish_aSilentWorkloadClusterHoldsUpNobody(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	healthy, silent := newWorkload(t, f, "healthy"), newWorkload(t, f, "silent")
	first := f.CreateMachine("silent", "first", userData)
	f.UntilReady(first)
	silent.untilPublished(first, isGone(false))
	says := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before, no server learns that its client has left
		<-r.Context().Done()
	}
	silent.answers(says)
	for _, name := range []string{"silent-2", "silent-3", "silent-4"} {
		newWorkload(t, f, name).answers(says)
	}

	doomed, machine := f.CreateMachine("silent", "doomed", userData), f.CreateMachine("healthy", "worker-1", userData)
	f.UntilReady(doomed)
	f.UntilReady(machine)
	began := time.Now()
	healthy.untilPublished(machine, HaveField("Status", "Ready"))
	f.Expect(time.Since(began)).To(BeNumerically("<", publish.CallTimeout), "it doesn't wait for the other's call")

	for _, gone := range []client.Object{doomed, first, named(f, "silent", &infrav1.NvidiaBMMCluster{})} {
		f.Delete(gone)
		f.UntilGone(gone)
	}
	f.Expect(f.Sim.State().Instances).To(HaveLen(1))
}

func named[T client.Object](f *bmmtest.Fixture, name string, object T) T {
	object.SetNamespace(f.Namespace)
	object.SetName(name)
	return object
}

// Only the reason is reported, not what the network or the server says: a tenant could scan the network with that.
func TestPublish_saysOnceWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w := newWorkload(t, f, "demo")
	f.Eventually(func(g Gomega) { g.Expect(w.site(g).ID).NotTo(BeEmpty()) }).Should(Succeed())
	w.answers(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusTeapot)
		_, _ = rw.Write([]byte("inside-banner"))
	})
	events := func(g Gomega) (says []string) {
		list := &corev1.EventList{}
		g.Expect(f.Client.List(t.Context(), list, client.InNamespace(f.Namespace))).To(Succeed())
		for _, e := range list.Items {
			if e.Reason == publish.ReasonUnpublished {
				says = append(says, e.Message)
			}
		}
		return says
	}
	f.Eventually(events).Should(ContainElement(ContainSubstring("the API server of the cluster can't be asked.")))
	asked := w.requested(http.MethodGet)
	f.Eventually(func() int { return w.requested(http.MethodGet) }).Should(BeNumerically(">", asked+3))
	f.Expect(events(f)).To(HaveLen(1))
	f.Expect(events(f)).NotTo(ContainElement(Or(ContainSubstring("inside-banner"), ContainSubstring("127.0.0.1"))))
}

// Another management cluster has it then.
func TestPublish_restsWhileAClusterIsPaused(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	w, clock := newWorkload(t, f, "demo"), newWorkload(t, f, "goes-on")
	f.Eventually(func(g Gomega) { g.Expect(w.site(g).ID).NotTo(BeEmpty()) }).Should(Succeed())
	cluster := named(f, "demo", &clusterv1.Cluster{})
	bmmtest.Change(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	looks := func(of *workloadCluster) int { return of.requested(http.MethodGet) }
	f.Eventually(func() bool {
		before, ticks := looks(w), looks(clock)
		f.Eventually(func() int { return looks(clock) }).Should(BeNumerically(">", ticks+2))
		return looks(w) == before
	}).Should(BeTrue())
	before := looks(w)
	bmmtest.Change(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(false) })
	f.Eventually(func() int { return looks(w) }).Should(BeNumerically(">", before))
}
