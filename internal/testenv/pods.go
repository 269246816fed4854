package testenv

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// spare is what a Pod's end may take beyond what its program needs.
const spare = 5 * time.Second

// ExpectGracefulEnd expects that a Pod isn't killed whose program takes so long to end, after what its hook takes.
func ExpectGracefulEnd(t testing.TB, pod corev1.PodSpec, takes time.Duration) {
	t.Helper()
	g := NewWithT(t)
	if hook := pod.Containers[0].Lifecycle; hook != nil {
		g.Expect(hook.PreStop.Sleep).NotTo(BeNil(), "there is no shell in the image")
		takes += time.Duration(hook.PreStop.Sleep.Seconds) * time.Second
	}
	g.Expect(pod.TerminationGracePeriodSeconds).NotTo(BeNil())
	g.Expect(time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second).To(BeNumerically(">=", takes+spare))
}

// ExpectCriticalPods expects that Pods of these namespaces, and of all workloads in a folder, may have their priority wherever a
// quota has to allow it. It returns the priorities of the workloads by their names.
func ExpectCriticalPods(t testing.TB, folder string, namespaces ...string) (priorities map[string]string) {
	t.Helper()
	g := NewWithT(t)
	priorities = map[string]string{}
	allowed := map[string][]string{"kube-system": {"system-cluster-critical", "system-node-critical"}}
	wanted := map[string][]string{}
	for _, namespace := range namespaces {
		wanted[namespace] = []string{"system-cluster-critical"}
	}
	for document := range strings.SplitSeq(Render(t, folder), "\n---\n") {
		var workload appsv1.Deployment // a DaemonSet's template is at the same place
		g.Expect(yaml.Unmarshal([]byte(document), &workload)).To(Succeed())
		switch workload.Kind {
		case "Deployment", "DaemonSet":
			priority := workload.Spec.Template.Spec.PriorityClassName
			priorities[workload.Name] = priority
			wanted[workload.Namespace] = append(wanted[workload.Namespace], priority)
		case "ResourceQuota":
			var quota corev1.ResourceQuota
			g.Expect(yaml.UnmarshalStrict([]byte(document), &quota)).To(Succeed())
			for _, scope := range quota.Spec.ScopeSelector.MatchExpressions {
				g.Expect(scope.ScopeName).To(Equal(corev1.ResourceQuotaScopePriorityClass))
				allowed[quota.Namespace] = append(allowed[quota.Namespace], scope.Values...)
			}
		}
	}
	for namespace, priorities := range wanted {
		for _, priority := range priorities {
			if strings.HasPrefix(priority, "system-") && !strings.HasPrefix(namespace, "openshift-") {
				g.Expect(slices.Contains(allowed[namespace], priority)).To(BeTrue(), "a ResourceQuota for %s in %s", priority, namespace)
			}
		}
	}
	return priorities
}
