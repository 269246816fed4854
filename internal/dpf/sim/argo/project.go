package argo

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// project says what its Applications may do.
type project struct {
	*unstructured.Unstructured
}

func (a *Argo) project(ctx context.Context, app *unstructured.Unstructured) (project, error) {
	name, _, _ := unstructured.NestedString(app.Object, "spec", "project")
	p := project{&unstructured.Unstructured{}}
	p.SetGroupVersionKind(projectKind)
	if err := a.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: name}, p.Unstructured); err != nil {
		return p, fmt.Errorf("application references project %s which does not exist: %w", name, err)
	}
	return p, nil
}

// application is permitted by its source and its destination.
func (p project) application(app *unstructured.Unstructured) error {
	repo, _, _ := unstructured.NestedString(app.Object, "spec", "source", "repoURL")
	repos, _, _ := unstructured.NestedStringSlice(p.Object, "spec", "sourceRepos")
	if !slices.ContainsFunc(repos, func(pattern string) bool { return matches(pattern, repo) }) {
		return fmt.Errorf("application repo %s is not permitted in project '%s'", repo, p.GetName())
	}
	to, _, _ := unstructured.NestedString(app.Object, "spec", "destination", "namespace")
	if !p.destination(app, to) {
		return fmt.Errorf("application destination namespace %s is not permitted in project %s", to, p.GetName())
	}
	return nil
}

func matches(pattern, text string) bool {
	if prefix, all := strings.CutSuffix(pattern, "**"); all {
		return strings.HasPrefix(text, prefix)
	}
	is, _ := path.Match(pattern, text)
	return is || pattern == "*"
}

// destination of an Application's cluster and a namespace.
func (p project) destination(app *unstructured.Unstructured, namespace string) bool {
	to, _, _ := unstructured.NestedStringMap(app.Object, "spec", "destination")
	allowed, _, _ := unstructured.NestedSlice(p.Object, "spec", "destinations")
	return slices.ContainsFunc(allowed, func(d any) bool {
		fields := d.(map[string]any)
		return fields["name"] == orNil(to["name"]) && fields["server"] == orNil(to["server"]) && matches(fields["namespace"].(string), namespace)
	})
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// object is permitted by its kind, and where it is.
func (p project) object(to client.Client, app, o *unstructured.Unstructured) error {
	namespaced, err := to.IsObjectNamespaced(o)
	if err != nil {
		return fmt.Errorf("look for the kind %s: %w", o.GetKind(), err)
	}
	list := "clusterResourceWhitelist"
	if namespaced {
		list = "namespaceResourceWhitelist"
	}
	kind := o.GroupVersionKind()
	kinds, _, _ := unstructured.NestedSlice(p.Object, "spec", list)
	permitted := namespaced && len(kinds) == 0 || slices.ContainsFunc(kinds, func(k any) bool {
		fields := k.(map[string]any)
		return matches(fields["group"].(string), kind.Group) && matches(fields["kind"].(string), kind.Kind)
	})
	if !permitted {
		return fmt.Errorf("resource %s:%s is not permitted in project %s", kind.Group, kind.Kind, p.GetName())
	}
	if namespaced && !p.destination(app, o.GetNamespace()) {
		return fmt.Errorf("namespace %s is not permitted in project %s", o.GetNamespace(), p.GetName())
	}
	return nil
}
