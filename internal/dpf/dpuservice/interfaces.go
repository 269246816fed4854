package dpuservice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

func names(service *svcv1.DPUService, ifc string) bool {
	return slices.Contains(service.Spec.Interfaces, ifc)
}

// claim the interfaces of a service: they can't be deleted then, and no other service can have them. It returns them in the order of the
// spec, or why the service can't have some.
func (r *reconciler) claim(ctx context.Context, service *svcv1.DPUService) (all []svcv1.DPUServiceInterface, problems []string, _ error) {
	for _, name := range service.Spec.Interfaces {
		ifc := &svcv1.DPUServiceInterface{}
		key := types.NamespacedName{Namespace: service.Namespace, Name: name}
		err := r.Get(ctx, key, ifc)
		if client.IgnoreNotFound(err) != nil {
			return nil, nil, fmt.Errorf("read DPUServiceInterface %s: %w", key, err)
		}
		problem := ""
		if err != nil {
			problem = "it doesn't exist: create it"
		} else if problem, err = r.unfit(ctx, service, ifc); err != nil {
			return nil, nil, err
		}
		if problem != "" {
			problems = append(problems, "DPUServiceInterface "+name+": "+problem)
			continue
		}
		if ifc.Annotations[svcv1.UsedByAnnotation] != service.Name || !controllerutil.ContainsFinalizer(ifc, svcv1.InUseFinalizer) {
			err := r.changeInterface(ctx, ifc, func() {
				ifc.Annotations = with(ifc.Annotations, svcv1.UsedByAnnotation, service.Name)
				controllerutil.AddFinalizer(ifc, svcv1.InUseFinalizer)
			})
			if err != nil {
				return nil, nil, err
			}
		}
		all = append(all, *ifc)
	}
	return all, problems, nil
}

// unfit says why a service can't have an interface.
func (r *reconciler) unfit(ctx context.Context, service *svcv1.DPUService, ifc *svcv1.DPUServiceInterface) (string, error) {
	spec := ifc.Spec.Template.Spec.Template.Spec
	user := ifc.Annotations[svcv1.UsedByAnnotation]
	switch {
	case spec.Service == nil:
		return "it is of type " + spec.InterfaceType + ", and a service has interfaces of type service", nil
	case spec.Service.ServiceID != service.Spec.ServiceID:
		return fmt.Sprintf("it is of the service %q, and not of %q", spec.Service.ServiceID, service.Spec.ServiceID), nil
	case user == service.Name:
		return "", nil
	case ifc.DeletionTimestamp != nil:
		return "it is being deleted", nil
	case user == "":
		return "", nil
	}
	other := &svcv1.DPUService{}
	err := r.live.Get(ctx, types.NamespacedName{Namespace: ifc.Namespace, Name: user}, other)
	if apierrors.IsNotFound(err) {
		return "", nil // its finalizer was taken off by hand
	}
	if err != nil {
		return "", fmt.Errorf("read DPUService %s: %w", user, err)
	}
	return "DPUService " + user + " has it", nil
}

// release the interfaces that a service has, but doesn't keep.
func (r *reconciler) release(ctx context.Context, from client.Reader, service *svcv1.DPUService, keep []string) error {
	var all svcv1.DPUServiceInterfaceList
	if err := from.List(ctx, &all, client.InNamespace(service.Namespace)); err != nil {
		return fmt.Errorf("list the interfaces of the service: %w", err)
	}
	var problems []error
	for i := range all.Items {
		ifc := &all.Items[i]
		if ifc.Annotations[svcv1.UsedByAnnotation] != service.Name || slices.Contains(keep, ifc.Name) {
			continue
		}
		problems = append(problems, r.changeInterface(ctx, ifc, func() {
			delete(ifc.Annotations, svcv1.UsedByAnnotation)
			controllerutil.RemoveFinalizer(ifc, svcv1.InUseFinalizer)
		}))
	}
	return errors.Join(problems...)
}

func (r *reconciler) changeInterface(ctx context.Context, ifc *svcv1.DPUServiceInterface, change func()) error {
	before := ifc.DeepCopy()
	change()
	err := r.Patch(ctx, ifc, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write who has DPUServiceInterface %s: %w", ifc.Name, err)
	}
	return nil
}
