package dpuservice

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// Two long names that begin alike are two releases: as one, each would delete what the other deploys.
func TestApplication_longNamesStayTwoReleases(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seen := map[string]string{}
	for _, name := range []string{
		"s", strings.Repeat("a", 53), strings.Repeat("a", 53) + "-x", strings.Repeat("a", 53) + "-y", strings.Repeat("a", 52) + ".x" + strings.Repeat("b", 190),
	} {
		service := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: "users", Name: name}}
		a := Config{Namespace: "argo"}.application(service, types.NamespacedName{Namespace: "dpus", Name: "a"}, nil)
		release, _, _ := unstructured.NestedString(a.Object, "spec", "source", "helm", "releaseName")
		g.Expect(len(release)).To(BeNumerically("<=", 53))
		g.Expect(validation.IsDNS1123Subdomain(release)).To(BeEmpty())
		g.Expect(seen).NotTo(HaveKey(release), "%s and %s", seen[release], name)
		seen[release] = name
	}
	g.Expect(seen).To(HaveKey("s"))
}

// The message of a sync of which an object isn't permitted doesn't say which, nor why.
func TestApplication_saysWhichObjectsWereRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	result := func(name, status, message string) any {
		return map[string]any{"kind": "Role", "name": name, "status": status, "message": message}
	}
	results := []any{result("a", "Synced", "role/a created")}
	for _, name := range []string{"b", "c", "d", "e"} {
		results = append(results, result(name, "SyncFailed", "it is not permitted"))
	}
	a := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"operationState": map[string]any{
		"message": "one or more synchronization tasks are not valid", "syncResult": map[string]any{"resources": results}}}}}
	g.Expect(said(a)).To(Equal(": one or more synchronization tasks are not valid, Role b: it is not permitted, " +
		"Role c: it is not permitted, Role d: it is not permitted, and 1 more"))
}

// Nothing is left behind by Applications that are taken for empty: they are deleted without Argo CD.
func TestApplication_isEmptyOnlyIfNothingSaysOtherwise(t *testing.T) {
	t.Parallel()
	status := func(sync string, resources ...any) map[string]any {
		return map[string]any{"sync": map[string]any{"status": sync}, "resources": resources}
	}
	of := func(status string) any { return map[string]any{"kind": "Role", "name": "a", "status": status} }
	for name, row := range map[string]struct {
		object map[string]any
		empty  bool
	}{
		"new":                      {map[string]any{}, true},
		"its cluster is away":      {map[string]any{"status": status("Unknown", of("Unknown"))}, true},
		"adopted":                  {map[string]any{"status": status("Synced", of("Synced"))}, false},
		"adopted in part":          {map[string]any{"status": status("Unknown", of("Unknown"), of("Synced"))}, false},
		"compared":                 {map[string]any{"status": status("OutOfSync", of("OutOfSync"))}, false},
		"with an operation":        {map[string]any{"operation": map[string]any{}}, false},
		"with an operation before": {map[string]any{"status": map[string]any{"operationState": map[string]any{}}}, false},
		"with a history":           {map[string]any{"status": map[string]any{"history": []any{}}}, false},
		"deployed, and away": {map[string]any{"metadata": map[string]any{"annotations": map[string]any{deployedAnnotation: "true"}},
			"status": status("Unknown")}, false},
	} {
		NewWithT(t).Expect(neverSynced(&unstructured.Unstructured{Object: row.object})).To(Equal(row.empty), name)
	}
}
