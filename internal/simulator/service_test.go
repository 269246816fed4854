package simulator_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/simulator"
)

// call makes a call of an operation in a service, and says whether its connection was dropped.
func call(ctx context.Context, s *simulator.Service, work func()) (dropped bool, err error) {
	defer func() {
		if e := recover(); e != nil {
			dropped = true
		}
	}()
	err = s.Inject(ctx, "make", func(context.Context) error { work(); return nil })
	return false, err
}

func TestInject(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault   simulator.Fault
		dropped bool
		err     string
		done    int // right after the call
		later   int // a minute after it
	}{
		"another operation": {fault: simulator.Fault{Operation: "delete", Kind: simulator.FaultStatus, Status: 500}, done: 1, later: 1},
		"status":            {fault: simulator.Fault{Operation: "MAKE", Kind: simulator.FaultStatus, Status: 503, Message: "busy"}, err: "busy"},
		"status after":      {fault: simulator.Fault{Operation: "make", Kind: simulator.FaultStatusAfter, Status: 500, Message: "oops"}, err: "oops", done: 1, later: 1},
		"lost answer":       {fault: simulator.Fault{Operation: "make", Kind: simulator.FaultLoseAnswer}, dropped: true, done: 1, later: 1},
		"hang":              {fault: simulator.Fault{Operation: "make", Kind: simulator.FaultHang, Hold: metav1.Duration{Duration: time.Second}}, dropped: true},
		"late": {
			fault: simulator.Fault{
				Operation: "make", Kind: simulator.FaultCommitLate,
				Hold: metav1.Duration{Duration: time.Second}, Delay: metav1.Duration{Duration: 10 * time.Second},
			}, dropped: true, later: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				s := simulator.New(1, slog.New(slog.DiscardHandler))
				defer s.Close()
				g.Expect(s.AddFault(row.fault)).To(Succeed())
				done := 0
				dropped, err := call(t.Context(), s, func() { done++ })
				g.Expect(dropped).To(Equal(row.dropped))
				if row.err != "" {
					g.Expect(err).To(MatchError(row.err))
				}
				g.Expect(done).To(Equal(row.done))
				time.Sleep(time.Minute)
				synctest.Wait()
				g.Expect(done).To(Equal(row.later))
			})
		})
	}
}

func TestAddFault_ofAnOperationThatDoesNotExist(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := simulator.New(1, slog.New(slog.DiscardHandler))
	defer s.Close()
	s.Known = func(...string) error { return errors.New("no such operation") }
	g.Expect(s.AddFault(simulator.Fault{Operation: "make", Kind: simulator.FaultHang})).To(MatchError("no such operation"))
	g.Expect(s.StartChaos(simulator.Chaos{Rate: 1, Operations: []string{"make"}})).To(MatchError("no such operation"))
}

// What runs in the background when the service closes is waited for, and nothing begins after that.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := simulator.New(2, slog.New(slog.DiscardHandler))
		began, ended := make(chan struct{}), false
		go s.Run(func() {
			close(began)
			g.Expect(s.Wait(time.Hour)).To(MatchError(ContainSubstring("shutting down")))
			ended = true
		})
		<-began
		s.Close()
		g.Expect(ended).To(BeTrue())
		s.Run(func() { t.Error("it has closed") })
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tokens := &simulator.Tokens[string]{}
	tokens.Add("forever", "admin", time.Time{})
	tokens.Add("short", "user", time.Now().Add(-time.Second))
	grant := func(header string) (string, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		return tokens.Grant(r)
	}
	g.Expect(grant("Bearer forever")).To(Equal("admin"))
	for header, why := range map[string]error{
		"": simulator.ErrNoToken, "Bearer short": simulator.ErrTokenExpired, "Bearer other": simulator.ErrTokenUnknown, "forever": simulator.ErrTokenUnknown,
	} {
		_, err := grant(header)
		g.Expect(err).To(MatchError(why), header)
	}
	tokens.Expire()
	_, err := grant("Bearer forever")
	g.Expect(err).To(MatchError(simulator.ErrTokenExpired))
}

func TestIssuer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	issued := map[string]string{}
	issuer := &simulator.Issuer{
		Claims: func(_ *http.Request, id, secret string) (map[string]any, bool) {
			return map[string]any{"iss": "here"}, id == "one" && secret == "s3cret"
		},
		Issue: func(id, token string, _ time.Time) { issued[id] = token },
	}
	ask := func(form, id, secret string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/token", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if id != "" {
			r.SetBasicAuth(id, secret)
		}
		w := httptest.NewRecorder()
		issuer.ServeHTTP(w, r)
		return w.Code
	}
	g.Expect(ask("grant_type=client_credentials", "one", "wrong")).To(Equal(http.StatusUnauthorized))
	g.Expect(ask("grant_type=password", "one", "s3cret")).To(Equal(http.StatusBadRequest))
	g.Expect(issued).To(BeEmpty())
	g.Expect(ask("grant_type=client_credentials", "one", "s3cret")).To(Equal(http.StatusOK))
	g.Expect(ask("grant_type=client_credentials&client_id=one&client_secret=s3cret", "", "")).To(Equal(http.StatusOK))
	g.Expect(strings.Split(issued["one"], ".")).To(HaveLen(3))
}

func TestPool_isFullUntilOneIsGivenBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := simulator.NewPool(1)
	g.Expect(p.Get(t.Context())).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(p.Get(ctx)).To(MatchError(context.Canceled), "its client has left")
	p.Put()
	g.Expect(p.Get(t.Context())).To(Succeed())
	g.Expect(simulator.NewPool(-1).Get(ctx)).To(Succeed(), "without a limit")
}

func TestLocks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var l simulator.Locks[string]
	g.Expect(l.Try("a")).To(BeTrue())
	g.Expect(l.Try("a")).To(BeFalse())
	g.Expect(l.Try("b")).To(BeTrue())
	l.Release("a")
	g.Expect(l.Try("a")).To(BeTrue())
}

// However fast the clock is, work for a client that has gone isn't cut off by a busy computer: another client would leave.
func TestLateWork_hasTheTimeThatABusyComputerNeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := simulator.New(2000, slog.New(slog.DiscardHandler))
		defer s.Close()
		g.Expect(s.AddFault(simulator.Fault{
			Operation: "make", Kind: simulator.FaultCommitLate,
			Hold: metav1.Duration{Duration: time.Second}, Delay: metav1.Duration{Duration: time.Second},
		})).To(Succeed())
		ended := make(chan error, 1)
		g.Expect(func() {
			_ = s.Inject(t.Context(), "make", func(ctx context.Context) error {
				time.Sleep(time.Second)
				ended <- ctx.Err()
				return nil
			})
		}).To(PanicWith(http.ErrAbortHandler))
		g.Expect(<-ended).NotTo(HaveOccurred())
	})
}
