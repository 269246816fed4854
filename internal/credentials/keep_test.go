package credentials_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A thousand machines that wait for their turn ask in each reconcile.
func TestKeep_costsNoCallOnceTheFinalizerIsInTheCache(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := testenv.Client(t)
	secret := createSecret(t, c)
	calls := 0
	counted := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			calls++
			return c.Get(ctx, key, o, opts...)
		},
	})
	guard := &credentials.Guard{Client: counted, Metadata: c, Live: counted, Finalizer: "test/in-use"}
	g.Expect(guard.Keep(t.Context(), client.ObjectKeyFromObject(secret))).To(Succeed())
	g.Expect(calls).To(Equal(1))
	for range 3 {
		g.Expect(guard.Keep(t.Context(), client.ObjectKeyFromObject(secret))).To(Succeed())
	}
	g.Expect(calls).To(Equal(1))
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	g.Expect(secret.Finalizers).To(ConsistOf("test/in-use"))
	secret.Finalizers = nil
	g.Expect(c.Update(t.Context(), secret)).To(Succeed())
}
