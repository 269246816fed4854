package dpuservice

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
)

// A DPU cluster is in the record before anything is written into it, and as long as it has copies.
func TestCopies_areRecordedBeforeTheyAreMade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(svcv1.AddToScheme(scheme)).To(Succeed())
	original := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "pull", Labels: map[string]string{PullSecretLabel: ""}},
		Type:       corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")},
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "owner", UID: "one"}}
	host := fake.NewClientBuilder().WithScheme(scheme).WithObjects(original).Build()
	name := types.NamespacedName{Namespace: "dpus", Name: "a"}
	recorded := func() bool {
		may, err := MayHaveCopies(t.Context(), host, "system")
		g.Expect(err).NotTo(HaveOccurred())
		return may(name)
	}
	writes := 0
	dpus := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			writes++
			g.Expect(recorded()).To(BeTrue(), "%T %s", o, o.GetName())
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	m := &mirror{Client: host, cached: host, live: host, Config: Config{Namespace: "system"}}
	begin := func() {
		g.Expect(BeginCopies(t.Context(), host, host, owner)).To(Succeed())
		g.Expect(recorded()).To(BeFalse())
		g.Expect(m.compare(t.Context(), dpucluster.Cluster{Name: name, Client: dpus})).To(Succeed())
		g.Expect(recorded()).To(BeTrue())
	}
	begin()
	g.Expect(writes).To(Equal(2), "the namespace, and the copy")
	g.Expect(host.Delete(t.Context(), copies("system"))).To(Succeed())
	begin() // copies of before are there, and nothing is to be written
	g.Expect(writes).To(Equal(2))
}

// A copy that a user has made theirs meanwhile isn't deleted.
func TestRemoveCopy_notOneThatWasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "pull", UID: "one", Labels: Copies}}
	dpus := fake.NewClientBuilder().WithObjects(copied).Build()
	g.Expect(dpus.Get(t.Context(), client.ObjectKeyFromObject(copied), copied)).To(Succeed())
	theirs := copied.DeepCopy()
	theirs.Labels = nil
	g.Expect(dpus.Update(t.Context(), theirs)).To(Succeed())
	g.Expect(removeCopy(t.Context(), dpus, copied)).NotTo(Succeed())
	g.Expect(dpus.Get(t.Context(), client.ObjectKeyFromObject(copied), copied)).To(Succeed())
}
