// Package observer looks at what exists already: at clusters, whoever has made them, and at infrastructure providers. It changes nothing
// there.
package observer

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters;infrastructureproviders;globalinfrastructureproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters/status,verbs=patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=infrastructureproviders/status;globalinfrastructureproviders/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Config of the observers.
type Config struct {
	// Egress says where kubeconfigs may lead to.
	Egress egress.Policy
	// Interval between looks at a cluster that is well.
	Interval time.Duration
	// GlobalNamespace has the Secrets of Global kinds. If it is empty, these aren't looked at.
	GlobalNamespace string
	// Change may modify the configuration of clients of IM.
	Change  func(*im.Config)
	Clock   clock.PassiveClock
	Options controller.Options
}

// Setup registers the observers.
func Setup(mgr ctrl.Manager, config Config) error {
	err := errors.Join(
		newClusters(mgr, config).setup(mgr),
		newProviders(mgr, config, "InfrastructureProvider",
			&krakev1.InfrastructureProvider{}, &krakev1.InfrastructureProviderList{}).setup(mgr),
	)
	if err != nil || config.GlobalNamespace == "" {
		return err
	}
	return newProviders(mgr, config, "GlobalInfrastructureProvider",
		&krakev1.GlobalInfrastructureProvider{}, &krakev1.GlobalInfrastructureProviderList{}).setup(mgr)
}

// conditioned is an object with conditions.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// set a condition. Without a message it is as it should be.
func set(object conditioned, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions := object.GetConditions()
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: graph.Message(message), ObservedGeneration: object.GetGeneration(),
	})
	object.SetConditions(conditions)
}
