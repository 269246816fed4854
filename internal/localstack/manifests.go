package localstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

const (
	fieldOwner     = client.FieldOwner("bedplate-lab")
	installers     = 4               // parallel requests: CRDs cost the API server much work
	discoveredIn   = 3 * time.Minute // seven labs at once have needed more than one
	discoveryCheck = 100 * time.Millisecond
	discoveryCall  = 5 * time.Second
)

// overload is how often and in which intervals an overloaded API server is asked again. It takes a minute to say that it is.
var overload = wait.Backoff{Steps: 5, Duration: time.Second, Factor: 2}

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
		err := retry.OnError(overload, overloaded, func() error {
			return s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// overloaded is an answer of an API server that has too much to do on a busy computer, or whose webhook has. What was asked for may have
// been done.
func overloaded(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err)
}

// create creates an object that isn't there yet. An attempt whose answer says that the API server is overloaded may have created it.
func create(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	tried := false
	return retry.OnError(overload, overloaded, func() error {
		err := c.Create(ctx, object)
		if tried && apierrors.IsAlreadyExists(err) {
			return nil
		}
		tried = true
		return err
	})
}

// install creates objects in the management cluster.
func (s *Stack) install(ctx context.Context, objects []*unstructured.Unstructured) error {
	return install(ctx, s.client, s.AdminConfig(), objects)
}

// install creates objects, namespaces first, and waits until discovery lists the kinds of the CRDs among them.
func install(ctx context.Context, c client.Client, server *rest.Config, objects []*unstructured.Unstructured) error {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	split := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return rank(o) > 0 })
	for _, part := range [][]*unstructured.Unstructured{objects[:max(split, 0)], objects[max(split, 0):]} {
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(installers)
		for _, object := range part {
			group.Go(func() error {
				if err := create(groupCtx, c, object); err != nil {
					return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return discovered(ctx, server, onlyKinds(slices.Clone(objects), "CustomResourceDefinition"))
}

func rank(object *unstructured.Unstructured) int {
	if object.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

// discovered waits until the API server's discovery lists all kinds of CRDs. That comes later than their condition Established,
// and a manager that starts in between ends with "no matches for kind".
func discovered(ctx context.Context, server *rest.Config, crds []*unstructured.Unstructured) error {
	kinds, err := servedKinds(crds)
	if err != nil || len(kinds) == 0 {
		return err
	}
	config := rest.CopyConfig(server)
	config.Timeout = discoveryCall // its calls know no context
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("client for discovery: %w", err)
	}
	missing, last := kinds, error(nil)
	err = wait.PollUntilContextTimeout(ctx, discoveryCheck, discoveredIn, true, func(context.Context) (bool, error) {
		var lists []*metav1.APIResourceList
		if _, lists, last = api.ServerGroupsAndResources(); last == nil || discovery.IsGroupDiscoveryFailedError(last) {
			missing = unlisted(kinds, lists)
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until discovery lists %v: %w", missing, errors.Join(err, last))
	}
	return nil
}

// servedKinds are all kinds, with their versions, that CRDs serve.
func servedKinds(crds []*unstructured.Unstructured) (kinds []schema.GroupVersionKind, _ error) {
	for _, object := range crds {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", object.GetName(), err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Served {
				kinds = append(kinds, schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind})
			}
		}
	}
	return kinds, nil
}

// unlisted are those of the kinds that no list of discovery has.
func unlisted(kinds []schema.GroupVersionKind, lists []*metav1.APIResourceList) []schema.GroupVersionKind {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind schema.GroupVersionKind) bool {
		return slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
			return list.GroupVersion == kind.GroupVersion().String() && slices.ContainsFunc(list.APIResources,
				func(r metav1.APIResource) bool { return r.Kind == kind.Kind })
		})
	})
}
