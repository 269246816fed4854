package observer_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

// A write that is refused, because the cache lags behind another client's, is tried again at once: so is the look, and that isn't a second one.
func TestCluster_thatOthersWriteToIsLookedAtTwiceAllTheSame(t *testing.T) {
	t.Parallel()
	var conflicts atomic.Int32
	f := start(t, func(o *ctrl.Options) {
		o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(c, interceptor.Funcs{SubResourcePatch: func(
				ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
			) error {
				if conflicts.Add(-1) >= 0 {
					return apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, object.GetName(), nil)
				}
				return c.SubResource(name).Patch(ctx, object, patch, options...)
			}}), nil
		}
	})
	s := serve(t, nodes("a"))
	f.secret("demo", s.kubeconfig(f))
	c := f.becomes(f.register("demo", 3), krakev1.StateOnline)
	conflicts.Store(5)
	s.now(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	f.Eventually(func() int32 { return f.get(c).Status.Retries }).Should(BeNumerically(">", 0))
	f.Expect(c.Status.State).To(Equal(krakev1.StateOnline))
	f.Expect(c.Status.Retries).To(BeEquivalentTo(1))
	f.Expect(conflicts.Load()).To(BeNumerically("<", 0))
	f.becomes(c, krakev1.StateDegraded)
}
