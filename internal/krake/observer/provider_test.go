package observer_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/sim"
)

// provides is a simulated IM with one user, and counts calls.
type provides struct {
	*sim.Server
	url   string
	calls atomic.Int32
	down  atomic.Bool
}

func manager(f *fixture, change ...func(*sim.Config)) *provides {
	f.t.Helper()
	config := sim.Config{Users: map[string]string{"u": "p"}}
	for _, to := range change {
		to(&config)
	}
	server, err := sim.New(config, slog.New(slog.DiscardHandler))
	f.Expect(err).NotTo(HaveOccurred())
	p := &provides{Server: server}
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.calls.Add(1)
		if p.down.Load() {
			panic(http.ErrAbortHandler)
		}
		server.ServeHTTP(w, r)
	}))
	f.t.Cleanup(http.Close)
	p.url = http.URL
	return p
}

func (f *fixture) login(namespace, name, password string) *corev1.Secret {
	f.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string][]byte{"username": []byte("u"), "password": []byte(password)},
	}
	f.Expect(f.client.Create(f.t.Context(), secret)).To(Succeed())
	return secret
}

func spec(url, secret string) krakev1.InfrastructureProviderSpec {
	return krakev1.InfrastructureProviderSpec{Type: "im", IM: krakev1.IMProvider{URL: url, SecretRef: krakev1.SecretReference{Name: secret}}}
}

func (f *fixture) provider(url, secret string) *krakev1.InfrastructureProvider {
	f.t.Helper()
	p := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "im"}, Spec: spec(url, secret)}
	f.Expect(f.client.Create(f.t.Context(), p)).To(Succeed())
	return p
}

type observed interface {
	client.Object
	GetConditions() []metav1.Condition
}

// reachable waits for a provider's condition.
func (f *fixture) reachable(p observed, reason, says string) {
	f.t.Helper()
	f.Eventually(func() string {
		f.Expect(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
		if found := reachable(p); found != nil {
			return found.Reason + ": " + found.Message
		}
		return ""
	}).Should(And(HavePrefix(reason+": "), ContainSubstring(says)))
}

func TestProvider_saysItsVersionAndWhetherItTakesTheLogin(t *testing.T) {
	t.Parallel()
	f := start(t)
	server := manager(f)
	p := f.provider(server.url, "login")
	f.reachable(p, "Unreachable", "login does not exist: create it")
	secret := f.login(f.namespace, "login", "wr0ng")
	f.reachable(p, "Unreachable", "list infrastructures")
	f.Expect(reachable(p).Message).To(And(ContainSubstring("correct the login in secret "+f.namespace+"/login"), Not(ContainSubstring("wr0ng"))))
	f.Expect(reachable(p).Status).To(Equal(metav1.ConditionFalse))
	f.Expect(p.Status.Version).To(Equal("2.0.0"), "which needs no login")

	secret.Data["password"] = []byte("p")
	f.Expect(f.client.Update(t.Context(), secret)).To(Succeed())
	f.reachable(p, "Answers", "")
	f.Expect(reachable(p).Status).To(Equal(metav1.ConditionTrue))

	secret.Data["token"] = []byte("t")
	f.Expect(f.client.Update(t.Context(), secret)).To(Succeed())
	f.reachable(p, "Unreachable", "two ways to log in")
}

// What IM says of itself is bounded: it would fill etcd, or be no valid status.
func TestProvider_thatIsWordyFitsIntoAStatus(t *testing.T) {
	t.Parallel()
	f := start(t)
	server := manager(f, func(c *sim.Config) { c.Version = strings.Repeat("ä", 20_000) })
	f.login(f.namespace, "login", "p")
	p := f.provider(server.url, "login")
	f.reachable(p, "Answers", "")
	f.Expect(p.Status.Version).To(Equal(strings.Repeat("ä", 100)))
}

func reachable(p observed) *metav1.Condition {
	return meta.FindStatusCondition(p.GetConditions(), krakev1.ReachableCondition)
}

//nolint:paralleltest // all managers look at what is global, and those of other tests have their Secrets elsewhere
func TestProvider_thatIsGlobalHasItsSecretInTheManagersNamespace(t *testing.T) {
	f := start(t)
	f.login(f.namespace, "login", "p")
	p := &krakev1.GlobalInfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Spec: spec(manager(f).url, "login")}
	f.Expect(f.client.Create(t.Context(), p)).To(Succeed())
	f.reachable(p, "Answers", "")
	f.Expect(p.Status.Version).To(Equal("2.0.0"))
}

// IM was called every half a second.
func TestProvider_thatIsDownIsCalledSeldomAndIsBackSoon(t *testing.T) {
	t.Parallel()
	f := start(t)
	server := manager(f)
	server.down.Store(true)
	f.login(f.namespace, "login", "p")
	p := f.provider(server.url, "login")
	f.reachable(p, "Unreachable", "get version")
	began := time.Now() // before the calls are counted, however long that takes
	before := server.calls.Load()
	f.Eventually(server.calls.Load).Should(BeNumerically(">", before+6), "it is tried again")
	f.Expect(time.Since(began)).To(BeNumerically(">", 2*6*interval), "no more than three calls in six intervals")
	server.down.Store(false)
	f.reachable(p, "Answers", "")
}
