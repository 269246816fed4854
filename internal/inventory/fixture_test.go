package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/inventory"
)

const (
	site     = "10000000-0000-4000-8000-000000000001"
	interval = time.Minute
	// patience is how long a condition is waited for, also where other packages' tests have the CPUs.
	patience = time.Minute
)

type toy struct{ ID, Name, Site, Status, Secret string }

// login is a client of the service.
type login struct {
	*service
	account, secret string
	mu              sync.Mutex
	silent          error
}

func (l *login) Account() (a credentials.Account) { copy(a[:], l.account); return a }
func (l *login) Secret() string                   { return l.secret }
func (l *login) Namespace() string                { namespace, _, _ := strings.Cut(l.secret, "/"); return namespace }

func (l *login) Silent() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.silent
}

func (l *login) setSilent(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = err
}

// service is a shop with toys, and a count of the calls.
type service struct {
	mu       sync.Mutex
	toys     map[string]string // status by ID
	unlisted map[string]bool
	failing  bool
	// slow, if set, holds up each list until it is closed; where slowSite is set, each one of that site. See hold.
	slow     chan struct{}
	slowSite string
	lists    int
	gets     int
}

func toys() inventory.Service[*login, toy] {
	return inventory.Service[*login, toy]{
		Items: "toys",
		List:  func(ctx context.Context, api *login, site string) ([]toy, error) { return api.list(ctx, site) },
		Get:   func(_ context.Context, api *login, _, id string) (*toy, error) { return api.get(id) },
		ID:    func(t *toy) string { return t.ID },
		Settled: func(t *toy) bool {
			return t.Status == "Ready" || t.Status == "Error"
		},
		Slim: func(t toy) toy { t.Secret = ""; return t },
		Same: func(was, now toy) bool { return was == now },
	}
}

func id(n int) string { return fmt.Sprintf("30000000-0000-4000-8000-%012d", n) }

func (s *service) list(ctx context.Context, at string) ([]toy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return nil, errors.New("broken")
	}
	s.lists++
	if slow := s.slow; slow != nil && strings.HasPrefix(at, s.slowSite) {
		s.mu.Unlock()
		select {
		case <-slow:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var all []toy
	for _, id := range slices.Sorted(maps.Keys(s.toys)) {
		if !s.unlisted[id] {
			all = append(all, s.view(id))
		}
	}
	return all, nil
}

func (s *service) get(id string) (*toy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
		return nil, errors.New("broken")
	}
	s.gets++
	if s.toys[id] == "" {
		return nil, &fault.Error{Class: fault.NotFound, Op: "get toy"}
	}
	found := s.view(id)
	return &found, nil
}

func (s *service) view(id string) toy {
	return toy{ID: id, Name: id, Site: site, Status: s.toys[id], Secret: "secret"}
}

// hold up each list of a site, or of any where it is empty, until it is released: with the end of the test at the latest.
func (s *service) hold(t *testing.T, site string) (release func()) {
	slow := make(chan struct{})
	release = sync.OnceFunc(func() { close(slow) })
	t.Cleanup(release)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow, s.slowSite = slow, site
	return release
}

func (s *service) set(n int, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toys[id(n)] = status
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
	api       *login
	inventory *inventory.Inventory[*login, toy]
	ctx       context.Context
}

func start(t *testing.T, number int, every time.Duration) *fixture {
	f := &fixture{
		WithT: NewWithT(t), service: &service{toys: map[string]string{}, unlisted: map[string]bool{}},
		clock: clocktesting.NewFakeClock(time.Now()), ctx: t.Context(),
	}
	for n := range number {
		f.toys[id(n)] = "Ready"
	}
	f.SetDefaultEventuallyTimeout(patience)
	f.api, f.inventory = f.login("token"), inventory.New(toys(), every, f.clock)
	return f
}

func (f *fixture) login(token string) *login { return f.loginFrom("", token) }

func (f *fixture) loginFrom(namespace, token string) *login {
	return &login{service: f.service, account: token, secret: namespace + "/login"}
}

func (f *fixture) status(n int) string {
	toy, err := f.inventory.Get(f.ctx, f.api, site, id(n))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(toy.Secret).To(BeEmpty())
	return toy.Status
}
