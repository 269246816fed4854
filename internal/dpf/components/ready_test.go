package components_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/dpf/components"
)

func TestWaiting_looksAtWhatWasObserved(t *testing.T) {
	t.Parallel()
	const deployment, daemonSet = "kind: Deployment\napiVersion: apps/v1\n", "kind: DaemonSet\napiVersion: apps/v1\n"
	const service = "kind: DPUService\napiVersion: svc.dpu.nvidia.com/v1alpha1\n"
	const new2 = "metadata: {name: a, generation: 2}\n"
	for text, want := range map[string]string{
		deployment + new2 + "spec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2}": "wasn't looked at since it has changed",
		deployment + new2 + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}": "",
		deployment + new2 + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}": "has 1 of 2 replicas available, 2 of them new",
		deployment + new2 + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3}": "has 3 of 2 replicas available, 2 of them new",
		deployment + new2 + "spec: {replicas: 0}\nstatus: {observedGeneration: 2}":                                                        "is scaled to 0",
		daemonSet + new2 + "status: {observedGeneration: 2}":                                                                              "has no nodes to run on",
		daemonSet + new2 + "status: {observedGeneration: 1, desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberReady: 1}":        "wasn't looked at since it has changed",
		daemonSet + new2 + "status: {observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 1}":        "is ready on 1 of 2 nodes, and new on 2",
		daemonSet + new2 + "status: {observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2}":        "",
		service + new2: "wasn't looked at since it has changed",
		service + new2 + `status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`:                    "wasn't looked at since it has changed",
		service + new2 + `status: {conditions: [{type: Ready, status: "False", observedGeneration: 2, message: no Argo}]}`: "isn't ready: no Argo",
		service + new2 + `status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`:                    "",
		"kind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {name: a}\nstatus: {phase: Pending}":                       "isn't bound",
		"kind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {name: a}\nstatus: {phase: Bound}":                         "",
		"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}":                                                             "",
	} {
		g := NewWithT(t)
		o := &unstructured.Unstructured{}
		g.Expect(yaml.Unmarshal([]byte(text), o)).To(Succeed())
		why, err := components.Waiting(o)
		g.Expect(err).NotTo(HaveOccurred())
		if want != "" {
			want = o.GetKind() + " a " + want
		}
		g.Expect(why).To(Equal(want), text)
	}
}
