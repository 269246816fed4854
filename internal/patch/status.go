package patch

import (
	"context"
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxOperations of a JSON patch: where more than these differ, the whole is about as short. The API server takes 10,000.
const maxOperations = 1000

// Status writes the differences in the status alone, under the same lock as All, and of a list the items that differ instead of all: it is
// for an object with a long one.
func Status(ctx context.Context, c client.Client, before, after client.Object) error {
	old, now, err := fields(before, after)
	if err != nil {
		return err
	}
	operations, err := differences(old["status"], now["status"])
	if err != nil {
		return fmt.Errorf("compare the status of %s: %w", client.ObjectKeyFromObject(after), err)
	}
	if was, _ := old["status"].(map[string]any); len(was) == 0 || len(operations) > maxOperations {
		return All(ctx, c, before, after)
	}
	if len(operations) == 0 {
		return nil
	}
	operations = append(operations, jsonpatch.NewOperation("replace", "/metadata/resourceVersion", after.GetResourceVersion()))
	data, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("encode the status of %s: %w", client.ObjectKeyFromObject(after), err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	answer := after.DeepCopyObject().(client.Object)
	err = c.Status().Patch(ctx, answer, client.RawPatch(types.JSONPatchType, data))
	if apierrors.IsInvalid(err) { // of an older object a place may be missing: All says whether that is a conflict
		return All(ctx, c, before, after)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the status of %s: %w", client.ObjectKeyFromObject(after), err)
	}
	after.SetResourceVersion(answer.GetResourceVersion())
	return nil
}

func differences(old, now any) ([]jsonpatch.Operation, error) {
	before, err := json.Marshal(map[string]any{"status": old})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(map[string]any{"status": now})
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreatePatch(before, after)
}
