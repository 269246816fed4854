package localstack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

const (
	fieldOwner     = client.FieldOwner("bedplate-lab")
	installers     = 4 // parallel requests: CRDs cost the API server much work
	establishedIn  = time.Minute
	establishCheck = 100 * time.Millisecond
)

func onlyKinds(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return !slices.Contains(kinds, o.GetKind())
	})
}

// Apply applies the objects of a YAML file as an administrator, in their order.
func (s *Stack) Apply(ctx context.Context, yaml []byte) error {
	objects, err := manifest.Decode(yaml)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// install creates objects, namespaces first, and waits until the CRDs among them are served.
func (s *Stack) install(ctx context.Context, objects []*unstructured.Unstructured) error {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	split := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return rank(o) > 0 })
	for _, part := range [][]*unstructured.Unstructured{objects[:max(split, 0)], objects[max(split, 0):]} {
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(installers)
		for _, object := range part {
			group.Go(func() error { return s.installOne(groupCtx, object) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func rank(object *unstructured.Unstructured) int {
	if object.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

func (s *Stack) installOne(ctx context.Context, object *unstructured.Unstructured) error {
	if err := s.client.Create(ctx, object); err != nil {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	if err := wait.PollUntilContextTimeout(ctx, establishCheck, establishedIn, true, func(ctx context.Context) (bool, error) {
		return s.established(ctx, object.GetName())
	}); err != nil {
		return fmt.Errorf("wait for CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	return nil
}

func (s *Stack) established(ctx context.Context, name string) (bool, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return false, err
	}
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	}), nil
}
