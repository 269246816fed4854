package kubeadm

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/localstack/controlplane"
)

// etcdImageTag only has to look like one: nothing pulls the image.
const etcdImageTag = "3.6.6-0"

// etcdClientURLs is where kubeadm writes, on the pod of each etcd member, how the next one to join reaches it.
const etcdClientURLs = "kubeadm.kubernetes.io/etcd.advertise-client-urls"

// staticPods returns the pods of a control plane machine, as KubeadmControlPlane looks for them. The container ports are
// those of the real processes: the API server forwards to them.
func staticPods(host Host, config *InitConfig) []corev1.Pod {
	version := config.Cluster.KubernetesVersion
	etcd := staticPod(config, "etcd", etcdImageTag, controlplane.EtcdPort)
	etcd.Annotations = map[string]string{
		etcdClientURLs: "https://" + netip.AddrPortFrom(host.Address, controlplane.EtcdPort).String(),
	}
	return []corev1.Pod{
		etcd,
		staticPod(config, "kube-apiserver", version, controlplane.APIPort),
		staticPod(config, "kube-controller-manager", version),
		staticPod(config, "kube-scheduler", version),
	}
}

func staticPod(config *InitConfig, component, tag string, ports ...int32) corev1.Pod {
	var containerPorts []corev1.ContainerPort
	for _, port := range ports {
		containerPorts = append(containerPorts, corev1.ContainerPort{ContainerPort: port, HostPort: port})
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem,
			Name:      component,
			Labels:    map[string]string{"component": component, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			HostNetwork:       true,
			PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{
				Name: component, Image: config.Cluster.ImageRepository + "/" + component + ":" + tag, Ports: containerPorts,
			}},
		},
	}
}
