package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/kubectl/pkg/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply reads the result of a dry run of an object into a typed one.
func (p *planner) apply(ctx context.Context, wanted *unstructured.Unstructured, into client.Object) (isNew bool, err error) {
	result, isNew, err := p.dryRun(ctx, wanted)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(result.Object, into)
	}
	if err != nil {
		return false, p.explain(wanted, err)
	}
	return isNew, nil
}

// dryRun lets the API server default, validate and admit an object as `kubectl apply` would send it: as a new one, or merged
// into the existing one, whose ledger and status stay.
func (p *planner) dryRun(
	ctx context.Context, wanted *unstructured.Unstructured,
) (result *unstructured.Unstructured, isNew bool, err error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err = p.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	if apierrors.IsNotFound(err) {
		result = wanted.DeepCopy()
		return result, true, p.Create(ctx, result)
	}
	if err != nil {
		return nil, false, err
	}
	if manager := serverSideManager(live); live.GetAnnotations()[corev1.LastAppliedConfigAnnotation] == "" && manager != "" {
		result = wanted.DeepCopy()
		return result, false, p.Apply(ctx, client.ApplyConfigurationFromUnstructured(result), client.FieldOwner(manager))
	}
	patch, err := clientSidePatch(wanted, live)
	if err != nil {
		return nil, false, err
	}
	return live, false, p.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch))
}

// serverSideManager is the field manager that has applied an object server-side: fields missing from the file count as
// removed only for the same manager. It is empty if there is none but Bedplate's managers, which apply what isn't in files.
func serverSideManager(live *unstructured.Unstructured) string {
	for _, entry := range live.GetManagedFields() {
		own := strings.HasPrefix(entry.Manager, "bedplate-")
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && !own {
			return entry.Manager
		}
	}
	return ""
}

// clientSidePatch is what `kubectl apply` sends. The file's side of the merge has the annotation of what is applied now: without
// it the annotations of the live object would be those of a file that wants none.
func clientSidePatch(wanted, live *unstructured.Unstructured) ([]byte, error) {
	before, err := util.GetOriginalConfiguration(live)
	if err != nil {
		return nil, err
	}
	modified, err := util.GetModifiedConfiguration(wanted.DeepCopy(), true, unstructured.UnstructuredJSONScheme)
	if err != nil {
		return nil, err
	}
	current, err := runtime.Encode(unstructured.UnstructuredJSONScheme, live)
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(before, modified, current)
}

// explain says what a refusal means for the author of the file.
func (p *planner) explain(object *unstructured.Unstructured, err error) error {
	what := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%s: the management cluster doesn't know %s %s: install the provider first "+
			"(kubectl apply -k config/%s/default)", what, object.GetAPIVersion(), object.GetKind(), p.system.Name)
	case isMissingNamespace(err):
		return fmt.Errorf("%s: namespace %q does not exist: create it first, dry runs need it", what, object.GetNamespace())
	}
	return fmt.Errorf("%s can't be applied: %w", what, err)
}

func isMissingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}
