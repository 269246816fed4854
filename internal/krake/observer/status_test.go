package observer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

func condition(c *krakev1.Cluster, kind string) *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, kind)
}

// As JSON, some characters are six times as long.
func TestCluster_ofWordyNodesFitsIntoAStatus(t *testing.T) {
	t.Parallel()
	f := start(t)
	text := strings.Repeat("<\x01", 100)
	const wordy = 1000 // more than are shown; the others, of an endless list, only have names, or a look takes seconds
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		page := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList"}, ListMeta: metav1.ListMeta{Continue: strconv.Itoa(from + 50)}}
		for i := range 50 {
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%0240d", from+i)}}
			for _, kind := range []corev1.NodeConditionType{
				corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
			} {
				if from >= wordy {
					continue
				}
				condition := corev1.NodeCondition{Type: kind, Status: "Unknown", Reason: text, Message: text}
				node.Status.Conditions = append(node.Status.Conditions, condition)
			}
			page.Items = append(page.Items, node)
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	f.secret("demo", s.kubeconfig(f))
	c := f.becomes(f.register("demo", -1), krakev1.StateNotReady)
	data, err := json.Marshal(c)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(len(data)).To(BeNumerically("<", 800<<10))
	f.Expect(c.Status.Nodes[0].Conditions).To(HaveLen(5))
}

// It isn't registered any more, and may be made: FAILED isn't for good, and nothing is ONLINE or Ready.
func TestCluster_thatIsRegisteredNoMoreIsPENDING(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := serve(t, nodes("a"))
	f.secret("good", s.kubeconfig(f))
	f.secret("bad", []byte("no kubeconfig"))
	for name, state := range map[string]krakev1.ClusterState{"good": krakev1.StateOnline, "bad": krakev1.StateFailed} {
		c := &krakev1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: krakev1.ClusterSpec{
			TOSCA: "a: b", Kubeconfig: &krakev1.Kubeconfig{SecretRef: krakev1.SecretReference{Name: name}},
		}}
		f.Expect(f.client.Create(t.Context(), c)).To(Succeed())
		f.becomes(c, state)
		f.Eventually(func() error { c = f.get(c); c.Spec.Kubeconfig = nil; return f.client.Update(t.Context(), c) }).Should(Succeed())
		c = f.becomes(c, krakev1.StatePending)
		f.Expect(c.Status.Reason).To(BeNil())
		f.Expect(c.Status.Nodes).To(BeEmpty())
		f.Expect(c.Status.Conditions).To(BeEmpty())
	}
}

// An error repeats what is in the kubeconfig, of which a tenant may write as much as fits into a Secret.
func TestCluster_whoseKubeconfigIsWordySaysSoInAStatus(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := serve(t, nodes("a"))
	long := strings.Replace(string(s.kubeconfig(f)), "https://", "https://"+strings.Repeat("a", 100_000)+":", 1)
	f.secret("demo", []byte(long))
	f.becomes(f.register("demo", -1), krakev1.StateFailed)
}
