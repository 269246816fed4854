package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	krakeconfig "github.com/bedplate/bedplate/config/krake"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/krake/sim"
)

// templateSize in bytes is that of a template with a few dozen software components.
const templateSize = 20 << 10

func krakeSystem(world sim.Config) system {
	return system{
		manager: "krake-manager", namespace: "bedplate-krake-system", account: "bedplate-krake-manager", metricsReader: "bedplate-krake-metrics-reader",
		crds: krakeconfig.CRDs, rbac: krakeconfig.RBAC, addToScheme: provider.AddToScheme,
		clusters: &krakev1.ClusterList{}, cluster: &krakev1.Cluster{},
		machines: &krakev1.CloudList{}, machine: &krakev1.Cloud{}, // there are no objects for machines
		statusOf: func(object client.Object) (bool, string) {
			c, is := object.(*krakev1.Cluster)
			return is && c.Status.State == krakev1.StateOnline, ""
		},
		simulator: "im", world: world,
	}
}

// krakeFleet makes Clusters on one cloud.
type krakeFleet struct {
	fleet
	url string
}

const krakeCloud = "cloud"

func (f krakeFleet) createCloud(ctx context.Context) error {
	use := krakev1.CloudUse{InfrastructureProvider: krakev1.ProviderReference{Name: krakeCloud, Namespaced: true}}
	return f.create(ctx,
		&corev1.Secret{ObjectMeta: named("login"), Data: map[string][]byte{im.SecretKeyUsername: []byte("krake"), im.SecretKeyPassword: []byte("krake")}},
		&corev1.Secret{ObjectMeta: named(krakeCloud), Data: map[string][]byte{im.FieldType: []byte("Dummy")}},
		&krakev1.InfrastructureProvider{ObjectMeta: named(krakeCloud), Spec: krakev1.InfrastructureProviderSpec{
			Type: "im", IM: krakev1.IMProvider{URL: f.url, SecretRef: krakev1.SecretReference{Name: "login"}},
		}},
		&krakev1.Cloud{ObjectMeta: named(krakeCloud), Spec: krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: &krakev1.IMCloud{
			SecretRef: krakev1.SecretReference{Name: krakeCloud}, CloudUse: use,
		}}})
}

func (f krakeFleet) createCluster(ctx context.Context, name string) error {
	return f.create(ctx, &krakev1.Cluster{ObjectMeta: named(name), Spec: krakev1.ClusterSpec{TOSCA: krakeTemplate(1)}})
}

// enlarge a Cluster by a machine.
func (f krakeFleet) enlarge(ctx context.Context, name string) error {
	c := &krakev1.Cluster{ObjectMeta: named(name)}
	if err := f.client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
		return err
	}
	before := c.DeepCopy()
	c.Spec.TOSCA = krakeTemplate(2)
	return f.client.Patch(ctx, c, client.MergeFrom(before))
}

// krakeTemplate has a machine for the control plane, so many workers, and software on them.
func krakeTemplate(workers int) string {
	var text strings.Builder
	fmt.Fprintf(&text, `tosca_definitions_version: tosca_simple_yaml_1_0
topology_template:
  outputs:
    kubeconfig: {value: {get_attribute: [front, kubeconfig]}}
  node_templates:
    front: {type: tosca.nodes.indigo.Compute}
    wn: {type: tosca.nodes.indigo.Compute, capabilities: {scalable: {properties: {count: %d}}}}
`, workers)
	for n := 0; text.Len() < templateSize; n++ {
		fmt.Fprintf(&text, "    software%03d:\n      type: tosca.nodes.SoftwareComponent\n      properties: {version: 1.%d, options: [one, two, three]}\n"+
			"      requirements: [{host: wn}]\n", n, n)
	}
	return text.String()
}

// workload is the API server of all clusters, which has one node.
type workload struct {
	*httptest.Server
	// probes are how often its nodes were listed.
	probes atomic.Int64
}

func startWorkload() *workload {
	w := &workload{}
	nodes, err := json.Marshal(corev1.NodeList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"},
		Items: []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "front-0"},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}},
	})
	if err != nil {
		panic(err) // it is no other than in the last run
	}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes" {
			http.NotFound(response, r)
			return
		}
		w.probes.Add(1)
		response.Header().Set("Content-Type", "application/json")
		_, _ = response.Write(nodes) // the client may have gone
	}))
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.StartTLS()
	return w
}

func (w *workload) kubeconfig() string {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   w.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "bench"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	text, err := clientcmd.Write(*config)
	if err != nil {
		panic(err) // it is no other than in the last run
	}
	return string(text)
}
