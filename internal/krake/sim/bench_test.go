package sim_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

const (
	krake  = `id = im;type = InfrastructureManager;username = krake;password = s3cret`
	dummy  = `id = cloud;type = Dummy`
	both   = krake + `\n` + dummy
	single = `tosca_definitions_version: tosca_simple_yaml_1_0
metadata: {infra_name: demo}
topology_template:
  inputs:
    workers: {type: integer, default: 2}
  node_templates:
    front: {type: tosca.nodes.indigo.Compute}
    wn: {type: tosca.nodes.indigo.Compute, capabilities: {scalable: {properties: {count: {get_input: workers}}}}}
    software: {type: tosca.nodes.SoftwareComponent}
  outputs:
    kubeconfig: {value: {get_attribute: [front, kubeconfig]}}
    fixed: {value: always}
`
)

// bench is a simulator, and a user who sees what is sent.
type bench struct {
	Gomega
	t      *testing.T
	server *sim.Server
	client http.Client
	// auth is the header; empty for none.
	auth string
}

func inSimulatedTime(t *testing.T, test func(b bench), changes ...func(*sim.Config)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := sim.Default()
		for _, change := range changes {
			change(&config)
		}
		b := bench{Gomega: NewWithT(t), t: t, auth: both}
		var err error
		b.server, err = sim.New(config, slog.New(slog.DiscardHandler))
		b.Expect(err).NotTo(HaveOccurred())
		defer b.server.Close()
		b.client.Transport = simulatortest.Transport(func(string) http.Handler { return b.server })
		test(b)
	})
}

// as another user.
func (b bench) as(auth string) bench {
	b.auth = auth
	return b
}

// answer of the simulator.
type answer struct {
	Status int
	Text   string
	Header http.Header
}

// ask the simulator. Headers are in pairs.
func (b bench) ask(method, path, body string, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://im.example.com"+path, strings.NewReader(body))
	b.Expect(err).NotTo(HaveOccurred())
	if b.auth != "" {
		r.Header.Set("Authorization", b.auth)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(r)
	b.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	b.Expect(err).NotTo(HaveOccurred())
	return answer{resp.StatusCode, string(text), resp.Header}
}

func (b bench) get(path string) answer {
	b.t.Helper()
	return b.ask("GET", path, "", "Accept", "application/json")
}

func (b bench) post(path, template string) answer {
	b.t.Helper()
	return b.ask("POST", path, template, "Content-Type", "text/yaml", "Accept", "application/json")
}

// create an infrastructure, and return its ID.
func (b bench) create(template string) string {
	b.t.Helper()
	made := b.post("/infrastructures?async=true", template)
	b.Expect(made.Status).To(Equal(200), made.Text)
	return made.Header.Get("InfID")
}

// state of an infrastructure.
func (b bench) state(id string) im.Infrastructure {
	b.t.Helper()
	var said struct{ State im.Infrastructure }
	found := b.get("/infrastructures/" + id + "/state")
	b.Expect(found.Status).To(Equal(200), found.Text)
	b.Expect(json.Unmarshal([]byte(found.Text), &said)).To(Succeed())
	return said.State
}

// pass lets time pass, and everything happen that is due by then.
func (b bench) pass(d time.Duration) {
	time.Sleep(d) // simulated
	synctest.Wait()
}
