package dpuset

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/naming"
	"github.com/bedplate/bedplate/internal/dpf/status"
)

// NV-IPAM's kinds, which are handled unstructured.
var (
	CIDRPoolKind = schema.GroupVersionKind{Group: "nv-ipam.nvidia.com", Version: "v1alpha1", Kind: "CIDRPool"}
	IPPoolKind   = schema.GroupVersionKind{Group: "nv-ipam.nvidia.com", Version: "v1alpha1", Kind: "IPPool"}
)

// object is one with conditions.
type object interface {
	svcv1.Object
	client.Object
}

// spread is an object of the host cluster, of which DPU clusters get something.
type spread interface {
	svcv1.Spread
	client.Object
}

// kind of the host cluster, and what its objects become in DPU clusters.
type kind struct {
	name  string
	empty spread
	list  client.ObjectList
	// remote is a cached kind of DPU clusters of whose changes the objects are told; nil if there is none.
	remote client.Object

	finalizer, reconciled, ready string
	// selector of DPU clusters.
	selector func(object) *metav1.LabelSelector
	// want is what each of them gets. Without a name of its own it has the namespace and the name of the object.
	want func(object) (client.Object, error)
	// problem of what a cluster has got; "" where it is ready.
	problem func(client.Object) string
}

var kinds = []kind{
	{
		name: "DPUServiceChain", empty: &svcv1.DPUServiceChain{}, list: &svcv1.DPUServiceChainList{}, remote: &svcv1.ServiceChainSet{},
		finalizer: svcv1.DPUServiceChainFinalizer, reconciled: svcv1.ServiceChainSetReconciledCondition,
		ready:    svcv1.ServiceChainSetReadyCondition,
		selector: func(o object) *metav1.LabelSelector { return o.(*svcv1.DPUServiceChain).Spec.ClusterSelector },
		want: func(o object) (client.Object, error) {
			template := o.(*svcv1.DPUServiceChain).Spec.Template
			return &svcv1.ServiceChainSet{ObjectMeta: metadata(template.Metadata), Spec: template.Spec}, nil
		},
		problem: setProblem,
	},
	{
		name: "DPUServiceInterface", empty: &svcv1.DPUServiceInterface{}, list: &svcv1.DPUServiceInterfaceList{},
		remote:    &svcv1.ServiceInterfaceSet{},
		finalizer: svcv1.DPUServiceInterfaceFinalizer, reconciled: svcv1.ServiceInterfaceSetReconciledCondition,
		ready:    svcv1.ServiceInterfaceSetReadyCondition,
		selector: func(o object) *metav1.LabelSelector { return o.(*svcv1.DPUServiceInterface).Spec.ClusterSelector },
		want: func(o object) (client.Object, error) {
			template := o.(*svcv1.DPUServiceInterface).Spec.Template
			return &svcv1.ServiceInterfaceSet{ObjectMeta: metadata(template.Metadata), Spec: template.Spec}, nil
		},
		problem: setProblem,
	},
	{
		name: "DPUServiceIPAM", empty: &svcv1.DPUServiceIPAM{}, list: &svcv1.DPUServiceIPAMList{},
		finalizer: svcv1.DPUServiceIPAMFinalizer, reconciled: svcv1.DPUIPAMObjectReconciledCondition, ready: svcv1.DPUIPAMObjectReadyCondition,
		selector: func(o object) *metav1.LabelSelector { return o.(*svcv1.DPUServiceIPAM).Spec.ClusterSelector },
		want:     func(o object) (client.Object, error) { return pool(o.(*svcv1.DPUServiceIPAM)) },
		problem: func(o client.Object) string {
			if given, _, _ := unstructured.NestedSlice(o.(*unstructured.Unstructured).Object, "status", "allocations"); len(given) == 0 {
				return "NV-IPAM has given no node addresses yet"
			}
			return ""
		},
	},
}

func metadata(m svcv1.Metadata) metav1.ObjectMeta {
	copied := m.DeepCopy()
	return metav1.ObjectMeta{Labels: copied.Labels, Annotations: copied.Annotations}
}

func setProblem(o client.Object) string {
	set := o.(object)
	if status.IsReady(set) {
		return ""
	}
	for _, c := range set.GetStatus().Conditions {
		if c.Type == svcv1.ReadyCondition && c.Message != "" {
			return c.Message
		}
	}
	return "its controller hasn't looked at it yet"
}

// wanted is what each DPU cluster gets of an object, under its name there.
func (k kind) wanted(o object) (client.Object, error) {
	want, err := k.want(o)
	if err == nil && want.GetName() == "" {
		want.SetNamespace(o.GetNamespace())
		want.SetName(o.GetName())
	}
	return want, err
}

// PoolKey is where DPU clusters have the pool of a DPUServiceIPAM. NV-IPAM reads the namespace of its component only, so the pools of all
// namespaces are there, and those of two with one name differ.
func PoolKey(o client.Object) client.ObjectKey {
	key := client.ObjectKey{Namespace: operatorv1.Namespace, Name: o.GetName()}
	if o.GetNamespace() != operatorv1.Namespace {
		key.Name = naming.Unique(naming.Object, o.GetNamespace()+"-"+o.GetName(), o.GetNamespace(), o.GetName())
	}
	return key
}

// pool of NV-IPAM.
func pool(of *svcv1.DPUServiceIPAM) (client.Object, error) {
	spec := of.Spec.DeepCopy()
	fields, o, key := map[string]any{}, &unstructured.Unstructured{}, PoolKey(of)
	switch network, subnet := spec.IPV4Network, spec.IPV4Subnet; {
	case network != nil:
		o.SetGroupVersionKind(CIDRPoolKind)
		fields = map[string]any{
			"cidr": string(network.Network), "perNodeNetworkPrefix": int64(network.PrefixSize),
		}
		if network.GatewayIndex != nil {
			fields["gatewayIndex"] = int64(*network.GatewayIndex)
		}
		excluded := []any{}
		for _, ip := range network.Exclusions {
			excluded = append(excluded, map[string]any{"startIP": string(ip), "endIP": string(ip)})
		}
		given := []any{}
		for _, node := range slices.Sorted(maps.Keys(network.Allocations)) {
			given = append(given, map[string]any{"nodeName": node, "prefix": string(network.Allocations[node])})
		}
		add(fields, "exclusions", excluded)
		add(fields, "staticAllocations", given)
		routes(fields, network.DefaultGateway, network.Routes)
	case subnet != nil:
		o.SetGroupVersionKind(IPPoolKind)
		fields = map[string]any{"subnet": string(subnet.Subnet), "perNodeBlockSize": int64(subnet.PerNodeIPCount)}
		if subnet.Gateway != "" {
			fields["gateway"] = string(subnet.Gateway)
		}
		routes(fields, subnet.DefaultGateway, subnet.Routes)
	}
	if err := nodes(fields, spec.NodeSelector); err != nil {
		return nil, err
	}
	o.Object["spec"] = fields
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	o.SetLabels(spec.Metadata.Labels)
	o.SetAnnotations(spec.Metadata.Annotations)
	return o, nil
}

func nodes(fields map[string]any, selector *corev1.NodeSelector) error {
	if selector == nil {
		return nil
	}
	chosen, err := runtime.DefaultUnstructuredConverter.ToUnstructured(selector)
	if err != nil {
		return fmt.Errorf("write the nodeSelector: %w", err)
	}
	fields["nodeSelector"] = chosen
	return nil
}

func routes(fields map[string]any, defaultGateway bool, all []svcv1.Route) {
	if defaultGateway {
		fields["defaultGateway"] = true
	}
	list := []any{}
	for _, route := range all {
		list = append(list, map[string]any{"dst": string(route.Dst)})
	}
	add(fields, "routes", list)
}

func add(fields map[string]any, name string, list []any) {
	if len(list) > 0 {
		fields[name] = list
	}
}
