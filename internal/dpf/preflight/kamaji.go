package preflight

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var tenantControlPlane = schema.GroupVersionKind{Group: "kamaji.clastix.io", Version: "v1alpha1", Kind: "TenantControlPlane"}

func kamaji(ctx context.Context, l *look) ([]string, error) {
	return all(
		func() ([]string, error) { return l.missing(tenantControlPlane) },
		func() ([]string, error) {
			return l.workload(ctx, "", client.MatchingLabels{"app.kubernetes.io/name": "kamaji"}, false)
		},
	)
}

// tenants are all TenantControlPlanes: none, where there is no such kind.
func (l *look) tenants(ctx context.Context) ([]unstructured.Unstructured, error) {
	var tenants []unstructured.Unstructured
	empty := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(tenantControlPlane.GroupVersion().WithKind("TenantControlPlaneList"))
		return list
	}
	err := pages(ctx, l, empty, func(list *unstructured.UnstructuredList) { tenants = append(tenants, list.Items...) })
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	return tenants, err
}

func text(o unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, fields...)
	return value
}

func tenant(ctx context.Context, l *look) (problems []string, _ error) {
	tenants, err := l.tenants(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tenants {
		status := text(t, "status", "kubernetesResources", "version", "status")
		if status == "Ready" {
			return nil, nil
		}
		problems = append(problems, fmt.Sprintf("TenantControlPlane %s is %q", client.ObjectKeyFromObject(&t), status))
	}
	if len(problems) == 0 {
		problems = []string{"there is no TenantControlPlane"}
	}
	return problems, nil
}

func connection(ctx context.Context, l *look) (problems []string, _ error) {
	tenants, err := l.tenants(ctx)
	if err != nil {
		return nil, err
	}
	known := []string{string(corev1.ServiceTypeLoadBalancer), string(corev1.ServiceTypeClusterIP)}
	for _, t := range tenants {
		name := client.ObjectKeyFromObject(&t)
		if kind := text(t, "spec", "controlPlane", "service", "serviceType"); !slices.Contains(known, kind) {
			problems = append(problems, fmt.Sprintf("TenantControlPlane %s has a Service of type %q", name, kind))
		}
		if text(t, "status", "controlPlaneEndpoint") == "" {
			problems = append(problems, fmt.Sprintf("TenantControlPlane %s has no endpoint", name))
		}
	}
	return problems, nil
}
