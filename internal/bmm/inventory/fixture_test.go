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
	"github.com/bedplate/bedplate/internal/httpclient"
)

const (
	siteID   = "10000000-0000-4000-8000-000000000001"
	interval = time.Minute
)

// service is a site with instances, and a count of the calls.
type service struct {
	mu        sync.Mutex
	instances map[string]string // status by ID
	more      map[string]any    // of each instance
	// slow, if set, holds up each list until it is closed. See hold.
	slow  chan struct{}
	lists int
	gets  int
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
	case last == "instance":
		s.lists++
		if slow := s.slow; slow != nil {
			s.mu.Unlock()
			<-slow
			s.mu.Lock()
		}
		list := []map[string]any{}
		for _, id := range slices.Sorted(maps.Keys(s.instances)) {
			list = append(list, view(id))
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

// hold up each list until it is released: with the end of the test at the latest, because the server doesn't close before.
func (s *service) hold(t *testing.T) (release func()) {
	slow := make(chan struct{})
	release = sync.OnceFunc(func() { close(slow) })
	t.Cleanup(release)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = slow
	return release
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

func start(t *testing.T, machines int) *fixture {
	f := &fixture{
		WithT: NewWithT(t), service: &service{instances: map[string]string{}},
		clock: clocktesting.NewFakeClock(time.Now()), ctx: t.Context(),
	}
	f.SetDefaultEventuallyTimeout(30 * time.Second)
	for n := range machines {
		f.instances[id(n)] = "Ready"
	}
	server := httptest.NewServer(f.service)
	t.Cleanup(server.Close)
	f.url = server.URL
	f.api, f.inventory = f.login("token"), inventory.New(interval, f.clock)
	return f
}

func (f *fixture) login(token string) *bmm.Client { return f.loginFrom("", token) }

func (f *fixture) loginFrom(namespace, token string, changes ...func(*bmm.Config)) *bmm.Client {
	config := bmm.Config{
		Endpoint: f.url, Org: "org", APIName: "carbide", Token: token, Secret: namespace + "/bmm",
		Limits: httpclient.Limits{QPS: 1e6, Burst: 1e6, Egress: egress.Policy{Loopback: true}},
	}
	for _, change := range changes {
		change(&config)
	}
	api, err := bmm.New(config)
	f.Expect(err).NotTo(HaveOccurred())
	return api
}

func (f *fixture) status(n int) string {
	instance, err := f.inventory.Get(f.ctx, f.api, siteID, id(n))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(instance.UserData).To(BeEmpty())
	return string(instance.Status)
}
