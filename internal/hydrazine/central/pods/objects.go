package pods

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Ports of a central.
const (
	northboundPort     = 6641
	dpuPort            = 6642
	administrationPort = 6643
)

// Labels of all objects of a central. Those of a Pod are its Services' and its NetworkPolicy's selector too.
const (
	nameLabel      = "app.kubernetes.io/name"
	managedByLabel = "app.kubernetes.io/managed-by"
	groupLabel     = "resource.bedplate.dev/central"

	centralName = "bedplate-hydrazine-central"
	managerName = "bedplate-hydrazine-manager"
)

func labelsOf(group string) map[string]string {
	return map[string]string{nameLabel: centralName, managedByLabel: managerName, groupLabel: group}
}

// policy lets the DPUs to their port, and the manager to the others. A central itself connects to nothing.
func (r *Runtime) policy(group string) *networkingv1.NetworkPolicy {
	port := func(number int) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt(number))}
	}
	return &networkingv1.NetworkPolicy{ObjectMeta: r.meta(group), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: labelsOf(group)},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{
			{
				Ports: []networkingv1.NetworkPolicyPort{port(northboundPort), port(administrationPort)},
				From: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: r.config.Manager}},
					PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{nameLabel: managerName}},
				}},
			},
			// From everywhere: a node that forwards packets of DPUs may put its own address in.
			{Ports: []networkingv1.NetworkPolicyPort{port(dpuPort)}},
		},
	}}
}

// service is for the DPUs. The manager calls the Pod itself: what it has written to one Pod's northbound database must not
// open another Pod's southbound one.
func (r *Runtime) service(group string) *corev1.Service {
	return &corev1.Service{ObjectMeta: r.meta(group), Spec: corev1.ServiceSpec{
		Type: r.config.Service, Selector: labelsOf(group),
		Ports: []corev1.ServicePort{{
			Name: "dpus", Protocol: corev1.ProtocolTCP, Port: dpuPort, TargetPort: intstr.FromInt(dpuPort),
		}},
	}}
}

// deployment of a central: one Pod, and never two at a time, as far as possible.
func (r *Runtime) deployment(group string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: r.meta(group), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		Selector: &metav1.LabelSelector{MatchLabels: labelsOf(group)},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(group)}, Spec: r.pod(group),
		},
	}}
}
