package components

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// Waiting says what an object is waited for; "" if it is ready, as objects of most kinds are once they exist. Only what was observed of the
// object as it is now counts.
func Waiting(o *unstructured.Unstructured) (string, error) {
	var why string
	var err error
	switch o.GroupVersionKind().GroupKind() {
	case appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind():
		why, err = waiting(o, deployment)
	case appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind():
		why, err = waiting(o, daemonSet)
	case corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind():
		why, err = waiting(o, claim)
	case serviceKind.GroupKind():
		why, err = waiting(o, service)
	}
	if err != nil || why == "" {
		return "", err
	}
	return identityOf(o).String() + " " + why, nil
}

func waiting[T any](o *unstructured.Unstructured, why func(*T) string) (string, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return "", fmt.Errorf("read %s: %w", identityOf(o), err)
	}
	return why(typed), nil
}

const unobserved = "wasn't looked at since it has changed"

func deployment(d *appsv1.Deployment) string {
	want := ptr.Deref(d.Spec.Replicas, 1)
	switch s := d.Status; {
	case s.ObservedGeneration < d.Generation:
		return unobserved
	case want == 0:
		return "is scaled to 0"
	case s.UpdatedReplicas < want, s.Replicas > s.UpdatedReplicas, s.AvailableReplicas < want:
		return fmt.Sprintf("has %d of %d replicas available, %d of them new", s.AvailableReplicas, want, s.UpdatedReplicas)
	}
	return ""
}

func daemonSet(d *appsv1.DaemonSet) string {
	switch s := d.Status; {
	case s.ObservedGeneration < d.Generation:
		return unobserved
	case s.DesiredNumberScheduled == 0:
		return "has no nodes to run on"
	case s.UpdatedNumberScheduled < s.DesiredNumberScheduled, s.NumberReady < s.DesiredNumberScheduled:
		return fmt.Sprintf("is ready on %d of %d nodes, and new on %d", s.NumberReady, s.DesiredNumberScheduled, s.UpdatedNumberScheduled)
	}
	return ""
}

func claim(c *corev1.PersistentVolumeClaim) string {
	if c.Status.Phase != corev1.ClaimBound {
		return "isn't bound"
	}
	return ""
}

func service(d *svcv1.DPUService) string {
	ready := meta.FindStatusCondition(d.Status.Conditions, svcv1.ReadyCondition)
	switch {
	case ready == nil, ready.ObservedGeneration < d.Generation:
		return unobserved
	case ready.Status != metav1.ConditionTrue:
		return "isn't ready: " + ready.Message
	}
	return ""
}
