package kraketest

import (
	"encoding/base64"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/managertest"
)

// Template of a cluster of two machines.
const Template = `tosca_definitions_version: tosca_simple_yaml_1_0
topology_template:
  node_templates:
    front: {type: tosca.nodes.indigo.Compute}
    wn: {type: tosca.nodes.indigo.Compute, capabilities: {scalable: {properties: {count: 1}}}}
  outputs:
    kubeconfig: {value: {get_attribute: [front, kubeconfig]}}
`

// Names of what CreateCloud makes, and the login of the provider's Secret.
const (
	ProviderName = "im"
	CloudName    = "cloud"
	Username     = "krake"
	Password     = `se;cr=et\n"`
	// Address of the manager. Nothing listens there: requests are handed over.
	Address = "http://127.0.0.1:1"
)

func (f *Fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: f.Namespace}
}

// Secret with texts.
func (f *Fixture) Secret(name string, data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: f.meta(name), Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

// CreateCloud makes a Cloud and an InfrastructureProvider, with their Secrets, which have their names.
func (f *Fixture) CreateCloud() *krakev1.Cloud {
	f.t.Helper()
	return f.CreateCloudWith(f.Secret(ProviderName, map[string]string{im.SecretKeyUsername: Username, im.SecretKeyPassword: Password}))
}

// CreateCloudWith makes them with another Secret of the provider.
func (f *Fixture) CreateCloudWith(login *corev1.Secret) *krakev1.Cloud {
	f.t.Helper()
	f.Create(login)
	f.Create(f.Secret(CloudName, map[string]string{im.FieldType: "Dummy"}))
	f.Create(&krakev1.InfrastructureProvider{ObjectMeta: f.meta(ProviderName), Spec: krakev1.InfrastructureProviderSpec{
		Type: "im", IM: krakev1.IMProvider{URL: Address, SecretRef: krakev1.SecretReference{Name: ProviderName}},
	}})
	cloud := &krakev1.Cloud{ObjectMeta: f.meta(CloudName), Spec: krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: &krakev1.IMCloud{
		SecretRef: krakev1.SecretReference{Name: CloudName},
		CloudUse:  krakev1.CloudUse{InfrastructureProvider: krakev1.ProviderReference{Name: ProviderName, Namespaced: true}},
	}}}
	f.Create(cloud)
	return cloud
}

// Token of OpenID Connect, which IM takes in place of a name and a password: of a subject, and with an ID of its own.
func Token(subject, id string) string {
	claims := fmt.Sprintf(`{"iss":"https://iss.example.com","sub":%q,"jti":%q}`, subject, id)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2lnbmF0dXJl"
}

// NewCluster is a Cluster that isn't created yet.
func (f *Fixture) NewCluster(name string, change ...func(*krakev1.Cluster)) *krakev1.Cluster {
	c := &krakev1.Cluster{ObjectMeta: f.meta(name), Spec: krakev1.ClusterSpec{TOSCA: Template}}
	for _, to := range change {
		to(c)
	}
	return c
}

// CreateCluster makes a Cluster.
func (f *Fixture) CreateCluster(name string, change ...func(*krakev1.Cluster)) *krakev1.Cluster {
	f.t.Helper()
	c := f.NewCluster(name, change...)
	f.Create(c)
	return c
}

// Change an object, and retry on conflict.
func Change[T client.Object](f *Fixture, object T, change func(T)) {
	f.t.Helper()
	managertest.Change(f.Fixture, object, change)
}

// Watch a Cluster from now on. The returned function waits until it has a state, and misses none, however soon it is over.
func (f *Fixture) Watch(c *krakev1.Cluster) (untilState func(krakev1.ClusterState)) {
	f.t.Helper()
	f.Expect(f.Read(c)).To(Succeed())
	changes, err := f.Client.Watch(f.t.Context(), &krakev1.ClusterList{}, &client.ListOptions{
		Namespace: c.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, c.Name),
		Raw: &metav1.ListOptions{ResourceVersion: c.ResourceVersion},
	})
	f.Expect(err).NotTo(HaveOccurred())
	f.t.Cleanup(changes.Stop)
	return func(state krakev1.ClusterState) {
		f.t.Helper()
		var change watch.Event
		f.Eventually(changes.ResultChan()).Should(Receive(&change, HaveField("Object.Status.State", state)))
		change.Object.(*krakev1.Cluster).DeepCopyInto(c)
	}
}

// UntilState waits until a Cluster has a state.
func (f *Fixture) UntilState(c *krakev1.Cluster, state krakev1.ClusterState) {
	f.t.Helper()
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(c)).To(Succeed())
		g.Expect(c.Status.State).To(Equal(state), "%+v", c.Status)
	}).Should(Succeed())
}
