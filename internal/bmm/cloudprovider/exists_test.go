package cloudprovider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

// answerer answers instead of a service, or before it does.
type answerer = func(w http.ResponseWriter, r *http.Request, service http.Handler)

// answer is what a service says, or what is between it and us.
func answer(status int, message string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"source":"carbide","message":%q,"data":null}`, message)
	}
}

// emptyList is a list that has lost everything, from a server that says of each instance that there is none.
func emptyList(site answerer) answerer {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/instance"):
			w.Header().Set("X-Pagination", `{"pageNumber":1,"pageSize":100,"total":0}`)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("[]"))
		case strings.Contains(r.URL.Path, "/instance/"):
			answer(http.StatusNotFound, "Could not find Instance with specified ID")(w, r, service)
		default:
			site(w, r, service)
		}
	}
}

// halfAList has one instance on each page, and breaks off within the second page.
func halfAList(w http.ResponseWriter, r *http.Request, service http.Handler) {
	if !strings.HasSuffix(r.URL.Path, "/instance") {
		service.ServeHTTP(w, r)
		return
	}
	query := r.URL.Query()
	query.Set("pageSize", "1")
	r.URL.RawQuery = query.Encode()
	if query.Get("pageNumber") == "1" {
		service.ServeHTTP(w, r)
		return
	}
	whole := httptest.NewRecorder()
	service.ServeHTTP(whole, r)
	for key, values := range whole.Header() {
		w.Header()[key] = values
	}
	w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	panic(http.ErrAbortHandler)
}

// The first refusal may be the server's hiccup, and is one of the credentials all the same.
func TestProblem_ofTheFirstRefusalIsTheCredentials(t *testing.T) {
	t.Parallel()
	f := start(t, world(1))
	f.site.ExpireTokens()
	f.registerSilent(1)
	f.untilAsked(f.asked.unknown, 5, f.name(0))
	f.Expect(f.events.of("Lease")).To(Equal([]string{ReasonCredentials}), f.events.text())
}

// Ten minutes of each problem, in which all nodes are silent, and the real lifecycle controller asks about each of them
// again and again.
func TestProblem_keepsAllNodes(t *testing.T) {
	t.Parallel()
	const number = 3
	for name, row := range map[string]struct {
		begin, end func(*fixture)
		answer     answerer
		reason     string // of the site's event; none where it is a problem of each node
		changes    []func(*Config)
	}{
		"an expired token": {
			begin:  func(f *fixture) { f.site.ExpireTokens() },
			end:    func(f *fixture) { f.site.SetTokens([]string{sim.DefaultToken}) },
			reason: ReasonCredentials,
		},
		"403, the role is missing": {
			answer: answer(403, "User does not have Tenant Admin role with org"), reason: ReasonCredentials,
		},
		"403, not ours": {answer: answer(403, "Tenant does not own this object"), reason: ReasonAPI},
		"503":           {answer: answer(503, "upstream connect error"), reason: ReasonAPI},
		"no answer in time": {
			answer: func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }, reason: ReasonAPI,
			changes: []func(*Config){func(c *Config) { c.Timeout = time.Second }},
		},
		"no connection": {
			answer: func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, reason: ReasonAPI,
		},
		"half a list": {answer: halfAList, reason: ReasonAPI},
		"404 for every path, in JSON, before authentication": {
			answer: answer(404, "The requested path could not be found"), reason: ReasonAPI,
		},
		"404 of a proxy": {
			answer: func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) },
			reason: ReasonAPI,
		},
		"instances are 404, and so is their site":  {answer: emptyList(answer(404, "Could not find Site with specified ID"))},
		"instances are 404, and their site is 503": {answer: emptyList(answer(503, "no healthy upstream"))},
		"the list is empty, and instances are 500": {answer: emptyList500},
		"the credentials are gone": {
			begin:  func(f *fixture) { f.Expect(os.Rename(f.folder, f.folder+"-away")).To(Succeed()) },
			end:    func(f *fixture) { f.Expect(os.Rename(f.folder+"-away", f.folder)).To(Succeed()) },
			reason: ReasonCredentials,
		},
		"the credentials are half written": {
			begin:  func(f *fixture) { cloudtest.Mount(f.t, f.folder, map[string]string{"endpoint": f.endpoint}) },
			end:    func(f *fixture) { cloudtest.Mount(f.t, f.folder, cloudtest.Credentials(f.endpoint, sim.DefaultToken)) },
			reason: ReasonCredentials,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, world(number), row.changes...)
			var names []string
			for n := range number {
				names = append(names, f.name(n))
			}
			f.registerSilent(number)
			f.untilAsked(f.asked.yes, 1, names...)

			if row.begin != nil {
				row.begin(f)
			} else {
				f.gate.stop(row.answer)
			}
			began := f.cloud.clock.Now()
			f.Eventually(func() bool { return f.cloud.clock.Since(began) > 20*interval }).Should(BeTrue()) // ten minutes
			f.untilAsked(f.asked.unknown, 20, names...)
			f.Expect(f.nodes()).To(ConsistOf(names))

			if row.end != nil {
				row.end(f)
			} else {
				f.gate.pass()
			}
			f.untilAsked(f.asked.yes, 2, names...)
			f.Expect(f.nodes()).To(ConsistOf(names))
			f.Expect(f.asked.count(f.asked.no)).To(BeEmpty())
			if row.reason != "" {
				f.Expect(f.events.of("Lease")).To(Equal([]string{row.reason}), f.events.text())
				for _, name := range names {
					f.Expect(f.events.of(name)).To(BeEmpty(), "one event for all nodes")
				}
			} else {
				for _, name := range names {
					f.Expect(f.events.of(name)).To(Equal([]string{ReasonUnknown}), f.events.text())
				}
			}
			f.Expect(f.events.text()).NotTo(ContainSubstring(sim.DefaultToken))

			f.Expect(f.site.Vanish(cloudtest.InstanceID(1))).To(Succeed())
			f.Eventually(f.nodes).Should(ConsistOf(names[0], names[2]), "and now one is really gone")
		})
	}
}

func emptyList500(w http.ResponseWriter, r *http.Request, service http.Handler) {
	if strings.Contains(r.URL.Path, "/instance/") {
		answer(500, "database is starting up")(w, r, service)
		return
	}
	emptyList(func(w http.ResponseWriter, r *http.Request, service http.Handler) { service.ServeHTTP(w, r) })(w, r, service)
}

// A server that comes back just between the question for the instance and that for its site.
func TestServer_thatComesBackProvesNothing(t *testing.T) {
	t.Parallel()
	f := prepare(t, world(1))
	asked := 0
	f.gate.stop(emptyList(func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		if strings.Contains(r.URL.Path, "/site/") {
			asked++
			f.gate.pass()
		}
		service.ServeHTTP(w, r)
	}))
	node := cloudtest.Node(f.name(0), cloudtest.NotReady, cloudtest.WithProviderID(cloudtest.ProviderID(0)))
	f.Expect(f.cloud.InstanceExists(t.Context(), node)).To(BeTrue())
	f.Expect(asked).To(Equal(1))
}

// A server that is upgraded answers 404 to everything under its old name, and has the same instances under the new one.
func TestServer_thatChangesItsPathPrefixKeepsAllNodes(t *testing.T) {
	t.Parallel()
	const number = 3
	f := start(t, world(number))
	f.registerSilent(number)
	all := []string{f.name(0), f.name(1), f.name(2)}
	f.untilAsked(f.asked.yes, 1, all...)

	upgraded := cloudtest.World(f.prefix, number)
	upgraded.APIName = sim.NICo
	f.gate.mu.Lock()
	f.site, _ = simtest.Start(t, upgraded, nil)
	f.gate.service = f.site
	f.gate.mu.Unlock()
	f.Eventually(func() int { return f.site.Calls()["listInstances"] }).Should(BeNumerically(">", 5))
	f.untilAsked(f.asked.yes, 20, all...)
	f.Expect(f.nodes()).To(ConsistOf(all))
	f.Expect(f.asked.count(f.asked.no)).To(BeEmpty())

	f.Expect(f.site.Vanish(cloudtest.InstanceID(0))).To(Succeed())
	f.Eventually(f.nodes).Should(ConsistOf(all[1:]))
}

func TestInstance_thatIsGoneTakesExactlyItsNode(t *testing.T) {
	t.Parallel()
	f := start(t, world(4))
	f.registerSilent(3)
	f.register(f.name(3), cloudtest.Initialized, cloudtest.WithProviderID(cloudtest.ProviderID(3))) // is Ready
	f.untilAsked(f.asked.yes, 3, f.name(0), f.name(1), f.name(2))
	f.Expect(f.nodes()).To(HaveLen(4), "none went before")

	f.Expect(f.site.Vanish(cloudtest.InstanceID(1))).To(Succeed())
	f.Expect(f.site.Vanish(cloudtest.InstanceID(3))).To(Succeed())
	f.Eventually(f.nodes).Should(ConsistOf(f.name(0), f.name(2), f.name(3)))
	f.Eventually(func() []string { return f.events.of(f.name(3)) }).Should(
		Equal([]string{ReasonNotFound}), "a Ready node stays, and an event says so")
	f.untilAsked(f.asked.yes, 20, f.name(0), f.name(2))
	f.Expect(f.nodes()).To(ConsistOf(f.name(0), f.name(2), f.name(3)))
	f.Expect(f.asked.count(f.asked.no)).To(HaveLen(1))
	f.Expect(f.events.of(f.name(3))).To(HaveLen(1))
	f.Eventually(func() int {
		f.cloud.problems.mu.Lock()
		defer f.cloud.problems.mu.Unlock()
		return len(f.cloud.problems.nodes)
	}).Should(Equal(1), "nothing is remembered of a node that is gone")
}

func TestInstance_thatIsNotWellKeepsItsNode(t *testing.T) {
	t.Parallel()
	states := []string{"Terminating", "Error", "Repairing", "Terminated", "Unknown", "Rebooting"}
	f := start(t, world(2*len(states)))
	var silent, ready []string
	for n := range states {
		silent, ready = append(silent, f.name(n)), append(ready, f.name(n+len(states)))
	}
	f.registerSilent(len(states))
	for n := range states {
		f.register(ready[n], cloudtest.Initialized, cloudtest.WithProviderID(cloudtest.ProviderID(n+len(states))))
	}
	f.untilAsked(f.asked.yes, 1, silent...)
	for n, state := range states {
		f.Expect(f.site.SetStatus(sim.Status{ID: cloudtest.InstanceID(n), Status: state})).To(Succeed())
		f.Expect(f.site.SetStatus(sim.Status{ID: cloudtest.InstanceID(n + len(states)), Status: state})).To(Succeed())
	}
	for n, state := range states[:4] {
		for _, name := range []string{silent[n], ready[n]} {
			f.Eventually(func() []string { return f.events.of(name) }).Should(Equal([]string{"Instance" + state}))
		}
	}
	f.untilAsked(f.asked.yes, 20, silent...)
	f.Expect(f.nodes()).To(ConsistOf(append(silent, ready...)))
	for n := range states {
		f.Expect(len(f.events.of(silent[n]))).To(BeNumerically("<=", 1), "one event, not one for each look")
		shutdown := false
		for _, taint := range f.node(silent[n]).Spec.Taints {
			shutdown = shutdown || taint.Key == "node.cloudprovider.kubernetes.io/shutdown"
		}
		f.Expect(shutdown).To(Equal(states[n] == "Terminated"), states[n])
	}

	f.Expect(f.site.SetStatus(sim.Status{ID: cloudtest.InstanceID(2), Status: "Ready"})).To(Succeed())
	f.Eventually(func() string { return f.cloud.problems.of(f.node(silent[2])) }).Should(BeEmpty())
	f.Expect(f.site.SetStatus(sim.Status{ID: cloudtest.InstanceID(2), Status: "Repairing"})).To(Succeed())
	f.Eventually(func() []string { return f.events.of(silent[2]) }).Should(HaveLen(2), "it is another problem")
}

// of a node: the reason of the problem that is remembered.
func (t *problems) of(node *corev1.Node) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[node.UID].problem
}

func TestRotation_needsNoRestart(t *testing.T) {
	t.Parallel()
	f := start(t, world(2))
	f.registerSilent(2)
	f.untilAsked(f.asked.yes, 1, f.name(0), f.name(1))

	f.site.SetTokens([]string{"new-token"})
	f.untilAsked(f.asked.unknown, 3, f.name(0), f.name(1))
	cloudtest.Mount(t, f.folder, cloudtest.Credentials(f.endpoint, "new-token"))
	f.untilAsked(f.asked.yes, 3, f.name(0), f.name(1))
	f.Expect(f.nodes()).To(HaveLen(2))

	// Both are good now, and only the new one is used any more.
	f.site.SetTokens([]string{"new-token", "third-token"})
	cloudtest.Mount(t, f.folder, cloudtest.Credentials(f.endpoint, "third-token"))
	used := func() []string {
		f.gate.mu.Lock()
		defer f.gate.mu.Unlock()
		return slices.Clone(f.gate.tokens)
	}
	f.Eventually(used).Should(ContainElement("third-token"))
	f.untilAsked(f.asked.yes, 20, f.name(0), f.name(1))
	before := len(used())
	f.Eventually(func() int { return len(used()) }).Should(BeNumerically(">", before+10))
	f.Expect(used()[before:]).To(HaveEach("third-token"))
	f.Expect(f.asked.count(f.asked.no)).To(BeEmpty())
	f.Expect(f.events.text()).NotTo(ContainSubstring("-token"))
}
