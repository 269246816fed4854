package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// looked at are all kinds that DPF makes or changes objects of; and of the DPU cluster those that services and their secrets are of.
var (
	onHost = []string{
		"v1/ConfigMap", "v1/Node", "v1/PersistentVolume", "v1/PersistentVolumeClaim", "v1/Secret", "v1/Service", "v1/ServiceAccount",
		"apps/v1/DaemonSet", "apps/v1/Deployment", "apps/v1/StatefulSet", "config.openshift.io/v1/ClusterVersion",
		"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
		"rbac.authorization.k8s.io/v1/RoleBinding", "argoproj.io/v1alpha1/Application", "argoproj.io/v1alpha1/AppProject",
		"cert-manager.io/v1/Certificate", "cert-manager.io/v1/Issuer",
	}
	onDPUs = []string{"v1/Node", "v1/Secret", "apps/v1/DaemonSet", "apps/v1/Deployment"}
)

// settle waits until all Pods run, and nothing changes from one look to the next.
func (p *Platform) settle(ctx context.Context) error {
	for {
		var now map[string]string
		err := p.unsettled(ctx)
		if err == nil {
			now, err = p.snapshot(ctx)
		}
		if err == nil {
			if p.before != nil && len(changed(p.before, now)) == 0 {
				return nil
			}
			p.before = now
		}
		if !pause(ctx) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// unsettled says what isn't as it is in a cluster at rest. A node has a taint until its kubelet has reported, in either cluster.
func (p *Platform) unsettled(ctx context.Context) error {
	hosts, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := errors.Join(p.ocp.List(ctx, hosts), p.ocp.List(ctx, pods)); err != nil {
		return err
	}
	nodes := hosts.Items
	for _, c := range p.dpus {
		dpus := &corev1.NodeList{}
		if err := c.List(ctx, dpus); err != nil {
			return err
		}
		nodes = append(nodes, dpus.Items...)
	}
	for _, n := range nodes {
		if len(n.Spec.Taints) > 0 {
			return fmt.Errorf("node %s isn't ready", n.Name)
		}
	}
	for _, n := range hosts.Items {
		if n.Annotations["k8s.ovn.org/node-chassis-id"] == "" {
			return fmt.Errorf("node %s has no network", n.Name)
		}
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s doesn't run", pod.Name)
		}
	}
	for _, c := range p.dpus {
		dpus := &corev1.NodeList{}
		if err := c.List(ctx, dpus); err != nil {
			return err
		}
		for _, n := range dpus.Items {
			if len(n.Spec.Taints) > 0 {
				return fmt.Errorf("node %s isn't ready", n.Name)
			}
		}
	}
	return nil
}

// snapshot of all objects without their statuses, and without what every write changes.
func (p *Platform) snapshot(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := add(ctx, all, p.ocp, "", onHost)
	for i, c := range p.dpus {
		err = errors.Join(err, add(ctx, all, c, fmt.Sprintf("DPU cluster %d: ", i+1), onDPUs))
	}
	return all, err
}

func add(ctx context.Context, all map[string]string, c client.Client, prefix string, kinds []string) error {
	for _, kind := range kinds {
		i := strings.LastIndex(kind, "/")
		version, err := schema.ParseGroupVersion(kind[:i])
		if err != nil {
			return err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(version.WithKind(kind[i+1:] + "List"))
		if err := c.List(ctx, list); err != nil {
			return fmt.Errorf("list %s: %w", kind, err)
		}
		for _, o := range list.Items {
			name := prefix + kind[i+1:] + " " + strings.TrimPrefix(client.ObjectKeyFromObject(&o).String(), "/")
			text, err := json.Marshal(wanted(&o))
			if err != nil {
				return fmt.Errorf("encode %s: %w", name, err)
			}
			all[name] = string(text)
		}
	}
	return nil
}

// wanted is what users and controllers want of an object.
func wanted(o *unstructured.Unstructured) map[string]any {
	for _, field := range []string{"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	for _, annotation := range []string{"deprecated.daemonset.template.generation", "deployment.kubernetes.io/revision"} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", annotation)
	}
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	delete(o.Object, "status")
	return o.Object
}

// changed are the names of the objects that two snapshots differ in.
func changed(before, now map[string]string) []string {
	names := []string{}
	for name := range now {
		if before[name] != now[name] {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(before) {
		if _, has := now[name]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
