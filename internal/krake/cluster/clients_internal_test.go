package cluster

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// Tenants write clouds, and delete them: their clients, with the Secrets in them, don't stay for ever.
func TestClients_areBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "blue", Name: name} }
	login := &corev1.Secret{ObjectMeta: of("im"), Data: map[string][]byte{im.SecretKeyUsername: []byte("me"), "password": []byte("hidden")}}
	key := &corev1.Secret{ObjectMeta: of("cloud"), Data: map[string][]byte{im.FieldType: []byte("Dummy")}}
	clients := NewClients(fake.NewClientBuilder().WithObjects(login, key).Build(), nil, clock.RealClock{}, nil)
	place := func(name string) *Place {
		return &Place{
			Cloud: &krakev1.Cloud{ObjectMeta: of(name)}, Provider: &krakev1.InfrastructureProvider{ObjectMeta: of("im")},
			url: "https://im.example.com", Login: types.NamespacedName{Namespace: "blue", Name: "im"},
			CloudLogin: types.NamespacedName{Namespace: "blue", Name: "cloud"},
		}
	}
	first, err := clients.Of(t.Context(), place("0"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(clients.Of(t.Context(), place("0"))).To(BeIdenticalTo(first))
	for i := range maxClients + 100 {
		g.Expect(clients.Of(t.Context(), place(fmt.Sprint(i)))).NotTo(BeNil())
	}
	g.Expect(clients.known.Len()).To(Equal(maxClients))
}
