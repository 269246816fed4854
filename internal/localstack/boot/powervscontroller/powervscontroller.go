// Package powervscontroller stands for a program of IBM's: the cloud controller manager of clusters on Power Virtual Server, which
// initialises Nodes. It does that once the cluster has its DaemonSet, with what that mounts, and by the service instead of by its API.
package powervscontroller

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// What a cluster has of it, in kube-system.
const (
	daemonSet  = "ibmpowervs-cloud-controller-manager"
	configMap  = "ibmpowervs-cloud-config"
	configKey  = "ibmpowervs.conf"
	credential = "ibmpowervs-cloud-credential"
	keyKey     = "ibmcloud_api_key"
)

const interval = time.Second

// Server is a virtual server of the service.
type Server struct {
	ID, WorkspaceID string
	Address         netip.Addr
}

// Lookup finds the server of a name in a workspace, which is given by its ID or its name.
type Lookup func(workspace, name string) (Server, bool)

// Run initialises the Nodes of one cluster until ctx ends. Any number may run beside each other.
func Run(ctx context.Context, client kubernetes.Interface, lookup Lookup, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for said := ""; ; {
		err := sync(ctx, client, lookup)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			log.Warn("cloud controller manager", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func sync(ctx context.Context, client kubernetes.Interface, lookup Lookup) error {
	_, err := client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, daemonSet, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the DaemonSet: %w", err)
	}
	config, err := configuration(ctx, client)
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	var all error
	for i := range nodes.Items {
		if slices.ContainsFunc(nodes.Items[i].Spec.Taints, isUninitialized) {
			all = errors.Join(all, initialize(ctx, client, &nodes.Items[i], config, lookup))
		}
	}
	return all
}

// cloudConfig is the part of the configuration that is used here.
type cloudConfig struct{ region, zone, workspace string }

// configuration is what is mounted for the program.
func configuration(ctx context.Context, client kubernetes.Interface) (cloudConfig, error) {
	secret, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, credential, metav1.GetOptions{})
	if err != nil {
		return cloudConfig{}, fmt.Errorf("read the credentials: %w", err)
	}
	if len(secret.Data[keyKey]) == 0 {
		return cloudConfig{}, fmt.Errorf("the Secret %s has no %s", credential, keyKey)
	}
	mounted, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		return cloudConfig{}, fmt.Errorf("read the configuration: %w", err)
	}
	config := cloudConfig{}
	lines := bufio.NewScanner(strings.NewReader(mounted.Data[configKey]))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "powerVSRegion":
			config.region = value
		case "powerVSZone":
			config.zone = value
		case "powerVSCloudInstanceID", "powerVSCloudInstanceName":
			config.workspace = value
		}
	}
	if config.region == "" || config.zone == "" || config.workspace == "" {
		return config, fmt.Errorf("the ConfigMap %s has not all of region, zone and cloud instance", configMap)
	}
	return config, lines.Err()
}

func isUninitialized(taint corev1.Taint) bool {
	return taint.Key == cloudproviderapi.TaintExternalCloudProvider
}

// initialize a Node whose server is there: its addresses first, then the provider ID, and with that the taint goes.
func initialize(ctx context.Context, client kubernetes.Interface, node *corev1.Node, config cloudConfig, lookup Lookup) error {
	server, found := lookup(config.workspace, node.Name)
	if !found {
		return fmt.Errorf("node %s: workspace %s has no server of that name", node.Name, config.workspace)
	}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: server.Address.String()}, {Type: corev1.NodeHostName, Address: node.Name},
	}
	updated, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("set the addresses of node %s: %w", node.Name, err)
	}
	if updated.Spec.ProviderID == "" {
		updated.Spec.ProviderID = strings.Join([]string{"ibmpowervs:/", config.region, config.zone, server.WorkspaceID, server.ID}, "/")
	}
	updated.Labels[corev1.LabelTopologyRegion], updated.Labels[corev1.LabelTopologyZone] = config.region, config.zone
	updated.Spec.Taints = slices.DeleteFunc(updated.Spec.Taints, isUninitialized)
	if _, err := client.CoreV1().Nodes().Update(ctx, updated, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("initialise node %s: %w", node.Name, err)
	}
	return nil
}
