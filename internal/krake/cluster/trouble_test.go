package cluster_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// IM is the authority: the template is well formed, and has no machine.
func TestTemplateValid_saysWhatTheManagerDoes(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	c := f.CreateCluster("demo", func(c *krakev1.Cluster) { c.Spec.TOSCA = strings.ReplaceAll(c.Spec.TOSCA, ".Compute", ".Other") })
	f.UntilReason(c, krakev1.TemplateValidCondition, "Invalid", "the template has no machine")
	f.UntilState(c, krakev1.StateFailed)
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonInvalidResource))
	f.Expect(f.Called("createInfrastructure")).To(BeZero())
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = kraketest.Template })
	f.UntilState(c, krakev1.StateConnecting)
}

func TestKubeconfig_oneOfTwoClustersIsRefused(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	f.IM.Kubeconfig = func(sim.Cluster) (string, error) {
		return "apiVersion: v1\nkind: Config\ncontexts: [{name: a}, {name: b}]\n", nil
	}
	f.RunControllers()
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilReason(c, krakev1.KubeconfigReadyCondition, "Invalid", "2 contexts, 0 clusters and 0 users")
	f.UntilState(c, krakev1.StateFailed)
	f.Expect(c.Status.Reason.Code).To(Equal(krakev1.ReasonRetrieveFailed))
}

// What was made under the old password isn't taken for gone.
func TestPassword_aChangedOneIsToBePutBack(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	change := func(password string) {
		kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.SecretKeyPassword] = []byte(password) })
	}
	change("another")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "put back the login that made it")
	f.UntilState(c, krakev1.StateFailed)
	change(kraketest.Password)
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(f.Called("createInfrastructure")).To(Equal(1))
}

// A create has made something, and its answer was lost. The new password sees nothing of it: that isn't a reason for another one.
func TestPassword_aChangedOneDoesNotMakeAnAttemptAbsent(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	another := loggedInWith(f, "another")
	f.RunControllers()
	secret := keptLogin(f)
	c := attempted(f, simulator.FaultLoseAnswer)
	kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.SecretKeyPassword] = []byte("another") })
	f.Eventually(another).Should(BeNumerically(">", 0))
	f.IM.ClearFaults()
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "has changed since an infrastructure was asked for")
	f.Expect(f.Called("createInfrastructure")).To(Equal(1))
}

// The remedy that is said for that: the old password is put back. Here nothing was made, so that there is nothing to be found by it.
func TestPassword_thatIsPutBackGoesOn(t *testing.T) {
	t.Parallel()
	f := kraketest.StartIM(t)
	another := loggedInWith(f, "another")
	f.RunControllers()
	secret := keptLogin(f)
	c := attempted(f, simulator.FaultStatus)
	kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.SecretKeyPassword] = []byte("another") })
	f.Eventually(another).Should(BeNumerically(">", 0))
	f.IM.ClearFaults()
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "put it back")
	aSecondLater(f, secret)
	kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.SecretKeyPassword] = []byte(kraketest.Password) })
	f.UntilState(c, krakev1.StateConnecting)
}

// Another certificate of IM's authority makes no other user.
func TestPassword_isTheSameBesideAnotherAuthority(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	secret := keptLogin(f)
	c := attempted(f, simulator.FaultStatus)
	kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data["note"] = []byte("the authority's is new") })
	lookedAt(f)
	f.IM.ClearFaults()
	f.UntilState(c, krakev1.StateConnecting)
}

// loggedInWith counts the calls whose login has a text. It has to be called before the controllers run.
func loggedInWith(f *kraketest.Fixture, text string) (calls func() int64) {
	var number atomic.Int64
	next := f.Transport
	f.Transport = httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.Header.Get("Authorization"), text) {
			number.Add(1)
		}
		return next.RoundTrip(r)
	})
	return number.Load
}

// lookedAt once more, and not with what was known before.
func lookedAt(f *kraketest.Fixture) {
	before := f.Reconciles.Count()
	f.Eventually(f.Reconciles.Count).Should(BeNumerically(">", before+5))
}

// keptLogin is the Secret of a provider, before anything was made with it.
func keptLogin(f *kraketest.Fixture) *corev1.Secret {
	f.CreateCloud()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	aSecondLater(f, secret)
	return secret
}

// attempted is a Cluster whose create has met a fault. What has become of it isn't known until the faults are cleared.
func attempted(f *kraketest.Fixture, fault simulator.FaultKind) *krakev1.Cluster {
	f.Fault(simulator.Fault{Operation: "createInfrastructure", Kind: fault, Status: 503})
	f.Fault(simulator.Fault{Operation: "listInfrastructures", Kind: simulator.FaultStatus, Status: 503, Times: -1})
	c := f.CreateCluster("demo")
	f.Eventually(func() int { return f.Called("createInfrastructure") }).Should(Equal(1))
	return c
}

// aSecondLater a Secret is kept by the manager, and was written before this second: managed fields have whole ones.
func aSecondLater(f *kraketest.Fixture, secret *corev1.Secret) {
	f.Eventually(func(g Gomega) { // to the API server this test and the manager are one program
		g.Expect(f.Read(secret)).To(Succeed())
		g.Expect(secret.Finalizers).NotTo(BeEmpty())
		for _, fields := range secret.ManagedFields {
			g.Expect(time.Now()).To(BeTemporally(">=", fields.Time.Add(time.Second)))
		}
	}).Should(Succeed())
}

// Another user sees nothing: a create without an answer mustn't be taken for one that has made nothing.
func TestUser_anotherOneSeesNothing(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.SecretKeyUsername] = []byte("another") })
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "what was made for this object is in account krake at http")
	f.Expect(c.Status.ClusterID).NotTo(BeEmpty())
}

// A token is renewed every hour: it is another one of the same user. Another user's doesn't see what was made.
func TestToken_theNextOneOfItsHolderGoesOn(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	secret := f.Secret(kraketest.ProviderName, map[string]string{im.SecretKeyToken: kraketest.Token("me", "first")})
	f.CreateCloudWith(secret)
	renew := func(token string) {
		kraketest.Change(f, secret, func(s *corev1.Secret) { s.Data[im.SecretKeyToken] = []byte(token) })
	}
	// Also where a create has failed, and may have made something. Managed fields have whole seconds.
	f.Eventually(time.Now).Should(BeTemporally(">=", secret.CreationTimestamp.Add(time.Second)))
	c := attempted(f, simulator.FaultStatus)
	renew(kraketest.Token("me", "second"))
	f.IM.ClearFaults()
	f.UntilState(c, krakev1.StateConnecting)

	renew(kraketest.Token("you", "first"))
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "what was made for this object is in account me of https://iss.example.com at")
	f.UntilState(c, krakev1.StateFailed)
	renew(kraketest.Token("me", "third"))
	f.UntilState(c, krakev1.StateConnecting)
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.Called("createInfrastructure")).To(Equal(2), "one of which has failed")
	f.Expect(f.IM.State()).To(BeEmpty())
}

// IM answers an update when it has asked for all machines.
func TestUpdate_holdsNoWorker(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	f.Fault(simulator.Fault{Operation: "updateInfrastructure", Kind: simulator.FaultHang})
	kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Spec.TOSCA = three })
	f.Eventually(func() int { return f.Called("updateInfrastructure") }).Should(Equal(1))
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Busy", "the service hasn't answered yet")
	f.UntilState(c, krakev1.StateReconciling)
	f.Expect(f.Called("updateInfrastructure")).To(Equal(1))
	f.IM.ClearFaults()
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(c.Status.LastAppliedTOSCA).To(Equal(three))
}

// IM keeps no users: with its login, all that was made would be lost. Everything else can be written again.
func TestProvider_thatGetsAnotherLoginKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	f.Create(f.Secret("other", map[string]string{im.SecretKeyUsername: "other", im.SecretKeyPassword: "other"}))
	provider := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	to := func(secret string) {
		kraketest.Change(f, provider, func(p *krakev1.InfrastructureProvider) { p.Spec.IM.SecretRef.Name = secret })
	}
	to("other")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "what was made for this object is in account krake at")
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	f.Delete(login)
	lookedAt(f)
	f.Expect(f.Read(login)).To(Succeed())

	to(kraketest.ProviderName)
	f.UntilState(c, krakev1.StateConnecting)
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State()).To(BeEmpty())
	f.Delete(&krakev1.Cloud{ObjectMeta: metav1.ObjectMeta{Name: kraketest.CloudName, Namespace: f.Namespace}})
	f.Delete(provider)
	f.UntilGone(login)
}

// A user of the same name with another password is another one to IM.
func TestProvider_ofTheSameUserWithAnotherPasswordKeepsTheLogin(t *testing.T) {
	t.Parallel()
	f, c := connecting(t)
	f.Create(f.Secret("other", map[string]string{im.SecretKeyUsername: kraketest.Username, im.SecretKeyPassword: "other"}))
	provider := &krakev1.InfrastructureProvider{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	to := func(name string) {
		kraketest.Change(f, provider, func(p *krakev1.InfrastructureProvider) { p.Spec.IM.SecretRef.Name = name })
	}
	to("other")
	f.UntilReason(c, krakev1.InfrastructureReadyCondition, "Credentials", "put back the login that made it")
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kraketest.ProviderName, Namespace: f.Namespace}}
	f.Delete(login)
	lookedAt(f)
	lookedAt(f)
	f.Expect(f.Read(login)).To(Succeed())
	to(kraketest.ProviderName)
	f.UntilState(c, krakev1.StateConnecting)
	f.Delete(c)
	f.UntilGone(c)
}
