package powervscontroller

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

const config = "[provider]\npowerVSRegion = dal\npowerVSZone=dal10\npowerVSCloudInstanceName =  demo-serviceInstance\n"

func lookup(workspace, name string) (Server, bool) {
	return Server{ID: "vm-1", WorkspaceID: "ws-1", Address: netip.MustParseAddr("127.1.0.3")},
		workspace == "demo-serviceInstance" && name == "node-1"
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "node-role.kubernetes.io/control-plane"}, {Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true"},
		}},
	}
}

func TestSync_initialisesNodesOfServersOnceThereIsADaemonSet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := t.Context()
	c := fake.NewClientset(node("node-1"), node("node-2"))
	get := func(name string) *corev1.Node {
		found, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	untouched := get("node-1")
	g.Expect(sync(ctx, c, lookup)).To(Succeed())
	g.Expect(c.Tracker().Add(&appsv1.DaemonSet{ObjectMeta: meta(daemonSet)})).To(Succeed())
	g.Expect(sync(ctx, c, lookup)).To(MatchError(ContainSubstring("read the credentials")))
	secret := &corev1.Secret{ObjectMeta: meta(credential)}
	g.Expect(c.Tracker().Add(secret)).To(Succeed())
	g.Expect(sync(ctx, c, lookup)).To(MatchError(ContainSubstring("has no ibmcloud_api_key")))
	secret.Data = map[string][]byte{keyKey: []byte("key")}
	_, err := c.CoreV1().Secrets(metav1.NamespaceSystem).Update(ctx, secret, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sync(ctx, c, lookup)).To(MatchError(ContainSubstring("read the configuration")))
	mounted := &corev1.ConfigMap{ObjectMeta: meta(configMap), Data: map[string]string{configKey: "powerVSZone = dal10\n"}}
	g.Expect(c.Tracker().Add(mounted)).To(Succeed())
	g.Expect(sync(ctx, c, lookup)).To(MatchError(ContainSubstring("not all of region, zone and cloud instance")))
	g.Expect(get("node-1")).To(Equal(untouched))

	mounted.Data[configKey] = config
	_, err = c.CoreV1().ConfigMaps(metav1.NamespaceSystem).Update(ctx, mounted, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sync(ctx, c, lookup)).To(MatchError(ContainSubstring("node node-2: workspace demo-serviceInstance has no server of that name")))
	made := get("node-1")
	g.Expect(made.Spec.ProviderID).To(Equal("ibmpowervs://dal/dal10/ws-1/vm-1"))
	g.Expect(made.Spec.Taints).To(Equal([]corev1.Taint{{Key: "node-role.kubernetes.io/control-plane"}}))
	g.Expect(made.Status.Addresses).To(Equal([]corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "127.1.0.3"}, {Type: corev1.NodeHostName, Address: "node-1"},
	}))
	g.Expect(made.Labels).To(HaveKeyWithValue("topology.kubernetes.io/zone", "dal10"))
	g.Expect(get("node-2").Spec.ProviderID).To(BeEmpty())
}
