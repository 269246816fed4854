package im_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/simulator"
)

// templates are the calls that have one: what IM says is about that.
var templates = map[string]bool{"create": true, "dry run": true, "update": true}

func TestErrors_areClassifiedByStatus(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for status, class := range map[int]fault.Class{
			302: fault.Transient, 400: fault.Transient, 401: fault.Credentials, 403: fault.Credentials, 405: fault.Invalid,
			408: fault.Transient, 409: fault.Busy, 413: fault.Invalid, 415: fault.Invalid, 418: fault.Transient, 429: fault.Transient,
			500: fault.Transient, 502: fault.Transient, 503: fault.Transient, 504: fault.Transient,
		} {
			answer := answering(status, fmt.Sprintf(`{"message":"Error: because", "code":%d}`, status), always)
			for _, id := range []string{"", nothing} {
				for name, err := range calls(b.t, b.connect(answer), id) {
					wanted := class
					if status == http.StatusBadRequest && templates[name] {
						wanted = fault.Invalid
					}
					b.Expect(err).To(beOf(wanted), "%s: %d", name, status)
					if status != http.StatusTooManyRequests { // after which the client waits
						b.Expect(err).To(MatchError(And(ContainSubstring(fmt.Sprint(status)), ContainSubstring("because"))), name)
					}
				}
			}
		}
	})
}

func TestErrors_ofTheLoginNameTheSecret(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.server.SetUser("krake", "another")).To(Succeed())
		for name, err := range calls(b.t, b.Client, "") {
			if name == "version" {
				b.Expect(err).NotTo(HaveOccurred(), "it needs no login")
				continue
			}
			b.Expect(err).To(And(beOf(fault.Credentials), MatchError(ContainSubstring("correct the login in secret team/im"))), name)
		}
		b.Expect(errorOf(b.State(b.t.Context(), nothing))).To(beOf(fault.Credentials))
	})
}

func TestErrors_ofAnotherUserSayTheRemedy(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.made()
		changed := loginSecret()
		changed.Data[im.SecretKeyPassword] = []byte("a new one")
		c := b.connectAs(changed, nil)
		for name, err := range calls(b.t, c, id) {
			b.Expect(err).To(And(beOf(fault.Credentials), WithTransform(im.OfAnother, BeTrue()), MatchError(And(
				ContainSubstring("put back the login that made it"), ContainSubstring("in secret team/im"),
			))), name)
		}
		b.Expect(c.List(b.t.Context(), "")).To(BeEmpty(), "a new password is a new user")
		b.Expect(b.State(b.t.Context(), id)).To(HaveField("State", im.Configured))
	})
}

func TestErrors_inWordsThatMeanSomethingElse(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for text, row := range map[string]struct {
			status int
			class  fault.Class
		}{
			`{"message":"Error Creating Inf, info: This function has been disabled."}`:             {403, fault.Transient},
			`{"message":"Incorrect infrastructure property"}`:                                      {404, fault.Invalid},
			`{"message":"Error deleting resources [1] (removed 0)"}`:                               {404, fault.Transient},
			`<p>&#39;outputs&#39; infrastructure property is not valid in this infrastructure</p>`: {403, fault.Invalid},
			`{"detail":"'tosca' infrastructure property is not valid in this infrastructure"}`:     {403, fault.Invalid},
			`<html>a proxy that lets no one in</html>`:                                             {403, fault.Credentials},
			`<html>a page of a proxy</html>`:                                                       {404, fault.Transient},
			`{"detail":"Not Found"}`:                                                               {404, fault.Transient},
			`{"message":"` + strings.Repeat("long ", 1000) + `"}`:                                  {500, fault.Transient},
			`{"message":"` + strings.Repeat("x", 100<<10) + `"}`:                                   {500, fault.Transient},
			`[` + strings.Repeat(`{},`, 20_000) + `{}]`:                                            {500, fault.Transient},
		} {
			err := b.connect(answering(row.status, text, always)).Reconfigure(b.t.Context(), nothing)
			b.Expect(err).To(beOf(row.class), "%.80s", text)
			b.Expect(im.NoTOSCA(err)).To(Equal(strings.Contains(text, "is not valid in")))
			b.Expect(im.OfAnother(err)).To(BeFalse())
			b.Expect(len(err.Error())).To(BeNumerically("<", 500))
			b.Expect(err.Error()).NotTo(ContainSubstring("<html>"))
		}
	})
}

func TestNotFound_isProven(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for name, err := range calls(b.t, b.Client, nothing) {
			b.Expect(err).To(beOf(fault.NotFound), name)
		}
		said := `{"message":"Invalid infrastructure ID or access not granted.","code":404}`
		about := func(r *http.Request) bool { return strings.Contains(r.URL.Path, nothing) }
		others := func(r *http.Request) bool { return !about(r) }
		for name, to := range map[string]through{
			"everything is 404":      answering(404, said, always),
			"a wrong path":           answering(404, `{"detail":"Not Found"}`, always),
			"a proxy":                answering(404, "<html>", about),
			"the control call fails": answering(503, said, others),
			"the list isn't one":     answering(200, `{}`, others),
		} {
			for call, err := range calls(b.t, b.connect(to), nothing) {
				b.Expect(err).To(beOf(fault.Transient), "%s: %s", name, call)
			}
		}
		for name, err := range calls(b.t, b.connect(answering(404, said, always)), "") {
			b.Expect(err).To(And(beOf(fault.Transient), MatchError(ContainSubstring("check im.url of the provider"))), name)
		}
	})
}

func TestNotFound_isSaidTwice(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.made()
		b.fault(simulator.Fault{Operation: "getState", Kind: simulator.FaultStatus, Status: 404, Message: "Deleted infrastructure."})
		b.Expect(b.State(b.t.Context(), id)).To(HaveField("State", im.Configured))
	})
}

func TestReads_areRepeatedAndWritesAreNot(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, id := b.t.Context(), b.made()
		for operation, read := range map[string]func() error{
			"getState": func() error { return errorOf(b.State(ctx, id)) }, "getTosca": func() error { return errorOf(b.Tosca(ctx, id)) },
			"getOutputs": func() error { return errorOf(b.Outputs(ctx, id)) }, "getContMsg": func() error { return errorOf(b.ContMsg(ctx, id, 1)) },
			"listInfrastructures": func() error { return errorOf(b.List(ctx, "")) }, "getVersion": func() error { return errorOf(b.Version(ctx)) },
		} {
			b.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: 503})
			b.fault(simulator.Fault{Operation: operation, Kind: simulator.FaultLoseAnswer})
			b.Expect(read()).To(Succeed(), operation)
		}
		for _, row := range []struct {
			operation string
			write     func() error
		}{
			{"createInfrastructure", func() error { return errorOf(b.Create(ctx, cluster)) }},
			{"updateInfrastructure", func() error { return b.Update(ctx, id, cluster) }},
			{"reconfigureInfrastructure", func() error { return b.Reconfigure(ctx, id) }},
			{"deleteInfrastructure", func() error { return b.Delete(ctx, id) }},
		} {
			before := b.server.Calls()[row.operation]
			b.fault(simulator.Fault{Operation: row.operation, Kind: simulator.FaultLoseAnswer})
			err := row.write()
			b.Expect(err).To(beOf(fault.Transient), row.operation)
			b.Expect(fault.IsAmbiguous(err)).To(BeTrue(), row.operation)
			b.Expect(b.server.Calls()[row.operation]).To(Equal(before+1), row.operation)
		}
	})
}

func TestCalls_endInTime(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.fault(simulator.Fault{Operation: "createInfrastructure", Kind: simulator.FaultHang})
		began := time.Now()
		err := errorOf(b.Create(b.t.Context(), cluster))
		b.Expect(err).To(beOf(fault.Transient))
		b.Expect(fault.IsAmbiguous(err)).To(BeTrue())
		b.Expect(time.Since(began)).To(BeNumerically("<=", im.DefaultTimeout+time.Second))
	})
}

func TestCreates_areWaitedForByNoWorker(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		limits := im.Config{}
		im.Paced(time.Minute, 0, 0, egress.Policy{})(&limits)
		c := b.connect(nil, func(c *im.Config) { c.Circuits = limits.Circuits })
		b.fault(simulator.Fault{Operation: "createInfrastructure", Kind: simulator.FaultHang, Times: 100})
		ctx, cancel := context.WithCancel(b.t.Context())
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() { _, _ = c.Create(ctx, cluster) })
			b.pass(time.Second)
		}
		b.Expect(b.server.Calls()).To(HaveKeyWithValue("createInfrastructure", 30), "those that hang keep none from being sent")
		cancel()
		all.Wait()
	})
}
