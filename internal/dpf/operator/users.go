package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
)

// awaitUsers until they have deleted what is theirs: without its controllers it could never go, and takes its namespace along. Also what has
// no finalizer yet: its controller may add one until it is gone.
func (w *round) awaitUsers(ctx context.Context) (kind string, left []string, _ error) {
	users, err := w.users(ctx)
	for _, user := range users {
		left = append(left, fmt.Sprintf("delete %s first, while its controller is there", user))
	}
	return operatorv1.SystemComponentsReconciledCondition, left, err
}

// users' services, chains, interfaces and pools.
func (w *round) users(ctx context.Context) (names []string, _ error) {
	for _, name := range []string{"DPUService", "DPUServiceChain", "DPUServiceInterface", "DPUServiceIPAM"} {
		all, err := list(ctx, w.Live, name)
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if !components.IsMember(&o) {
				names = append(names, name+" "+client.ObjectKeyFromObject(&o).String())
			}
		}
	}
	return names, nil
}

// list a kind of services. If the kind is gone, all of them are.
func list(ctx context.Context, from client.Reader, name string) ([]metav1.PartialObjectMetadata, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(svcv1.GroupVersion.WithKind(name + "List"))
	if err := from.List(ctx, all); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("list the %ss: %w", name, err)
	}
	return all.Items, nil
}
