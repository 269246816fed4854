package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// timetable is a queue whose time passes by hand: as a real one does, it keeps the earlier of two times.
type timetable struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	now        time.Time
	due        map[reconcile.Request]time.Time
	reconciled int
}

func (q *timetable) AddAfter(request reconcile.Request, after time.Duration) {
	at := q.now.Add(after)
	if before, waits := q.due[request]; !waits || at.Before(before) {
		q.due[request] = at
	}
}

func (q *timetable) pass(d time.Duration) {
	q.now = q.now.Add(d)
	for request, at := range q.due {
		if !at.After(q.now) {
			delete(q.due, request)
			q.reconciled++
		}
	}
}

// manyGroups are all objects that there are.
type manyGroups struct {
	client.Client
	groups []resourcev1.ResourceGroup
}

func (m *manyGroups) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*resourcev1.ResourceGroupList).Items = m.groups
	return nil
}

// A DPU whose addresses are others each second concerns all groups once a minute; one that is new, at once.
func TestUnderlay_ofOneDPUKeepsNotAllGroupsBusy(t *testing.T) {
	t.Parallel()
	const groups, seconds = 100, 600
	g, all := NewWithT(t), &manyGroups{}
	for i := range groups {
		all.groups = append(all.groups, resourcev1.ResourceGroup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
	}
	queue := &timetable{now: time.Now(), due: map[reconcile.Request]time.Time{}}
	r := &groupReconciler{Client: all, underlays: &underlays{}, pace: newPace(func() time.Time { return queue.now })}
	host := func(dpu, address string) *resourcev1.ManagedResource {
		h := &resourcev1.ManagedResource{Spec: resourcev1.ManagedResourceSpec{DPUIPs: []resourcev1.IPAddress{resourcev1.IPAddress(dpu)}}}
		h.Status.DPUAddresses = []resourcev1.IPAddress{resourcev1.IPAddress(address)}
		return h
	}
	tell := func(dpu string, second int) {
		r.underlayChanged(t.Context(), event.UpdateEvent{
			ObjectOld: host(dpu, fmt.Sprint("10.0.0.", second%2)), ObjectNew: host(dpu, fmt.Sprint("10.0.0.", (second+1)%2)),
		}, queue)
	}
	for second := range seconds {
		tell("172.18.0.5", second)
		queue.pass(time.Second)
		if second == 0 {
			g.Expect(queue.reconciled).To(Equal(groups), "what is new is told at once")
		}
	}
	g.Expect(queue.reconciled).To(BeNumerically("<=", groups*(seconds/60+1)))

	queue.reconciled = 0
	tell("172.18.0.6", 0)
	queue.pass(time.Second)
	g.Expect(queue.reconciled).To(Equal(groups), "another DPU doesn't wait for that one")
	queue.pass(time.Hour)
	g.Expect(queue.due).To(BeEmpty())
	tell("172.18.0.5", 0)
	g.Expect(r.pace.due).To(HaveLen(1), "what is long over is forgotten")

	queue.pass(time.Hour)
	gone := host("172.18.0.99", "")
	gone.Status.DPUAddresses = nil
	r.underlayChanged(t.Context(), event.UpdateEvent{ObjectOld: host("172.18.0.5", "10.0.0.1"), ObjectNew: gone}, queue)
	g.Expect(queue.due).To(BeEmpty(), "a host that names a DPU which there isn't is no news to all groups")
}

// A host that always asks has so many turns, and takes none from another one.
func TestTurns_areOfOneHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, turns, host := NewWithT(t), newTurns(), types.NamespacedName{Namespace: "tenant", Name: "host"}
		taken := func(d time.Duration) (n int) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if turns.wait(host) == 0 {
					n++
				}
			}
			return n
		}
		g.Expect(taken(time.Minute)).To(BeNumerically("~", turnsAtOnce+60*turnsPerSecond, 1))
		g.Expect(turns.wait(types.NamespacedName{Namespace: "tenant", Name: "other"})).To(BeZero())
		wait := turns.wait(host)
		for wait == 0 {
			wait = turns.wait(host)
		}
		g.Expect(wait).To(BeNumerically("<=", time.Second/turnsPerSecond))
		time.Sleep(wait)
		g.Expect(turns.wait(host)).To(BeZero(), "who comes back then has it")
		turns.forget(host)
		g.Expect(turns.of).To(HaveLen(1))
	})
}
