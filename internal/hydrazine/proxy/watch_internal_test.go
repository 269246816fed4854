package proxy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// slow is an API server that takes its time, and has come to version 10.
type slow struct{ client.WithWatch }

const slowness = 100 * time.Millisecond

func (slow) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	time.Sleep(slowness)
	list.SetResourceVersion("10")
	return nil
}

// Watches from versions that never come ask the API server. A client that has just listed has to ask it too, and doesn't wait
// for them.
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

// A watch begins with all objects, which wait until its client takes them: a thousand watches of ten thousand objects take more
// memory than there is.
func TestWatch_weighsWhatItBeginsWith(t *testing.T) {
	t.Parallel()
	const groups, begins = 1000, (1000 + 1) * 32
	g := NewWithT(t)
	a := &admission{Tenancy: &Tenancy{Plaintext: true}, limits: newLimits(&Config{}), metrics: NewMetrics()}
	s, err := newService[*proxyv1.ResourceGroup](&backend{
		Tenancy: a.Tenancy, limits: a.limits, metrics: a.metrics, stopping: t.Context(),
	}, resourceGroupKind())
	g.Expect(err).NotTo(HaveOccurred())
	objects := make([]any, groups)
	for i := range objects {
		objects[i] = &resourcev1.ResourceGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: fmt.Sprint("group", i), ResourceVersion: "10"}}
	}
	g.Expect(s.feed.Replace(objects, "10")).To(Succeed())
	ctx := context.WithValue(begun(t, a), scopeKey{}, scope{caller: caller{operator: true}, tenant: everyone})
	before, heard, enough := a.limits.requests.Weight(), 0, errors.New("enough")
	g.Expect(s.watch(ctx, &proxyv1.WatchRequest{}, func(e event[*proxyv1.ResourceGroup]) error {
		if heard++; heard <= groups {
			g.Expect(a.limits.requests.Weight() - before).To(Equal(begins))
			return nil
		}
		g.Expect(e.Type).To(Equal(proxyv1.EventType_EVENT_TYPE_BOOKMARK))
		g.Expect(a.limits.requests.Weight()).To(Equal(before), "nothing waits any more")
		return enough
	})).To(MatchError(enough))
}
