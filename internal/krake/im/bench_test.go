package im_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

const (
	endpoint = "https://im.example.com/im"
	// nothing is an ID that no infrastructure has.
	nothing = "00000000-0000-4000-8000-000000000000"

	password = "pa;ss = \"w'o\\rd\\n\n"
	cluster  = `tosca_definitions_version: tosca_simple_yaml_1_0
metadata: {infra_name: demo}
topology_template:
  node_templates:
    front: {type: tosca.nodes.indigo.Compute}
    wn: {type: tosca.nodes.indigo.Compute, capabilities: {scalable: {properties: {count: 2}}}}
  outputs:
    kubeconfig: {value: {get_attribute: [front, kubeconfig]}}
    dashboard: {value: "https://demo.example.com"}
    nodes: {value: 3}
`
)

// bench is a simulator with a client.
type bench struct {
	Gomega
	*im.Client
	t      *testing.T
	server *sim.Server
}

// through is a transport around the simulator.
type through func(next http.RoundTripper) http.RoundTripper

func loginSecret() *corev1.Secret {
	return secretOf("im", map[string]string{im.SecretKeyUsername: "krake", im.SecretKeyPassword: password})
}

func secretOf(name string, data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

func dummy() im.Credential {
	return im.Credential{"id": "cloud", "type": "Dummy", "password": "of the cloud"}
}

// inSimulatedTime runs a test against the default world, changed by the given functions. Waiting takes no time.
func inSimulatedTime(t *testing.T, test func(b bench), changes ...func(*sim.Config)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := sim.Default()
		for _, change := range changes {
			change(&config)
		}
		b := bench{Gomega: NewWithT(t), t: t}
		var err error
		b.server, err = sim.New(config, slog.New(slog.DiscardHandler))
		b.Expect(err).NotTo(HaveOccurred())
		defer b.server.Close()
		b.Client = b.connect(nil)
		test(b)
	})
}

// connect makes a client of the simulator, by the Secret of a provider.
func (b bench) connect(to through, changes ...func(*im.Config)) *im.Client {
	return b.connectAs(loginSecret(), to, changes...)
}

func (b bench) connectAs(secret *corev1.Secret, to through, changes ...func(*im.Config)) *im.Client {
	var transport http.RoundTripper = simulatortest.Transport(func(string) http.Handler { return http.StripPrefix("/im", b.server) })
	if to != nil {
		transport = to(transport)
	}
	c, err := im.Connect(endpoint, []im.Credential{dummy()}, func(c *im.Config) {
		c.HTTP = &http.Client{Transport: transport}
		for _, change := range changes {
			change(c)
		}
	})(secret)
	b.Expect(err).NotTo(HaveOccurred())
	return c
}

// answering is a server that answers the same to all calls that it is wanted for.
func answering(status int, text string, wanted func(*http.Request) bool) through {
	return func(next http.RoundTripper) http.RoundTripper {
		return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if !wanted(r) {
				return next.RoundTrip(r)
			}
			recorder := httptest.NewRecorder()
			httpclienttest.Reply(status, text)(recorder, nil)
			return recorder.Result(), nil
		})
	}
}

func always(*http.Request) bool { return true }

// recorder keeps what is sent.
type recorder struct{ sent []*http.Request }

func (r *recorder) through(next http.RoundTripper) http.RoundTripper {
	return httpclient.RoundTrip(func(sent *http.Request) (*http.Response, error) {
		text := []byte{}
		if sent.Body != nil {
			text, _ = io.ReadAll(sent.Body)
		}
		sent = sent.Clone(sent.Context())
		sent.Body = io.NopCloser(bytes.NewReader(text))
		kept := sent.Clone(sent.Context())
		kept.Body = io.NopCloser(strings.NewReader(string(text)))
		r.sent = append(r.sent, kept)
		return next.RoundTrip(sent)
	})
}

// pass lets time pass, and everything happen that is due by then.
func (b bench) pass(d time.Duration) {
	time.Sleep(d) // simulated
	synctest.Wait()
}

// fault lets the next call of an operation go wrong.
func (b bench) fault(f simulator.Fault) {
	b.t.Helper()
	b.Expect(b.server.AddFault(f)).To(Succeed())
}

// made is a cluster that is configured.
func (b bench) made() string {
	b.t.Helper()
	id := must(b.Create(b.t.Context(), cluster))
	b.pass(time.Hour)
	b.Expect(b.State(b.t.Context(), id)).To(HaveField("State", im.Configured))
	return id
}

// must succeed: a call with a result.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err) // it ends the test
	}
	return result
}

// beOf matches errors of a class.
func beOf(class fault.Class) gomegatypes.GomegaMatcher {
	return SatisfyAll(BeAssignableToTypeOf(&fault.Error{}), WithTransform(fault.ClassOf, Equal(class)))
}

// errorOf a call with a result.
func errorOf[T any](_ T, err error) error { return err }

// all calls about one infrastructure, or about none in particular if that is empty.
func calls(t *testing.T, c *im.Client, id string) map[string]error {
	ctx := t.Context()
	if id == "" {
		return map[string]error{
			"create": errorOf(c.Create(ctx, cluster)), "dry run": errorOf(c.DryRun(ctx, cluster)), "list": errorOf(c.List(ctx, "")),
			"version": errorOf(c.Version(ctx)),
		}
	}
	return map[string]error{
		"update": c.Update(ctx, id, cluster), "reconfigure": c.Reconfigure(ctx, id), "delete": c.Delete(ctx, id),
		"state": errorOf(c.State(ctx, id)), "outputs": errorOf(c.Outputs(ctx, id)), "tosca": errorOf(c.Tosca(ctx, id)),
		"log": errorOf(c.ContMsg(ctx, id, 10)),
	}
}
