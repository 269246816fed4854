package kubelet

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// createMirror creates the API object of a static pod. Admission lets a kubelet create only such pods.
func createMirror(ctx context.Context, client kubernetes.Interface, node *corev1.Node, static *corev1.Pod) error {
	pod := static.DeepCopy()
	pod.Name = mirrorName(static, node.Name)
	hash := fmt.Sprintf("%x", sha256.Sum224([]byte(static.String()))) // only distinguishes versions of the pod
	pod.Annotations = maps.Clone(static.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["kubernetes.io/config.source"] = "file"
	pod.Annotations["kubernetes.io/config.hash"] = hash
	pod.Annotations[corev1.MirrorPodAnnotationKey] = hash
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true),
	}}
	pod.Spec.NodeName = node.Name
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	// Like a kubelet: again, until the API server's admission knows the Node that was registered just now.
	err := persist(ctx, func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create mirror pod %s: %w", pod.Name, err)
	}
	return nil
}

const (
	persistInterval = 100 * time.Millisecond
	persistTimeout  = 30 * time.Second
)

// persist calls do until it returns nil. When its time is up it returns the last error.
func persist(ctx context.Context, do func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, persistInterval, persistTimeout, true, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

func mirrorName(static *corev1.Pod, node string) string { return static.Name + "-" + node }
