package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/testenv"
	"github.com/bedplate/bedplate/internal/version"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// tested are the systems that the tests are about: each further one makes the help longer, and --system necessary.
var tested = catalogue{bmmSystem, hydrazineSystem}

// run runs a command of bedplate's and returns what it prints.
func run(t *testing.T, stdin io.Reader, args ...string) (string, error) {
	t.Helper()
	return runWith(t, tested, stdin, args...)
}

func runWith(t *testing.T, all catalogue, stdin io.Reader, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := rootCommand(all)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// wire is a proxy that records what isn't a read: neither a GET nor a dry run.
type wire struct {
	url    string
	refuse func(*http.Request) bool

	mu     sync.Mutex
	reads  int
	writes []string
}

func newWire(t *testing.T, to string, transport http.RoundTripper) *wire {
	t.Helper()
	target, err := url.Parse(to)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w := &wire{refuse: func(*http.Request) bool { return false }}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		if w.refuse(r) {
			http.Error(rw, "refused by the test", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func (w *wire) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q := r.URL.Query(); r.Method == http.MethodGet || q.Get("dryRun") == "All" || q.Get("dry_run") == "true" {
		w.reads++
		return
	}
	w.writes = append(w.writes, r.Method+" "+r.URL.Path)
}

// written are the writes so far.
func (w *wire) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes
}

// ends are the two services that a command calls, each behind a wire, and a kubeconfig that leads to the first.
type ends struct {
	*bmmtest.Fixture
	t                      *testing.T
	management, datacenter *wire
	kubeconfig             string
}

func start(t *testing.T, change ...func(*sim.Config)) *ends {
	t.Helper()
	e := &ends{Fixture: bmmtest.Start(t, change...), t: t}
	e.management, e.kubeconfig = wireManagement(t, e.Namespace)
	e.datacenter = newWire(t, e.Endpoint, http.DefaultTransport)
	return e
}

// wireManagement is a wire to the management cluster, and a kubeconfig that leads to it.
func wireManagement(t *testing.T, namespace string) (management *wire, kubeconfig string) {
	t.Helper()
	g := NewWithT(t)
	config := testenv.Config(t)
	transport, err := rest.TransportFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	management, kubeconfig = newWire(t, config.Host, transport), filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: management.url}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", Namespace: namespace}},
		CurrentContext: "test",
	}, kubeconfig)).To(Succeed())
	return management, kubeconfig
}

// loopback is where the simulator is.
const loopback = "--insecure-loopback-endpoints"

// run runs a command against both services.
func (e *ends) run(stdin string, args ...string) (string, error) {
	e.t.Helper()
	if args[0] == "plan" || args[0] == "orphans" {
		args = append(args, loopback)
	}
	return run(e.t, strings.NewReader(stdin), append(args, "--kubeconfig", e.kubeconfig)...)
}

// wroteNothing proves that only reads and dry runs went through the wires, and some of each.
func (e *ends) wroteNothing() {
	e.t.Helper()
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.datacenter.written()).To(BeEmpty())
	e.Expect(e.management.reads).To(BeNumerically(">", 0))
	e.Expect(e.datacenter.reads).To(BeNumerically(">", 0))
}

// golden compares a text with a file in testdata, after what differs from run to run is made alike.
func (e *ends) golden(name, text string) {
	e.t.Helper()
	golden(e, name, e.steady(text))
}

func golden(g Gomega, name, text string) {
	path := filepath.Join("testdata", name+".golden")
	if *update {
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	wanted, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal(string(wanted)), "\n%s", text)
}

var (
	random  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{12}\b`)
	instant = regexp.MustCompile(`\d\d:\d\d:\d\d UTC`)
)

// steady replaces IDs that aren't those of the simulator's world by others of the same length, in the order in which they
// occur.
func (e *ends) steady(text string) string {
	return strings.NewReplacer(e.Namespace, "NAMESPACE", e.datacenter.url, "ENDPOINT").Replace(withoutChance(text))
}

func withoutChance(text string) string {
	names := map[string]string{}
	text = random.ReplaceAllStringFunc(text, func(id string) string {
		switch {
		case strings.HasSuffix(id, "-0000-4000-8000-000000000001"):
			return id
		case names[id] == "" && len(id) == 12:
			names[id] = fmt.Sprintf("owner%07d", len(names)+1)
		case names[id] == "":
			names[id] = fmt.Sprintf("%08d-made-here-with-%012[1]d", len(names)+1)
		}
		return names[id]
	})
	return instant.ReplaceAllString(text, "TIME")
}

// Before anything else: where there is no cluster, and no tool.
func TestOutput_refusesAnUnknownFormatBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "missing")
	for _, args := range [][]string{
		{"version"}, {"lab", "up", "--tools", nowhere}, {"describe", "cluster", "demo", "--kubeconfig", nowhere},
		{"plan", "-f", nowhere, "--kubeconfig", nowhere}, {"orphans", "--kubeconfig", nowhere},
	} {
		out, err := run(t, nil, append(args, "-o", "yaml")...)
		NewWithT(t).Expect(err).To(MatchError(`unknown output format "yaml": use text or json`), args[0])
		NewWithT(t).Expect(out).To(BeEmpty(), args[0])
	}
}

func TestCommand_saysItsVersion(t *testing.T) {
	t.Parallel()
	out, err := run(t, nil, "--version")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(out).To(Equal("bedplate version " + version.Get() + "\n"))
}

func TestDescribe_knowsItsKinds(t *testing.T) {
	t.Parallel()
	for args, refusal := range map[string]string{
		"cluster":            `"cluster" names no object: write KIND NAME, such as cluster demo`,
		"resourcegroup/":     `"resourcegroup/" names no object: write KIND NAME, such as cluster demo`,
		"publicip/a/b":       `"publicip/a/b" names no object: write KIND NAME, such as cluster demo`,
		"pod/x":              `nothing is known of the kind "pod": use cluster, dpf, resourcegroup, managedresource, publicip or krake`,
		"cluster/x":          "",
		"cluster x":          "",
		"resourcegroup/blue": "",
		"RG/blue":            "",
		"managedresource x":  "",
		"publicip/x":         "",
		"krake/x":            "",
		"KRC x":              "",
	} {
		_, name, err := described(systems.kinds(), strings.Fields(args))
		if refusal == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), args)
			NewWithT(t).Expect(name).NotTo(ContainSubstring("/"), args)
			continue
		}
		NewWithT(t).Expect(err).To(MatchError(refusal), args)
	}
}
