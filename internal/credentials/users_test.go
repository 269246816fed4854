package credentials_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/testenv"
)

// users are ConfigMaps that name a Secret.
var users = credentials.Users{
	Kind: &corev1.ConfigMap{}, List: &corev1.ConfigMapList{}, Title: "ConfigMaps",
	SecretOf: func(o client.Object) types.NamespacedName {
		return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.(*corev1.ConfigMap).Data["login"]}
	},
}

func TestUsers_areThoseOfTheSecretsNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	user := func(namespace, name, login string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"login": login}}
	}
	builder := fake.NewClientBuilder().WithObjects(user("red", "a", "one"), user("red", "b", "two"), user("blue", "c", "one"))
	c := testenv.Indexed(t, builder, users.Index).Build()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "one"}}
	g.Expect(users.Enqueue(c)(t.Context(), secret)).To(ConsistOf(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "red", Name: "a"}}))
	g.Expect(users.InUse(c)(t.Context(), types.NamespacedName{Namespace: "blue", Name: "one"})).To(BeTrue())
	g.Expect(users.InUse(c)(t.Context(), types.NamespacedName{Namespace: "blue", Name: "two"})).To(BeFalse())
}

func TestUsers_thatCannotBeListedAreAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("down")
		},
	})
	_, err := users.InUse(c)(t.Context(), types.NamespacedName{Namespace: "red", Name: "one"})
	g.Expect(err).To(MatchError("list the ConfigMaps that use Secret red/one: down"))
}
