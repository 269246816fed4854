package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// A cache that is behind still has our finalizer on a group that only another client holds. Without it, nothing deletes a central.
func TestGroup_thatOnlyOthersHoldGetsNoCentralAgain(t *testing.T) {
	t.Parallel()
	f := start(t)
	group := f.deletedBehind(1, func(g *resourcev1.ResourceGroup) { g.Finalizers = []string{"example.com/backup"} })
	f.Consistently(func() string { return fmt.Sprintf("%s/ovn-%s", f.dir, group.UID) }, "4s").ShouldNot(BeADirectory())
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(group), group)).To(Succeed())
	f.Expect(group.Finalizers).To(ConsistOf("example.com/backup"))
}

// refusing is an API server that refuses some requests.
type refusing struct {
	http.RoundTripper
	refuses func(*http.Request) bool
}

func (r refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.refuses(request) {
		return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Request: request}, nil
	}
	return r.RoundTripper.RoundTrip(request)
}

// As long as the API server doesn't say whether the group is still there, its central isn't deleted.
func TestGroup_tellsItsDPUsThoughTheAPIServerFails(t *testing.T) {
	t.Parallel()
	f := start(t).run()
	group, agent, said, deletion := f.watched()
	f.becomes(group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	f.stop()
	agent.Refuse(errDead)
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	var asked atomic.Int32
	f.wrap = func(to http.RoundTripper) http.RoundTripper {
		return refusing{to, func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/resourcegroups/blue") && asked.Add(1) == 1
		}}
	}
	f.run()
	f.gone(group)
	f.Expect(asked.Load()).To(BeNumerically(">", 1))
	f.Eventually(said).Should(deletion)
}

// A manager that takes over may have a cache from before the group was deleted.
func TestGroup_thatIsGoneGetsNoCentralByAnotherManager(t *testing.T) {
	t.Parallel()
	f := start(t)
	var old atomic.Pointer[resourcev1.ResourceGroup]
	var seen atomic.Int32
	f.faults.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if group, is := object.(*resourcev1.ResourceGroup); is && old.Load() != nil {
			old.Load().DeepCopyInto(group)
			seen.Add(1)
			return nil
		}
		return c.Get(ctx, key, object, options...)
	}
	f.run()
	group := f.group("blue")
	f.becomes(group, resourcev1.CentralReadyCondition, metav1.ConditionTrue, "")
	was := group.DeepCopy()
	f.Expect(was.Finalizers).NotTo(BeEmpty())
	f.Expect(f.client.Delete(t.Context(), group)).To(Succeed())
	f.gone(group)
	f.stop()
	old.Store(was)
	f.host("blue", 2) // so that its group is reconciled
	f.run()
	f.Consistently(func() string { return fmt.Sprintf("%s/ovn-%s", f.dir, was.UID) }, "4s").ShouldNot(BeADirectory())
	f.Expect(seen.Load()).NotTo(BeZero())
}
