package kubelet

import (
	"context"
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// createMirror creates the API object of a static pod. Admission lets a kubelet create only such pods.
func createMirror(ctx context.Context, client kubernetes.Interface, node *corev1.Node, static *corev1.Pod) error {
	pod := static.DeepCopy()
	pod.Name = mirrorName(static, node.Name)
	hash := fmt.Sprintf("%x", sha256.Sum224([]byte(static.String()))) // only tells one version of the pod from another
	pod.Annotations = map[string]string{
		"kubernetes.io/config.source": "file",
		"kubernetes.io/config.hash":   hash,
		corev1.MirrorPodAnnotationKey: hash,
	}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true),
	}}
	pod.Spec.NodeName = node.Name
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create mirror pod %s: %w", pod.Name, err)
	}
	return nil
}

func mirrorName(static *corev1.Pod, node string) string { return static.Name + "-" + node }
