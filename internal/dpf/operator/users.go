package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
)

// awaitUsers until they have deleted what is theirs: without its controllers it could never go, and takes its namespace along. Also what
// has no finalizer yet: its controller may add one until it is gone.
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

// awaitSets until DPU clusters have no sets any more, and nothing that was made of them: such as what users have abandoned. The components
// that go next have the kinds and the controllers in one chart. With a finalizer that no controller takes off, the kind is never gone, and
// Argo CD waits for it.
func (w *round) awaitSets(ctx context.Context) (kind string, left []string, _ error) {
	kind = operatorv1.SystemComponentsReconciledCondition
	if w.lookAtClusters(ctx); w.clustersErr != nil {
		return kind, nil, w.clustersErr
	}
	deployed := map[types.NamespacedName]bool{}
	for _, component := range []operatorv1.Component{operatorv1.ComponentServiceChainSet, operatorv1.ComponentServiceInterfaceSet} {
		service := types.NamespacedName{Namespace: operatorv1.Namespace, Name: string(component)}
		in, err := dpuservice.Deployed(ctx, w.Live, service)
		if err != nil {
			return kind, nil, err
		}
		for cluster := range in {
			deployed[cluster] = true
		}
	}
	for _, cluster := range slices.Concat(w.clusters, w.notAllowed) {
		err := cluster.Err
		if cluster.Client != nil {
			var there []string
			there, err = sets(ctx, cluster)
			left = append(left, there...)
		} else if !deployed[cluster.Name] {
			continue
		}
		if err != nil {
			left = append(left, fmt.Sprintf("it isn't known whether DPU cluster %s has sets: %v: the annotation %s=true leaves them there",
				cluster.Name, err, operatorv1.AbandonAnnotation))
		}
	}
	return kind, left, nil
}

// sets in a DPU cluster, and what was made of them, each with what lets it go.
func sets(ctx context.Context, cluster dpucluster.Cluster) (left []string, _ error) {
	for _, name := range []string{"ServiceChainSet", "ServiceInterfaceSet", "ServiceChain", "ServiceInterface"} {
		all, err := list(ctx, cluster.Client, name)
		if err != nil {
			return left, err
		}
		for _, o := range all {
			it := fmt.Sprintf("%s %s in DPU cluster %s", name, client.ObjectKeyFromObject(&o), cluster.Name)
			if o.DeletionTimestamp == nil {
				left = append(left, fmt.Sprintf("delete %s first, while its controller is there", it))
				continue
			}
			left = append(left, fmt.Sprintf("%s is being deleted: if what takes them off is gone for good, remove its finalizers there: %s",
				it, strings.Join(o.Finalizers, ", ")))
		}
	}
	return left, nil
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
