package testenv

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ExpectOnlyFinalizer expects of an admission policy, in a file, that a user who may do anything else can change nothing in a
// Secret but one finalizer.
func ExpectOnlyFinalizer(t testing.TB, policy, user, finalizer string) {
	t.Helper()
	g := NewWithT(t)
	Kubectl(t, "apply", "-f", policy)
	config, err := clientcmd.BuildConfigFromFlags("", KubeconfigOf(t, user, "system:masters"))
	g.Expect(err).NotTo(HaveOccurred())
	limited, err := client.New(config, client.Options{Scheme: Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace(t), Name: "bmm", Labels: map[string]string{"a": "b"}, Finalizers: []string{"test/of-another-client"},
		},
		Data: map[string][]byte{"token": []byte("one")},
	}
	g.Expect(Client(t).Create(t.Context(), secret)).To(Succeed())
	t.Cleanup(func() { // or the namespace would never go
		free := secret.DeepCopy()
		free.Finalizers = nil
		g.Expect(Client(t).Patch(context.WithoutCancel(t.Context()), free, client.MergeFrom(secret))).To(Succeed())
	})
	patch := func(change func(*corev1.Secret)) error {
		changed := secret.DeepCopy()
		change(changed)
		err := limited.Patch(t.Context(), changed, client.MergeFrom(secret))
		if err == nil {
			secret = changed
		}
		return err
	}
	g.Eventually(func() error { // a policy is enforced a little after it was written
		return patch(func(s *corev1.Secret) { s.Labels = map[string]string{"at": time.Now().Format("150405.000000")} })
	}, time.Minute).Should(MatchError(apierrors.IsForbidden, "forbidden"))

	for what, change := range map[string]func(*corev1.Secret){
		"another value": func(s *corev1.Secret) { s.Data["token"] = []byte("two") },
		"another key":   func(s *corev1.Secret) { s.StringData = map[string]string{"endpoint": "https://elsewhere"} },
		"no values":     func(s *corev1.Secret) { s.Data = nil },
		"immutable":     func(s *corev1.Secret) { yes := true; s.Immutable = &yes },
		"an annotation": func(s *corev1.Secret) { s.Annotations = map[string]string{"a": "b"} },
		"no label":      func(s *corev1.Secret) { s.Labels = nil },
		"another's":     func(s *corev1.Secret) { s.Finalizers = nil },
		"one more's":    func(s *corev1.Secret) { s.Finalizers = append(s.Finalizers, "test/of-no-client") },
		"with a finalizer": func(s *corev1.Secret) {
			s.Finalizers = append(s.Finalizers, finalizer)
			s.Data["token"] = []byte("two")
		},
		"an owner": func(s *corev1.Secret) {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "b"}}
		},
	} {
		g.Expect(patch(change)).To(MatchError(apierrors.IsForbidden, "forbidden"), what)
	}
	g.Expect(patch(func(s *corev1.Secret) { s.Finalizers = append(s.Finalizers, finalizer) })).To(Succeed())
	g.Expect(patch(func(s *corev1.Secret) { s.Finalizers = s.Finalizers[:1] })).To(Succeed())
}
