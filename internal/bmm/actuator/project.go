package actuator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/machineapi"
)

// project shows the instance in the Machine. What wasn't seen stays as it was.
func (n *node) project(ctx context.Context) {
	m := n.owner.Machine
	n.Project(&n.owner.status.InstanceStatus)
	if providerID := n.ProviderID(); providerID != "" {
		m.Spec.ProviderID = ptr.To(providerID)
	}
	o := n.Object()
	if o == nil {
		return
	}
	// By an address of this type OpenShift knows whether a kubelet that asks for its first certificate is the Machine's.
	m.Status.Addresses = append(instance.Addresses(o), corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: m.Name})
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, machineapi.InstanceStateAnnotation, string(o.Status))
	n.label(ctx, o)
}

// label the Machine with what users select Machines by. An instance doesn't have to wait for that.
func (n *node) label(ctx context.Context, o *bmm.Instance) {
	place, err := n.actuator.Topology.Of(ctx, n.api, o)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("The labels of zone, region and instance type stay as they are", "reason", err.Error())
		return
	}
	for label, value := range map[string]string{
		machineapi.ZoneLabel: place.Zone, machineapi.RegionLabel: place.Region, machineapi.InstanceTypeLabel: place.InstanceType,
	} {
		if value != "" {
			metav1.SetMetaDataLabel(&n.owner.ObjectMeta, label, value)
		}
	}
}
