package credentials_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type service struct{ token string }

// createSecret makes a Secret whose token is "one".
func createSecret(t *testing.T, c client.Client) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "bmm"}, Data: map[string][]byte{"token": []byte("one")},
	}
	NewWithT(t).Expect(c.Create(t.Context(), secret)).To(Succeed())
	return secret
}

func TestClient_isSharedUntilTheSecretChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	secret := createSecret(t, c)
	name := client.ObjectKeyFromObject(secret)
	cache := &credentials.Cache[*service]{
		Reader: c, Clock: clocktesting.NewFakeClock(time.Now()),
		Build: func(s *corev1.Secret) (*service, error) {
			if len(s.Data["token"]) == 0 {
				return nil, errors.New("it has no token")
			}
			return &service{string(s.Data["token"])}, nil
		},
	}

	first, err := cache.Client(t.Context(), name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cache.Client(t.Context(), name)).To(BeIdenticalTo(first))

	secret.Data["token"] = []byte("two")
	g.Expect(c.Update(t.Context(), secret)).To(Succeed())
	g.Expect(cache.Client(t.Context(), name)).To(HaveValue(Equal(service{"two"})))

	secret.Data = nil
	g.Expect(c.Update(t.Context(), secret)).To(Succeed())
	_, err = cache.Client(t.Context(), name)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
	g.Expect(err).To(MatchError("secret " + name.String() + " can't be used: it has no token"))

	g.Expect(c.Delete(t.Context(), secret)).To(Succeed())
	_, err = cache.Client(t.Context(), name)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
	g.Expect(err).To(MatchError("secret " + name.String() + " does not exist: create it"))
}

// Each reconcile asks for the client: a Secret that was read for each would be most of the requests to the API server.
func TestClient_readsOnlyASecretThatHasChanged(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	secret := createSecret(t, c)
	name := client.ObjectKeyFromObject(secret)
	reads := 0
	cache := &credentials.Cache[*service]{
		Reader: interceptor.NewClient(c, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				reads++
				return c.Get(ctx, key, o, opts...)
			},
		}),
		Metadata: c, Clock: clocktesting.NewFakeClock(time.Now()),
		Build: func(s *corev1.Secret) (*service, error) { return &service{string(s.Data["token"])}, nil },
	}
	for range 3 {
		g.Expect(cache.Client(t.Context(), name)).To(HaveValue(Equal(service{"one"})))
	}
	g.Expect(reads).To(Equal(1))

	secret.Data["token"] = []byte("two")
	g.Expect(c.Update(t.Context(), secret)).To(Succeed())
	second, err := cache.Client(t.Context(), name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second).To(HaveValue(Equal(service{"two"})))
	g.Expect(reads).To(Equal(2))

	secret.Labels = map[string]string{"a": "b"} // says nothing new
	g.Expect(c.Update(t.Context(), secret)).To(Succeed())
	for range 3 {
		g.Expect(cache.Client(t.Context(), name)).To(BeIdenticalTo(second))
	}
	g.Expect(reads).To(Equal(3))

	g.Expect(c.Delete(t.Context(), secret)).To(Succeed())
	_, err = cache.Client(t.Context(), name)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Credentials))
}

// A tenant may make a Secret after the other, with half a MiB of authorities in each: a client is kept for an hour.
func TestClient_ofATenantFewAreKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	built := map[string]int{}
	clock := clocktesting.NewFakeClock(time.Now())
	cache := &credentials.Cache[*service]{
		Reader: anySecret{}, Clock: clock,
		Build: func(s *corev1.Secret) (*service, error) {
			built[s.Namespace+"/"+s.Name]++
			return &service{}, nil
		},
	}
	ask := func(namespace, name string) {
		clock.Step(time.Second)
		_, err := cache.Client(t.Context(), client.ObjectKey{Namespace: namespace, Name: name})
		g.Expect(err).NotTo(HaveOccurred())
	}
	ask("one", "bmm")
	for n := range 1000 {
		ask("many", strconv.Itoa(n))
		ask("many", "used")
	}
	for n := 999; n >= 0; n-- {
		ask("many", strconv.Itoa(n))
	}
	again := 0
	for _, times := range built {
		again += times - 1
	}
	g.Expect(again).To(BeNumerically(">=", 1000-256))
	ask("one", "bmm")
	g.Expect(built).To(And(HaveKeyWithValue("one/bmm", 1), HaveKeyWithValue("many/used", 1)))
}

type anySecret struct{}

func (anySecret) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	return nil
}
