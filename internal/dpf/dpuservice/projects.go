package dpuservice

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/naming"
)

// Argo CD deploys with its own rights, mostly those of an administrator: only the AppProject keeps who may create DPUServices from having
// them, too. So each namespace has projects of its own, which let its DPUServices into the namespace of the same name, and nowhere else.
// Those of the operator's namespace may deploy anything: its components need it.

// hostKinds are what a DPUService of a user may deploy in the host cluster. None gives rights, is a Pod that is admitted by the rights of
// its creator, or tells another operator to do something: a list of what is forbidden would miss some.
var hostKinds = kinds("/ConfigMap", "/PersistentVolumeClaim", "/Secret", "/Service", "/ServiceAccount",
	"apps/DaemonSet", "apps/Deployment", "apps/StatefulSet", "autoscaling/HorizontalPodAutoscaler", "batch/CronJob", "batch/Job",
	"networking.k8s.io/Ingress", "networking.k8s.io/NetworkPolicy", "policy/PodDisruptionBudget", "route.openshift.io/Route")

func kinds(names ...string) (all []any) {
	for _, name := range names {
		group, kind, _ := strings.Cut(name, "/")
		all = append(all, map[string]any{"group": group, "kind": kind})
	}
	return all
}

// projectName of the Applications of a namespace in a cluster.
func (c Config) projectName(namespace string, cluster types.NamespacedName) string {
	name := ProjectDPU
	if cluster == host {
		name = ProjectHost
	}
	if namespace == c.Namespace {
		return name
	}
	return naming.Unique(naming.Label, name+"-"+namespace, name, namespace)
}

// destination in a cluster.
func destination(cluster types.NamespacedName, namespace string) map[string]any {
	if cluster == host {
		return map[string]any{"server": hostServer, "namespace": namespace}
	}
	return map[string]any{"name": clusterSecretName(cluster), "namespace": namespace}
}

// projects of a namespace: for some DPU clusters, and for the host cluster.
func (c Config) projects(namespace string, clusters []types.NamespacedName) []*unstructured.Unstructured {
	into := namespace
	if namespace == c.Namespace {
		into = "*"
	}
	destinations := []any{}
	for _, cluster := range clusters {
		destinations = append(destinations, destination(cluster, into))
	}
	onHost := c.appProject(namespace, host, []any{destination(host, into)})
	if namespace != c.Namespace {
		onHost.Object["spec"].(map[string]any)["namespaceResourceWhitelist"] = hostKinds
	}
	return []*unstructured.Unstructured{c.appProject(namespace, types.NamespacedName{}, destinations), onHost}
}

func (c Config) appProject(namespace string, cluster types.NamespacedName, destinations []any) *unstructured.Unstructured {
	spec := map[string]any{"description": "What DPUServices in " + namespace + " deploy", "destinations": destinations}
	if namespace == c.Namespace {
		spec["sourceRepos"], spec["clusterResourceWhitelist"] = []any{"*"}, kinds("*/*")
	} else { // and no objects without a namespace: what isn't listed isn't permitted
		spec["sourceRepos"] = c.sourceRepos()
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(ProjectKind)
	o.SetNamespace(c.Namespace)
	o.SetName(c.projectName(namespace, cluster))
	o.SetLabels(map[string]string{managedLabel: managed})
	return o
}

// confine the Applications that a service has to their project, also if they can't be written as the spec says: a user makes it so by an
// interface that doesn't exist, and an earlier release has put them into a project that permits everything.
func (r *reconciler) confine(ctx context.Context, service *svcv1.DPUService) error {
	all, err := r.applications(ctx, r.cached, service)
	if err != nil {
		return err
	}
	var problems []error
	for i := range all {
		a := all[i].DeepCopy()
		cluster := types.NamespacedName{}
		if service.Spec.DeployInCluster {
			cluster = host
		}
		project := r.projectName(service.Namespace, cluster)
		if now, _, _ := unstructured.NestedString(a.Object, "spec", "project"); now == project || a.GetDeletionTimestamp() != nil {
			continue
		}
		problems = append(problems, r.change(ctx, a, func() {
			a.Object["spec"].(map[string]any)["project"] = project
			unstructured.RemoveNestedField(a.Object, "spec", "syncPolicy", "syncOptions") // CreateNamespace isn't permitted there
		}))
	}
	return joined(problems)
}

// admits says why a project of ours doesn't let the Applications of a namespace into a cluster; "" if it does.
func (r *reconciler) admits(ctx context.Context, namespace string, cluster types.NamespacedName) (string, error) {
	now, name := empty(ProjectKind), r.projectName(namespace, cluster)
	err := r.cached.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name}, now)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read AppProject %s: %w", name, err)
	}
	want := destination(cluster, namespace)
	if namespace == r.Namespace {
		want["namespace"] = "*"
	}
	destinations, _, _ := unstructured.NestedSlice(now.Object, "spec", "destinations")
	for _, d := range destinations {
		if now.GetLabels()[managedLabel] == managed && equality.Semantic.DeepEqual(d, want) {
			return "", nil
		}
	}
	return fmt.Sprintf("AppProject %s doesn't let Applications into %s", name, cluster), nil
}

func (p *prerequisites) project(ctx context.Context, want *unstructured.Unstructured) error {
	now := empty(ProjectKind)
	err := p.cached.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err):
		err = p.Create(ctx, want)
	case err != nil:
	case now.GetLabels()[managedLabel] != managed:
		return fmt.Errorf("AppProject %s isn't ours: rename or delete it", want.GetName())
	case equality.Semantic.DeepEqual(now.Object["spec"], want.Object["spec"]):
		return nil
	default:
		now = now.DeepCopy()
		before := now.DeepCopy()
		now.Object["spec"] = want.Object["spec"]
		err = p.Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return fmt.Errorf("write AppProject %s: %w", want.GetName(), err)
	}
	return nil
}

// removeProjects of ours that aren't wanted: their namespaces have no DPUServices any more, and no Applications.
func (p *prerequisites) removeProjects(ctx context.Context, wanted map[string]bool) error {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(ProjectKind.GroupVersion().WithKind("AppProjectList"))
	if err := p.cached.List(ctx, all, client.InNamespace(p.Namespace), client.MatchingLabels{managedLabel: managed}); err != nil {
		return fmt.Errorf("list the AppProjects: %w", err)
	}
	var problems []error
	for i := range all.Items {
		o := &all.Items[i]
		if wanted[o.GetName()] {
			continue
		}
		uid := o.GetUID()
		if err := p.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("delete AppProject %s: %w", o.GetName(), err))
		}
	}
	return joined(problems)
}
