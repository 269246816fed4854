package preflight

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

var (
	networkOperator = types.NamespacedName{Namespace: "openshift-network-operator", Name: "network-operator"}
	ovnkubeNode     = types.NamespacedName{Namespace: "openshift-ovn-kubernetes", Name: "ovnkube-node"}
)

// exists reads an object, and is a problem where there is none.
func (l *look) exists(ctx context.Context, kind string, name types.NamespacedName, into client.Object) ([]string, error) {
	err := l.Get(ctx, name, into)
	if apierrors.IsNotFound(err) {
		return []string{fmt.Sprintf("%s %s doesn't exist", kind, name)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	return nil, nil
}

func ovnKubernetes(ctx context.Context, l *look) ([]string, error) {
	key := func(name, key string) func() ([]string, error) {
		return func() ([]string, error) {
			data := &corev1.ConfigMap{}
			full := types.NamespacedName{Namespace: ovnkubeNode.Namespace, Name: name}
			problems, err := l.exists(ctx, "ConfigMap", full, data)
			if err == nil && len(problems) == 0 && data.Data[key] == "" {
				problems = []string{fmt.Sprintf("ConfigMap %s has no %s", full, key)}
			}
			return problems, err
		}
	}
	return all(
		func() ([]string, error) { return l.exists(ctx, "Deployment", networkOperator, &appsv1.Deployment{}) },
		func() ([]string, error) {
			set := &appsv1.DaemonSet{}
			problems, err := l.exists(ctx, "DaemonSet", ovnkubeNode, set)
			edited := func(c corev1.Container) bool { return c.Name == "ovnkube-controller" } // in the copy for DPUs
			if err == nil && len(problems) == 0 && !slices.ContainsFunc(set.Spec.Template.Spec.Containers, edited) {
				problems = []string{fmt.Sprintf("DaemonSet %s has no container ovnkube-controller", ovnkubeNode)}
			}
			return problems, err
		},
		key("ovnkube-config", "ovnkube.conf"),
		key("ovnkube-script-lib", "ovnkube-lib.sh"),
	)
}

// Networks of a cluster, as it was installed.
type Networks struct {
	Machine, Cluster, Service []netip.Prefix
}

// Machines is the range of IPv4 of the cluster's machines.
func Machines(ctx context.Context, reader client.Reader) (none netip.Prefix, _ error) {
	networks, err := ReadNetworks(ctx, reader)
	if err != nil {
		return none, err
	}
	for _, machines := range networks.Machine {
		if machines.Addr().Is4() {
			return machines, nil
		}
	}
	return none, fmt.Errorf("machineNetwork %s of ConfigMap kube-system/cluster-config-v1 has no range of IPv4", networks.Machine)
}

// ReadNetworks reads those that ConfigMap kube-system/cluster-config-v1 has. Where there is none, the error is NotFound.
func ReadNetworks(ctx context.Context, reader client.Reader) (n Networks, _ error) {
	config := &corev1.ConfigMap{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "cluster-config-v1"}, config); err != nil {
		return n, fmt.Errorf("read how the cluster was installed: %w", err)
	}
	var install struct {
		Networking struct {
			MachineNetwork, ClusterNetwork []struct{ CIDR netip.Prefix }
			ServiceNetwork                 []netip.Prefix
			MachineCIDR                    netip.Prefix // of old installers
		}
	}
	if err := yaml.Unmarshal([]byte(config.Data["install-config"]), &install); err != nil {
		return n, fmt.Errorf("read install-config of ConfigMap kube-system/cluster-config-v1: %w", err)
	}
	for _, m := range install.Networking.MachineNetwork {
		n.Machine = append(n.Machine, m.CIDR)
	}
	if old := install.Networking.MachineCIDR; len(n.Machine) == 0 && old.IsValid() {
		n.Machine = append(n.Machine, old)
	}
	for _, c := range install.Networking.ClusterNetwork {
		n.Cluster = append(n.Cluster, c.CIDR)
	}
	n.Service = install.Networking.ServiceNetwork
	return n, nil
}

func (l *look) networks(ctx context.Context) (n Networks, problems []string, _ error) {
	n, err := ReadNetworks(ctx, l)
	if apierrors.IsNotFound(err) {
		return n, []string{"ConfigMap kube-system/cluster-config-v1 doesn't exist"}, nil
	}
	if err == nil && len(n.Machine) == 0 {
		problems = []string{"install-config of ConfigMap kube-system/cluster-config-v1 has no machineNetwork"}
	}
	return n, problems, err
}

func topology(ctx context.Context, l *look) ([]string, error) {
	networks, problems, err := l.networks(ctx)
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	nodes, err := l.nodes()
	if err != nil {
		return nil, err
	}
	for _, host := range l.config.Spec.HostNetworkConfiguration.Hosts {
		node := nodes[string(host.HostClusterNodeName)]
		if node == nil {
			continue // hosts says so
		}
		inside := slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
			ip, err := netip.ParseAddr(a.Address)
			return err == nil && a.Type == corev1.NodeInternalIP &&
				slices.ContainsFunc(networks.Machine, func(p netip.Prefix) bool { return p.Contains(ip) })
		})
		if !inside {
			problems = append(problems, fmt.Sprintf("node %s has no InternalIP in %s", node.Name, networks.Machine))
		}
	}
	return problems, nil
}

func ranges(ctx context.Context, l *look) ([]string, error) {
	networks, problems, err := l.networks(ctx)
	if err != nil || len(problems) > 0 {
		return nil, err // topology says so
	}
	cidr, err := netip.ParsePrefix(l.config.Spec.HostNetworkConfiguration.CIDR)
	if err != nil {
		return []string{err.Error()}, nil //nolint:nilerr // it is what is wrong
	}
	for _, used := range []struct {
		name     string
		prefixes []netip.Prefix
	}{{"machineNetwork", networks.Machine}, {"clusterNetwork", networks.Cluster}, {"serviceNetwork", networks.Service}} {
		for _, prefix := range used.prefixes {
			if prefix.Overlaps(cidr) {
				problems = append(problems, fmt.Sprintf("CIDR %s overlaps %s %s", cidr, used.name, prefix))
			}
		}
	}
	return problems, nil
}

func hasDPU(node *corev1.Node) bool { return node.Labels[operatorv1.DPUEnabledLabel] == "true" }

func detected(_ context.Context, l *look) ([]string, error) {
	nodes, err := l.nodes()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if hasDPU(node) {
			return nil, nil
		}
	}
	return []string{"no node has the label " + operatorv1.DPUEnabledLabel + "=true"}, nil
}

func hosts(_ context.Context, l *look) (problems []string, _ error) {
	return l.eachHost(func(name string, node *corev1.Node) string {
		if node == nil {
			return fmt.Sprintf("node %s doesn't exist", name)
		}
		return ""
	})
}

func labelled(_ context.Context, l *look) (problems []string, _ error) {
	return l.eachHost(func(name string, node *corev1.Node) string {
		if node != nil && !hasDPU(node) {
			return fmt.Sprintf("node %s doesn't have the label %s=true", name, operatorv1.DPUEnabledLabel)
		}
		return ""
	})
}

// eachHost of the configuration, with its node, which is nil where there is none.
func (l *look) eachHost(problem func(name string, node *corev1.Node) string) (problems []string, _ error) {
	nodes, err := l.nodes()
	if err != nil {
		return nil, err
	}
	for _, host := range l.config.Spec.HostNetworkConfiguration.Hosts {
		if text := problem(string(host.HostClusterNodeName), nodes[string(host.HostClusterNodeName)]); text != "" {
			problems = append(problems, text)
		}
	}
	return problems, nil
}

func entries(_ context.Context, l *look) (problems []string, _ error) {
	nodes, err := l.nodes()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, host := range l.config.Spec.HostNetworkConfiguration.Hosts {
		known[string(host.HostClusterNodeName)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if hasDPU(nodes[name]) && !known[name] {
			problems = append(problems, fmt.Sprintf("node %s has no entry", name))
		}
	}
	return problems, nil
}

// dpus are looked for in all DPU clusters. A node that none of those that answer has may be in one that doesn't: that isn't known.
func dpus(ctx context.Context, l *look) (problems []string, unknown error) {
	in := map[string][]string{} // clusters by node
	for _, cluster := range l.clusters {
		err := cluster.Err
		if err == nil {
			empty := func() *metav1.PartialObjectMetadataList { return metadata(corev1.SchemeGroupVersion.WithKind("Node")) }
			err = pages(ctx, cluster.Reader, empty, func(list *metav1.PartialObjectMetadataList) {
				for _, node := range list.Items {
					in[node.Name] = append(in[node.Name], cluster.Name.String())
				}
			})
		}
		if err != nil && unknown == nil {
			unknown = fmt.Errorf("DPU cluster %s: %w", cluster.Name, err)
		}
	}
	for _, host := range l.config.Spec.HostNetworkConfiguration.Hosts {
		name := string(host.DPUClusterNodeName)
		switch found := in[name]; {
		case len(found) > 1:
			problems = append(problems, fmt.Sprintf("node %s is in the DPU clusters %s", name, strings.Join(found, " and ")))
		case len(found) == 0 && unknown == nil:
			problems = append(problems, fmt.Sprintf("node %s is in none of %d DPU clusters", name, len(l.clusters)))
		}
	}
	return problems, unknown
}
