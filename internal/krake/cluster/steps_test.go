package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
	"github.com/bedplate/bedplate/internal/krake/kubeconfig"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// The kubeconfig is in its Secret, and the spec names that, before the state says so.
func TestStep7_aConfiguredClusterIsConnecting(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(c.Spec.Kubeconfig.SecretRef.Name).To(Equal("demo-kubeconfig"))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-kubeconfig", Namespace: f.Namespace}}
	f.Expect(f.Read(secret)).To(Succeed())
	f.Expect(secret.Type).To(BeEquivalentTo("cluster.x-k8s.io/secret"))
	_, err := kubeconfig.Parse(secret.Data["value"])
	f.Expect(err).NotTo(HaveOccurred())
}

func TestStep1_aDeletedClusterGoesWithItsInfrastructure(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	f.CreateCloud()
	c := f.CreateCluster("demo")
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(c.Finalizers).To(ContainElement(krakev1.ClusterFinalizer))
	f.Delete(c)
	f.UntilGone(c)
	f.Expect(f.IM.State().Empty()).To(BeTrue())
}
