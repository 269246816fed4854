package actuator

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/graph"
)

// Indexes find Machines by their instance and by the Secrets that they name.
const (
	instanceIndex    = "instanceID"
	credentialsIndex = "credentialsSecret"
	userDataIndex    = "userDataSecret"
)

func indexMachines(ctx context.Context, mgr ctrl.Manager) error {
	for name, value := range map[string]func(*machinev1.Machine) string{
		instanceIndex: func(m *machinev1.Machine) string {
			id, _ := providerid.Parse(ptr.Deref(m.Spec.ProviderID, ""))
			return id.InstanceID
		},
		credentialsIndex: func(m *machinev1.Machine) string { return secretOf(m).Name },
		userDataIndex: func(m *machinev1.Machine) string {
			return providerspec.Peek(m.Spec.ProviderSpec).UserDataSecret.Name
		},
	} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &machinev1.Machine{}, name, func(o client.Object) []string {
			if v := value(o.(*machinev1.Machine)); v != "" {
				return []string{v}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index Machines by %s: %w", name, err)
		}
	}
	return nil
}

// secretOf names the credentials of a Machine; the name is empty for another provider's.
func secretOf(o client.Object) types.NamespacedName {
	spec := providerspec.Peek(o.(*machinev1.Machine).Spec.ProviderSpec)
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: spec.CredentialsSecret.Name}
}

// sources enqueue Machines for what the actuator waits for.
func sources(mgr ctrl.Manager, engine *graph.Engine, instances *inventory.Inventory) []source.Source {
	machines := mgr.GetClient()
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return []source.Source{
		engine.Creates.Woken(&machinev1.Machine{}),
		instances.Source(func(ctx context.Context, instanceID string) []reconcile.Request {
			return find(ctx, machines, client.MatchingFields{instanceIndex: instanceID})
		}),
		source.Kind(mgr.GetCache(), client.Object(secret), handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, secret client.Object) []reconcile.Request {
				here := client.InNamespace(secret.GetNamespace())
				return append(find(ctx, machines, here, client.MatchingFields{credentialsIndex: secret.GetName()}),
					find(ctx, machines, here, client.MatchingFields{userDataIndex: secret.GetName()})...)
			})),
	}
}

func find(ctx context.Context, machines client.Reader, options ...client.ListOption) (found []reconcile.Request) {
	list := &machinev1.MachineList{}
	if err := machines.List(ctx, list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the Machines of a change")
	}
	for i := range list.Items {
		found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return found
}
