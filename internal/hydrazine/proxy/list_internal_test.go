package proxy

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// nothing is an API server without objects.
type nothing struct{ client.WithWatch }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// What a list has read is in memory until its answer is one that counts: gRPC makes it of that after the method has returned.
func TestList_hasItsTurnUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := &admission{Tenancy: &Tenancy{Plaintext: true}, limits: newLimits(&Config{}), metrics: NewMetrics()}
	s := &service[*proxyv1.ResourceGroup]{
		kind: resourceGroupKind(), backend: &backend{Tenancy: a.Tenancy, client: nothing{}, limits: a.limits, metrics: a.metrics},
	}
	ctx, answered := context.WithCancel(t.Context())
	ctx = context.WithValue(begunIn(ctx, t, a), scopeKey{}, scope{tenant: everyone})
	_, err := s.list(ctx, &proxyv1.ListRequest{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.limits.lists.all).To(HaveLen(1))
	answered()
	g.Eventually(func() int { return len(a.limits.lists.all) }, 10*time.Second).Should(BeZero())
	_, err = s.list(ctx, &proxyv1.ListRequest{})
	g.Expect(status.Code(err)).To(Equal(codes.Canceled))
	g.Eventually(func() int { return len(a.limits.lists.all) }, 10*time.Second).Should(BeZero(), "of a call that had ended before")
}
