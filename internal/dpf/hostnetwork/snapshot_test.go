package hostnetwork_test

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// snapshot of all that the move may change, without what every write changes.
func snapshot(ctx context.Context, g Gomega, c client.Client) map[string]string {
	lists := []client.ObjectList{
		&configv1.ClusterVersionList{}, &appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, &corev1.ConfigMapList{}, &corev1.NodeList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{},
	}
	all := map[string]string{}
	for _, list := range lists {
		g.Expect(c.List(ctx, list)).To(Succeed())
		text := asJSON(list)
		var decoded struct{ Items []map[string]any }
		g.Expect(json.Unmarshal([]byte(text), &decoded)).To(Succeed())
		for _, item := range decoded.Items {
			meta := item["metadata"].(map[string]any)
			for _, field := range []string{"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"} {
				delete(meta, field)
			}
			delete(item, "status")
			if annotations, has := meta["annotations"].(map[string]any); has {
				delete(annotations, "deprecated.daemonset.template.generation")
				delete(annotations, "deployment.kubernetes.io/revision")
			}
			all[strings.Join([]string{typeName(list), asJSON(meta["namespace"]), asJSON(meta["name"])}, " ")] = asJSON(item)
		}
	}
	return all
}

func typeName(list client.ObjectList) string {
	switch list.(type) {
	case *corev1.NodeList:
		return "Node"
	case *corev1.ConfigMapList:
		return "ConfigMap"
	case *appsv1.DaemonSetList:
		return "DaemonSet"
	case *appsv1.DeploymentList:
		return "Deployment"
	case *configv1.ClusterVersionList:
		return "ClusterVersion"
	}
	return "Webhook"
}
