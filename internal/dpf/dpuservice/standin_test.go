package dpuservice_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/sim/argo"
	"github.com/bedplate/bedplate/internal/testenv"
)

// An Application that is deleted in mid-sync takes what it has deployed along, as with Argo CD, which finds that by its mark.
func TestArgo_deletesWhatASyncHasMadeWithoutAnEnd(t *testing.T) {
	t.Parallel()
	installArgo(t)
	g, c, namespace := NewWithT(t), testenv.Client(t), testenv.Namespace(t)
	to := map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace}
	written := func(kind schema.GroupVersionKind, spec map[string]any, finalizers ...string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetGroupVersionKind(kind)
		o.SetNamespace(namespace)
		o.SetName("a")
		o.SetFinalizers(finalizers)
		g.Expect(c.Create(t.Context(), o)).To(Succeed())
		return o
	}
	written(dpuservice.ProjectKind, map[string]any{"sourceRepos": []any{"*"}, "destinations": []any{to}})
	app := written(dpuservice.ApplicationKind, map[string]any{"project": "a", "destination": to, "source": map[string]any{
		"repoURL": "example.com/charts", "chart": "c", "targetRevision": "1",
	}}, dpuservice.CascadeFinalizer)
	deleted := interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			g.Expect(c.Apply(ctx, o, options...)).To(Succeed())
			return client.IgnoreNotFound(c.Delete(ctx, app))
		},
	})
	a := &argo.Argo{Client: deleted, Namespace: namespace, Charts: chart}
	for range 4 { // it syncs, deletes two ConfigMaps, and lets go
		_, err := a.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(app), app))).To(BeTrue())
	for _, name := range []string{"a", "a-v1"} {
		err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &corev1.ConfigMap{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), name)
	}
}
