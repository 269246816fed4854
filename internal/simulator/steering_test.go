package simulator_test

import (
	"context"
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

// What the switches don't understand has to be refused, not ignored.
func TestAdmin_refusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ path, body string }{
		"a second fault after the first": {"/simulator/faults", `{"operation":"make","kind":"hang"}{"operation":"drop","kind":"hang"}`},
		"text after the fault":           {"/simulator/faults", `{"operation":"make","kind":"hang"} oops`},
		"a negative number of times":     {"/simulator/faults", `{"operation":"make","kind":"hang","times":-7}`},
		"a negative hold":                {"/simulator/faults", `{"operation":"make","kind":"hang","hold":"-5s"}`},
		"a negative delay":               {"/simulator/faults", `{"operation":"make","kind":"commitLate","delay":"-5s"}`},
		"no operation":                   {"/simulator/faults", `{"kind":"hang"}`},
		"chaos with a negative hold":     {"/simulator/chaos", `{"seed":1,"rate":1,"hold":"-5s"}`},
		"chaos of null":                  {"/simulator/chaos", `null`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := simulator.New(1, slog.New(slog.DiscardHandler))
			defer s.Close()
			a := s.Admin(func(w http.ResponseWriter, _ *http.Request, err error) {
				http.Error(w, err.Error(), http.StatusBadRequest)
			})
			r := httptest.NewRequest(http.MethodPost, row.path, strings.NewReader(row.body))
			r.RemoteAddr = "127.0.0.1:1"
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			g.Expect(w.Code).To(Equal(http.StatusBadRequest), row.body)
		})
	}
}

// "no call is held for as long as its client waits"
func TestChaos_holdsNoCallForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := simulator.New(1, slog.New(slog.DiscardHandler))
		defer s.Close()
		if err := s.StartChaos(simulator.Chaos{Rate: 1, Kinds: []simulator.ChaosKind{simulator.ChaosHang}, Hold: metav1.Duration{Duration: -time.Second}}); err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		began := time.Now()
		_, _ = call(ctx, s, func() {})
		g.Expect(time.Since(began)).To(BeNumerically("<", time.Minute))
	})
}

// "Which call of an operation fails, counted since the start, and how, depends on the seed alone."
func TestChaos_dependsOnTheSeedAlone(t *testing.T) {
	run := func(fault bool) (all []bool) {
		g := NewWithT(t)
		s := simulator.New(1, slog.New(slog.DiscardHandler))
		defer s.Close()
		g.Expect(s.StartChaos(simulator.Chaos{Seed: 7, Rate: 0.4, Kinds: []simulator.ChaosKind{simulator.Chaos503}})).To(Succeed())
		if fault {
			g.Expect(s.AddFault(simulator.Fault{Operation: "make", Kind: simulator.FaultStatus, Status: 500})).To(Succeed())
		}
		for range 30 {
			_, err := call(t.Context(), s, func() {})
			all = append(all, err != nil)
		}
		return all[1:] // the first is the fault's
	}
	NewWithT(t).Expect(run(true)).To(Equal(run(false)), "calls 2 to 30")
}

// A token that is valid again, after it has expired.
func TestTokens_areValidOnceTheyAreAddedAgain(t *testing.T) {
	g := NewWithT(t)
	tokens := &simulator.Tokens[string]{}
	tokens.Add("t", "user", time.Time{})
	tokens.Expire()
	tokens.Add("t", "user", time.Time{})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer t")
	g.Expect(tokens.Grant(r)).To(Equal("user"))
}
