package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubeadmv1 "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"

	"github.com/bedplate/bedplate/internal/localstack/boot/kubelet"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
)

// joinedConfig is the configuration that "kubeadm init" on this machine would have got.
func joinedConfig(cluster *kubeadmv1.ClusterConfiguration, join *kubeadmv1.JoinConfiguration) *InitConfig {
	config := &InitConfig{Cluster: *cluster}
	config.Init.LocalAPIEndpoint = join.ControlPlane.LocalAPIEndpoint
	config.applyDefaults()
	return config
}

// joinControlPlane makes the machine an etcd member, an API server and a Node, in this order. The CAs come from the
// machine's disk: others than the cluster's are an error, because the cluster doesn't accept what they sign.
func joinControlPlane(ctx context.Context, host Host, config *InitConfig, node kubelet.Registration) (*Node, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	settings, err := controlPlaneConfig(host, config, node.Name)
	if err != nil {
		return nil, err
	}
	settings.EtcdMembers, err = etcdMembers(ctx, settings)
	if err != nil {
		return nil, err
	}
	host.Console.Info("joining the control plane", "node", node.Name, "etcd", settings.EtcdMembers)
	controlPlane, err := controlplane.Start(ctx, settings)
	if err != nil {
		return nil, err
	}
	k, err := startKubelet(ctx, host, config, controlPlane, node)
	return withKubelet(controlPlane, k, err)
}

// etcdMembers asks the cluster for the client URLs of its etcd members, with the credentials of an administrator.
func etcdMembers(ctx context.Context, settings controlplane.Config) ([]string, error) {
	admin, err := settings.AdminConfig()
	if err != nil {
		return nil, err
	}
	admin.Timeout = requestTimeout
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("client of the administrator: %w", err)
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).
		List(ctx, metav1.ListOptions{LabelSelector: "component=etcd,tier=control-plane"})
	if err != nil {
		return nil, fmt.Errorf("look for etcd's members: %w", err)
	}
	var urls []string
	for i := range pods.Items {
		if url := pods.Items[i].Annotations[etcdClientURLs]; url != "" {
			urls = append(urls, url)
		}
	}
	if len(urls) == 0 {
		return nil, errors.New("the cluster has no etcd member to join")
	}
	slices.Sort(urls)
	return urls, nil
}
