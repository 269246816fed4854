package controller_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// makeAgain deletes an object and makes another one of its name and spec.
func (f *fixture) makeAgain(ctx context.Context, o client.Object) error {
	now := o.DeepCopyObject().(client.Object)
	if err := f.client.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
		return err
	}
	again, base := now.DeepCopyObject().(client.Object), now.DeepCopyObject().(client.Object)
	now.SetFinalizers(nil)
	again.SetFinalizers(nil)
	again.SetResourceVersion("")
	again.SetUID("")
	return errors.Join(
		f.client.Patch(ctx, now, client.MergeFrom(base)), f.client.Delete(ctx, now), f.client.Create(ctx, again))
}

// statusOf an object, as it is stored.
func (f *fixture) statusOf(ctx context.Context, o client.Object) (status map[string]any, err error) {
	stored := &unstructured.Unstructured{}
	kind, err := f.client.GroupVersionKindFor(o)
	if err != nil {
		return nil, err
	}
	stored.SetGroupVersionKind(kind)
	err = f.client.Get(ctx, client.ObjectKeyFromObject(o), stored)
	status, _, _ = unstructured.NestedMap(stored.Object, "status")
	return status, err
}

// A status is about one object. Another one of its name, made between the read and the write, would be called attached, by a lease
// that isn't its own.
func TestStatus_isRefusedByAnotherObjectOfTheName(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(client.Object) bool{
		"the promise of a lease": func(o client.Object) bool {
			host, is := o.(*resourcev1.ManagedResource)
			return is && host.Status.LeaseExpires != nil
		},
		"a host": func(o client.Object) bool {
			host, is := o.(*resourcev1.ManagedResource)
			return is && meta.FindStatusCondition(host.Status.Conditions, resourcev1.ReadyCondition) != nil
		},
		"a group": func(o client.Object) bool {
			_, is := o.(*resourcev1.ResourceGroup)
			return is
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			type outcome struct {
				refused, failed error
				status          map[string]any // of the other object
			}
			outcomes, once := make(chan outcome, 1), sync.Once{}
			f.faults.SubResourcePatch = func(
				ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
			) (err error) {
				write := func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) }
				if !of(o) {
					return write()
				}
				first := false
				once.Do(func() {
					got := outcome{failed: f.makeAgain(ctx, o)}
					key := o.DeepCopyObject().(client.Object)
					got.refused, first = write(), true
					status, failed := f.statusOf(ctx, key)
					got.status, got.failed = status, errors.Join(got.failed, failed)
					err = got.refused
					outcomes <- got
				})
				if first {
					return err
				}
				return write()
			}
			f.run()
			f.group("blue")
			f.agent(2)
			host := f.host("blue", 2)
			got := outcome{}
			f.Eventually(outcomes).Should(Receive(&got))
			f.Expect(got.failed).NotTo(HaveOccurred())
			f.Expect(got.refused).To(MatchError(apierrors.IsConflict, "a conflict"))
			f.Expect(got.status).To(BeEmpty())
			f.becomes(host, resourcev1.AcceptedCondition, metav1.ConditionTrue, "")
		})
	}
}
