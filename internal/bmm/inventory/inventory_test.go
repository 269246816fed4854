package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
)

const (
	siteID   = "10000000-0000-4000-8000-000000000001"
	interval = time.Minute
)

// service is a site with instances, and a count of the calls.
type service struct {
	mu        sync.Mutex
	instances map[string]string // status by ID
	unlisted  map[string]bool
	more      map[string]any // of each instance
	failing   bool
	// slow, if set, holds up each list until it is closed; where slowSite is set, each one of that site.
	slow     chan struct{}
	slowSite string
	lists    int
	gets     int
}

func id(n int) string { return fmt.Sprintf("30000000-0000-4000-8000-%012d", n) }

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := func(id string) map[string]any {
		instance := map[string]any{
			"id": id, "name": id, "siteId": siteID, "status": s.instances[id], "vpcId": siteID, "userData": "secret",
		}
		maps.Copy(instance, s.more)
		return instance
	}
	answer := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case strings.Contains(r.URL.Path, "/site/"):
		answer(http.StatusOK, map[string]any{"id": siteID, "name": "site", "status": "Registered", "isOnline": true})
	case s.failing:
		answer(http.StatusInternalServerError, map[string]any{"message": "broken"})
	case last == "instance":
		s.lists++
		if slow := s.slow; slow != nil && strings.HasPrefix(r.URL.Query().Get("siteId"), s.slowSite) {
			s.mu.Unlock()
			<-slow
			s.mu.Lock()
		}
		list := []map[string]any{}
		for _, id := range slices.Sorted(maps.Keys(s.instances)) {
			if !s.unlisted[id] {
				list = append(list, view(id))
			}
		}
		number, _ := strconv.Atoi(r.URL.Query().Get("pageNumber"))
		if number > 1 {
			s.lists-- // one more page of the same
		}
		w.Header().Set("X-Pagination", fmt.Sprintf(`{"pageNumber":%d,"pageSize":100,"total":%d}`, number, len(list)))
		answer(http.StatusOK, list[min(100*(number-1), len(list)):min(100*number, len(list))])
	case s.instances[last] != "":
		s.gets++
		answer(http.StatusOK, view(last))
	default:
		s.gets++
		answer(http.StatusNotFound, map[string]any{"message": "no such instance"})
	}
}

func (s *service) set(n int, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances[id(n)] = status
}

func (s *service) calls() (lists, gets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.gets
}

type fixture struct {
	*WithT
	*service
	clock     *clocktesting.FakeClock
	url       string
	api       *bmm.Client
	inventory *inventory.Inventory
	ctx       context.Context
}

func start(t *testing.T, machines int, every time.Duration) *fixture {
	f := &fixture{
		WithT: NewWithT(t), service: &service{instances: map[string]string{}, unlisted: map[string]bool{}},
		clock: clocktesting.NewFakeClock(time.Now()), ctx: t.Context(),
	}
	for n := range machines {
		f.instances[id(n)] = "Ready"
	}
	server := httptest.NewServer(f.service)
	t.Cleanup(server.Close)
	f.url = server.URL
	f.api, f.inventory = f.login("token"), inventory.New(every, f.clock)
	return f
}

func (f *fixture) login(token string) *bmm.Client { return f.loginFrom("", token) }

func (f *fixture) loginFrom(namespace, token string, changes ...func(*bmm.Config)) *bmm.Client {
	config := bmm.Config{
		Endpoint: f.url, Org: "org", APIName: "carbide", Token: token, Secret: namespace + "/bmm", QPS: 1e6, Burst: 1e6,
		Egress: egress.Policy{Loopback: true},
	}
	for _, change := range changes {
		change(&config)
	}
	api, err := bmm.New(config)
	f.Expect(err).NotTo(HaveOccurred())
	return api
}

func (f *fixture) status(n int) string {
	instance, err := f.inventory.Instance(f.ctx, f.api, siteID, id(n))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(instance.UserData).To(BeEmpty())
	return string(instance.Status)
}

func TestInstance_costsOneListForAllMachines(t *testing.T) {
	t.Parallel()
	f := start(t, 50, interval)
	for n := range 50 {
		f.Expect(f.status(n)).To(Equal("Ready"))
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())
}

// Each cluster may have a Secret of its own, with the same login in it.
func TestInstance_costsOneListForAllSecretsOfAnAccount(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	for range 3 {
		f.api = f.login("token")
		f.Expect(f.status(0)).To(Equal("Ready"))
	}
	lists, _ := f.calls()
	f.Expect(lists).To(Equal(1))
	f.api = f.login("another-token")
	f.Expect(f.status(0)).To(Equal("Ready"))
	lists, _ = f.calls()
	f.Expect(lists).To(Equal(2), "who logs in as somebody else may see something else")
}

func TestInstance_isListedAnewWhenNobodyElseDoes(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.set(0, "Error")
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.clock.Step(2 * interval)
	f.Expect(f.status(0)).To(Equal("Error"))
}

// A list may lag behind, and half of one is none.
func TestInstance_thatIsNotInTheListIsAskedFor(t *testing.T) {
	t.Parallel()
	f := start(t, 2, interval)
	f.unlisted[id(1)] = true
	f.Expect(f.status(1)).To(Equal("Ready"))
	f.Expect(f.status(1)).To(Equal("Ready"))
	_, gets := f.calls()
	f.Expect(gets).To(Equal(1), "what was got counts like what was listed")

	_, err := f.inventory.Instance(f.ctx, f.api, siteID, id(7))
	f.Expect(fault.IsNotFound(err)).To(BeTrue())
}

func TestInstance_isUnknownWhenTheListFails(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.mu.Lock()
	f.failing = true
	f.mu.Unlock()
	f.clock.Step(2 * interval)
	for range 5 {
		_, err := f.inventory.Instance(f.ctx, f.api, siteID, id(0))
		f.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	}
	f.mu.Lock()
	f.failing = false
	f.mu.Unlock()
	f.clock.Step(interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
}

// A site whose list takes its time, or fails once, is no reason to know less than a moment ago.
func TestInstance_thatWasJustSeenWaitsForNoListAndFailsWithNone(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	slow := make(chan struct{})
	f.mu.Lock()
	f.slow = slow
	f.mu.Unlock()
	f.clock.Step(2 * interval)
	listed := make(chan string)
	go func() { listed <- f.status(0) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2), "a list is on its way")
	f.inventory.Put(f.api, siteID, &bmm.Instance{ID: id(1), SiteID: siteID, Status: bmm.InstancePending})
	f.clock.Step(-interval - time.Second) // for whoever asks now the last list is young enough
	f.Expect(f.status(0)).To(Equal("Ready"))
	close(slow)
	f.Eventually(listed).Should(Receive(Equal("Ready")))

	f.mu.Lock()
	f.failing = true
	f.mu.Unlock()
	f.clock.Step(interval / 2)
	f.Expect(f.status(0)).To(Equal("Ready"))
}

func TestTouch_forgetsWhatWasSeenBefore(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.inventory.Touch(f.api, siteID, id(0))
	f.set(0, "Terminating")
	f.Expect(f.status(0)).To(Equal("Terminating"))
	f.Expect(f.status(0)).To(Equal("Terminating"))
	_, gets := f.calls()
	f.Expect(gets).To(Equal(1))
}

func TestPut_sparesTheFirstLook(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.inventory.Put(f.api, siteID, &bmm.Instance{ID: id(1), SiteID: siteID, Status: bmm.InstancePending, UserData: "secret"})
	f.Expect(f.status(1)).To(Equal("Pending"))
	_, gets := f.calls()
	f.Expect(gets).To(BeZero())
}

func TestStart_tellsOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	f := start(t, 20, 20*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	ticking := time.NewTicker(5 * time.Millisecond)
	go func() {
		for ctx.Err() == nil {
			<-ticking.C
			f.clock.Step(20 * time.Millisecond)
		}
	}()
	f.Expect(f.status(0)).To(Equal("Ready"))
	lists, _ := f.calls()
	f.Eventually(func() int { now, _ := f.calls(); return now }).Should(BeNumerically(">", lists+3))
	f.Expect(f.inventory.Changes()).NotTo(Receive(), "nothing has changed")

	f.set(3, "Error")
	var change struct{ Object inventory.Change }
	f.Eventually(func() bool {
		select {
		case c := <-f.inventory.Changes():
			change.Object = c.Object
			return true
		default:
			return false
		}
	}).Should(BeTrue())
	f.Expect(change.Object).To(Equal(inventory.Change{SiteID: siteID, InstanceID: id(3)}))
	f.mu.Lock()
	delete(f.instances, id(4))
	f.mu.Unlock()
	f.Eventually(f.inventory.Changes()).Should(Receive(HaveField("Object.InstanceID", id(4))), "gone, or only not listed: somebody has to look")
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
}

// Who asks doesn't wait until all changes are heard of, and still none gets lost.
func TestStart_tellsWhatThereWasNoRoomFor(t *testing.T) {
	t.Parallel()
	const number = 3000
	f := start(t, number, 20*time.Millisecond)
	f.Expect(f.status(0)).To(Equal("Ready"))
	for n := range number {
		f.set(n, "Error")
	}
	f.clock.Step(time.Second)
	f.Expect(f.status(0)).To(Equal("Error"))

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	heard := map[string]bool{}
	for len(heard) < number {
		select {
		case c := <-f.inventory.Changes():
			heard[c.Object.InstanceID] = true
		case <-time.After(10 * time.Second):
			t.Fatalf("heard of %d changes of %d", len(heard), number)
		}
	}
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
}

// Who hears of a change asks how the site is now, whatever else there is to hear of.
func TestStart_isHeardByWhoAsksInTurn(t *testing.T) {
	t.Parallel()
	const number = 3000 // more than there is room for
	f := start(t, number, 20*time.Millisecond)
	f.Expect(f.status(0)).To(Equal("Ready"))
	for n := range number {
		f.set(n, "Error")
	}
	f.clock.Step(100 * time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	f.Eventually(f.inventory.Changes(), 10*time.Second).Should(HaveLen(cap(f.inventory.Changes())), "the others have to wait")

	f.Expect(f.inventory.Changes()).To(Receive())
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	f.Expect(f.inventory.Refresh(asking, f.api, siteID, f.clock.Now())).To(Succeed())
	stop()
	f.Eventually(ended).Should(Receive(BeNil()))
}

func TestStart_listsASiteWhileAnotherHangs(t *testing.T) {
	t.Parallel()
	const dead = "20000000-0000-4000-8000-000000000002"
	f := start(t, 1, 20*time.Millisecond)
	slow := make(chan struct{})
	f.slow, f.slowSite = slow, dead
	for _, site := range []string{siteID, dead} {
		_, err := f.inventory.Newest(f.api, site) // from now on it is listed
		f.Expect(err).NotTo(HaveOccurred())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	for range 3 {
		f.clock.Step(time.Millisecond)
		since := f.clock.Now()
		f.clock.Step(20 * time.Millisecond)
		f.Eventually(func() (time.Time, error) { return f.inventory.Newest(f.api, siteID) }).Should(BeTemporally(">", since))
	}
	stop()
	close(slow)
	f.Eventually(ended).Should(Receive(BeNil()))
}

// A manager that is told to stop keeps its lease until all has ended, and no replica works meanwhile. Only creates are worth that.
func TestStart_endsWhileAListHangs(t *testing.T) {
	t.Parallel()
	f := start(t, 1, 20*time.Millisecond)
	slow := make(chan struct{})
	defer close(slow)
	f.slow = slow
	_, err := f.inventory.Newest(f.api, siteID) // from now on it is listed
	f.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended, asked := make(chan error, 1), make(chan error, 1)
	go func() { ended <- f.inventory.Start(ctx) }()
	f.clock.Step(40 * time.Millisecond)
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	const other = "20000000-0000-4000-8000-000000000002"
	go func() { _, err := f.inventory.Instance(ctx, f.api, other, id(0)); asked <- err }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2))
	stop()
	f.Eventually(ended).WithTimeout(5 * time.Second).Should(Receive(BeNil()))
	f.Eventually(asked).WithTimeout(5 * time.Second).Should(Receive(HaveOccurred()))
}

// Of the workers that look after the machines of a dead site, one waits.
func TestRefresh_waitsForNobodysListWhereTheAPIDoesntAnswer(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	slow := make(chan struct{})
	f.slow = slow
	api, err := bmm.New(bmm.Config{
		Endpoint: f.url, Org: "org", Token: "token", APIName: bmm.APINameCarbide, Circuits: bmm.NewCircuits(interval),
		Egress: egress.Policy{Loopback: true},
	})
	f.Expect(err).NotTo(HaveOccurred())
	first, others := make(chan error, 1), make(chan error, 20)
	go func() { first <- f.inventory.Refresh(f.ctx, api, siteID, f.clock.Now()) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	for range cap(others) {
		go func() { others <- f.inventory.Refresh(f.ctx, api, siteID, f.clock.Now()) }()
	}
	f.Eventually(others, 10*time.Second).Should(HaveLen(cap(others)))
	for range cap(others) {
		f.Expect(fault.ClassOf(<-others)).To(Equal(fault.Transient))
	}
	f.Expect(first).NotTo(Receive(), "no list was answered meanwhile")
	close(slow)
	f.Eventually(first).Should(Receive(BeNil()))
	f.Expect(f.inventory.Refresh(f.ctx, api, siteID, f.clock.Now())).To(Succeed())
}

// An API may answer each page, and never come to the end: whoever waits for that holds a worker.
func TestInstance_fewWaitLongForAListOfANamespace(t *testing.T) {
	t.Parallel()
	const workers = 10
	f := start(t, 1, interval)
	slow := make(chan struct{})
	f.slow = slow
	end := sync.OnceFunc(func() { close(slow) })
	defer end()
	red := f.loginFrom("red", "token")
	first, others := make(chan error, 1), make(chan error, workers)
	ask := func(back chan error) { _, err := f.inventory.Instance(f.ctx, red, siteID, id(0)); back <- err }
	go ask(first)
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	for range workers {
		go ask(others)
	}
	f.Eventually(others, 5*time.Second).Should(HaveLen(workers - 2))
	for range workers - 2 {
		f.Expect(fault.ClassOf(<-others)).To(Equal(fault.Transient))
	}
	end()
	for range 2 {
		f.Eventually(others, 5*time.Second).Should(Receive(BeNil()))
	}
	f.Eventually(first, 5*time.Second).Should(Receive(BeNil()))
}

func TestRefresh_canBeLeft(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	slow := make(chan struct{})
	f.slow = slow
	first := make(chan error, 1)
	go func() { first <- f.inventory.Refresh(f.ctx, f.api, siteID, f.clock.Now()) }()
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(1))
	ctx, leave := context.WithCancel(f.ctx)
	leave()
	f.Expect(f.inventory.Refresh(ctx, f.api, siteID, f.clock.Now())).To(MatchError(context.Canceled))
	close(slow)
	f.Eventually(first).Should(Receive(BeNil()))
}

func name(text string) func(*bmm.Instance) bool {
	return func(i *bmm.Instance) bool { return i.Name == text }
}

func TestFind_looksInTheList(t *testing.T) {
	t.Parallel()
	f := start(t, 3, interval)
	for range 3 {
		found, err := f.inventory.Find(f.ctx, f.api, siteID, name(id(1)))
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(found).To(ConsistOf(HaveField("ID", id(1))))
		f.Expect(f.inventory.Find(f.ctx, f.api, siteID, name("another"))).To(BeEmpty())
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())

	f.mu.Lock()
	f.failing = true
	f.mu.Unlock()
	f.clock.Step(2 * interval)
	_, err := f.inventory.Find(f.ctx, f.api, siteID, name(id(1)))
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	_, err = f.inventory.Newest(f.api, siteID)
	f.Expect(err).To(HaveOccurred())
}

// A list that takes longer than it may be old is still new enough for those who have waited for it.
func TestRefresh_isOneListForAllWhoWait(t *testing.T) {
	t.Parallel()
	const callers = 20
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	began, err := f.inventory.Newest(f.api, siteID)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.inventory.Refresh(f.ctx, f.api, siteID, began.Add(-time.Second))).To(Succeed())
	lists, _ := f.calls()
	f.Expect(lists).To(Equal(1), "the newest is new enough")

	f.clock.Step(10 * time.Second)
	since := f.clock.Now().Add(-2 * time.Second)
	slow := make(chan struct{})
	f.mu.Lock()
	f.slow = slow
	f.mu.Unlock()
	ended := make(chan error, callers)
	for range callers {
		go func() { ended <- f.inventory.Refresh(f.ctx, f.api, siteID, since) }()
	}
	f.Eventually(func() int { lists, _ := f.calls(); return lists }).Should(Equal(2))
	f.clock.Step(5 * time.Second)
	close(slow)
	for range callers {
		f.Eventually(ended).Should(Receive(BeNil()))
	}
	lists, _ = f.calls()
	f.Expect(lists).To(Equal(2))
}

func TestForget_endsTheListsOfALogin(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.inventory.Forget(f.api, siteID)
	listed, err := f.inventory.Newest(f.api, siteID)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(listed).To(BeZero())
}

// With an interval of 30 s, what was just made is listed after 1 s, and then less and less often; a change begins that again.
func TestStart_listsSoonWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	const every, tick = 3 * time.Second, 10 * time.Millisecond
	f := start(t, 1, every)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- f.inventory.Start(ctx) }()
	// looks advances the clock until there was another list, and returns how much time that took.
	looks := func() time.Duration {
		before, _ := f.calls()
		passed := time.Duration(0)
		f.Eventually(func() int {
			f.clock.Step(tick)
			passed += tick
			now, _ := f.calls()
			return now
		}).WithPolling(tick).WithTimeout(20 * time.Second).Should(BeNumerically(">", before))
		return passed
	}
	f.Expect(f.status(0)).To(Equal("Ready"))
	f.Expect(looks()).To(BeNumerically(">=", every-every/30))

	f.set(1, "Pending")
	f.inventory.Put(f.api, siteID, &bmm.Instance{ID: id(1), SiteID: siteID, Status: "Pending"})
	var soon []time.Duration
	for range 4 {
		soon = append(soon, looks())
	}
	f.Expect(soon[0]).To(BeNumerically("<", every/5), "%v", soon)
	f.Expect(soon[3]).To(BeNumerically(">", soon[0]), "%v", soon)
	f.Expect(soon[0]+soon[1]+soon[2]).To(BeNumerically("<", every), "%v", soon)

	f.set(1, "Ready")
	looks()
	f.Expect(looks()).To(BeNumerically("<", every/4), "a change, so there may be more")
	cancel()
	f.Eventually(ended).Should(Receive(BeNil()))
}

// The others of a site are what fills a shelf.
func TestKeep_leavesOutWhatNobodyAsksAbout(t *testing.T) {
	t.Parallel()
	f := start(t, 1000, interval)
	f.inventory.Keep = 100 << 10
	for range 3 {
		for n := range 20 {
			f.Expect(f.status(n)).To(Equal("Ready"))
		}
		f.clock.Step(2 * interval)
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(3))
	f.Expect(gets).To(Equal(19), "once each, before they were asked about")
	f.Expect(f.inventory.Kept()).To(BeNumerically("<", f.inventory.Keep))
}

func TestKeep_takesNothingFromAnotherNamespace(t *testing.T) {
	t.Parallel()
	honest, greedy := start(t, 20, interval), start(t, 1000, interval)
	greedy.inventory = honest.inventory
	honest.inventory.Keep = 100 << 10
	for n := range 20 {
		honest.Expect(honest.status(n)).To(Equal("Ready"))
	}
	for n := range 1000 { // in many shelves, or in one
		greedy.api = greedy.loginFrom("greedy", fmt.Sprint("token", n%10))
		greedy.Expect(greedy.status(n)).To(Equal("Ready"))
	}
	honest.Expect(honest.inventory.Kept()).To(BeNumerically("<", honest.inventory.Keep))
	for n := range 20 {
		honest.Expect(honest.status(n)).To(Equal("Ready"))
	}
	lists, gets := honest.calls()
	honest.Expect(lists).To(Equal(1))
	honest.Expect(gets).To(BeZero())
}

func TestKeep_hasRoomForALargeSite(t *testing.T) {
	t.Parallel()
	const number = 10_000
	f := start(t, number, interval)
	face := map[string]any{
		"id": id(1), "instanceId": id(2), "subnetId": id(3), "status": "Ready", "macAddress": "00:00:00:00:00:00",
		"ipAddresses": []string{"10.0.0.1"}, "created": time.Now(), "updated": time.Now(),
	}
	f.more = map[string]any{
		"tenantId": id(1), "instanceTypeId": id(2), "operatingSystemId": id(3), "machineId": "fm100" + strings.Repeat("h", 54),
		"labels":     map[string]string{"owner": id(1), "key": "instance", "token": id(2), "kind": "NvidiaBMMMachine", "name": "machine"},
		"interfaces": []any{face, face}, "serialConsoleUrl": "ssh://" + id(1) + "@console.example.com", "created": time.Now(),
	}
	for n := range number {
		f.Expect(f.status(n)).To(Equal("Ready"))
	}
	lists, gets := f.calls()
	f.Expect(lists).To(Equal(1))
	f.Expect(gets).To(BeZero())
	t.Logf("%d KiB", f.inventory.Kept()>>10)
}

func TestPut_believesNoAnswerAboutItsSite(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	f.Expect(f.status(0)).To(Equal("Ready"))
	for n := range 100 {
		f.inventory.Put(f.api, siteID, &bmm.Instance{ID: id(0), SiteID: id(n), Status: bmm.InstanceReady})
	}
	f.Expect(f.inventory.Shelves()).To(Equal(1))
}

func TestInstance_isNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	f := start(t, 1, interval)
	slow := make(chan struct{})
	defer close(slow)
	f.slow = slow
	f.api = f.loginFrom("slow", "token", func(c *bmm.Config) { c.Timeout = 100 * time.Millisecond })
	_, err := f.inventory.Instance(context.WithoutCancel(f.ctx), f.api, siteID, id(0))
	f.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
}
