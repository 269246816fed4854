package proxy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// slow is an API server that takes its time, and has come to version 10.
type slow struct{ client.WithWatch }

const slowness = 100 * time.Millisecond

func (slow) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	time.Sleep(slowness)
	list.SetResourceVersion("10")
	return nil
}

// Watches from versions that never come ask the API server. Who has just listed has to ask it too, and doesn't wait for them.
func TestWatch_fromTheFutureIsInNobodyElsesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const hostile = 500
		g, answers := NewWithT(t), make(chan error, hostile)
		s, err := newService[*proxyv1.ResourceGroup](&backend{client: slow{}, stopping: t.Context()}, resourceGroupKind())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.feed.Replace(nil, "5")).To(Succeed())
		for range hostile {
			go func() { answers <- s.happened(t.Context(), 1<<62) }()
		}
		synctest.Wait()
		began := time.Now()
		g.Expect(s.happened(t.Context(), 10)).To(Succeed())
		g.Expect(time.Since(began)).To(BeNumerically("<=", 2*slowness))
		for range hostile {
			g.Expect(status.Code(<-answers)).To(Equal(codes.OutOfRange))
		}
	})
}
