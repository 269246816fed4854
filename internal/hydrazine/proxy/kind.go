package proxy

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy/mirror"
)

// kind is the specific part of one service.
type kind struct {
	name        string // such as ResourceGroup
	clusterWide bool   // operators create and delete, tenants see those that are theirs
	object      func() client.Object
	list        func() client.ObjectList
	message     proto.Message // an example
	// complete fills in the defaults of the API server and the proxy. Current is nil if the object isn't there.
	complete func(wanted, current client.Object, by scope) error

	spec, status *mirror.Mirror
}

func resourceGroupKind() *kind {
	return &kind{
		name: "ResourceGroup", message: &proxyv1.ResourceGroup{}, complete: completeGroup,
		object: func() client.Object { return &resourcev1.ResourceGroup{} },
		list:   func() client.ObjectList { return &resourcev1.ResourceGroupList{} },
	}
}

func managedResourceKind() *kind {
	return &kind{
		name: "ManagedResource", message: &proxyv1.ManagedResource{}, complete: completeResource,
		object: func() client.Object { return &resourcev1.ManagedResource{} },
		list:   func() client.ObjectList { return &resourcev1.ManagedResourceList{} },
	}
}

func publicIPKind() *kind {
	return &kind{
		name: "PublicIP", message: &proxyv1.PublicIP{}, clusterWide: true,
		complete: func(client.Object, client.Object, scope) error { return nil },
		object:   func() client.Object { return &networkfabricv1.PublicIP{} },
		list:     func() client.ObjectList { return &networkfabricv1.PublicIPList{} },
	}
}

func completeGroup(wanted, current client.Object, by scope) error {
	spec := &wanted.(*resourcev1.ResourceGroup).Spec
	was := ""
	if current != nil {
		was = current.(*resourcev1.ResourceGroup).Spec.TenantIdentifier
	}
	spec.TenantIdentifier = cmp.Or(spec.TenantIdentifier, was, by.tenant)
	if !by.operator && spec.TenantIdentifier != by.tenant && spec.TenantIdentifier != was {
		return status.Errorf(codes.PermissionDenied, "spec.tenant_identifier: you are tenant %s: leave it out", by.tenant)
	}
	spec.NetworkImplementationType = cmp.Or(spec.NetworkImplementationType, resourcev1.FabricNetwork)
	for i := range spec.SecurityGroups {
		for j := range spec.SecurityGroups[i].Rules {
			rule := &spec.SecurityGroups[i].Rules[j]
			rule.Protocol = cmp.Or(rule.Protocol, resourcev1.AnyProtocol)
		}
	}
	return nil
}

func completeResource(wanted, _ client.Object, _ scope) error {
	spec := &wanted.(*resourcev1.ManagedResource).Spec
	spec.Type = cmp.Or(spec.Type, resourcev1.BareMetal)
	spec.State = cmp.Or(spec.State, resourcev1.Attached)
	spec.HostAccess = cmp.Or(spec.HostAccess, resourcev1.NetworkAccess)
	return nil
}

// words are the values of the kinds' enums.
func words() []string {
	return []string{
		string(resourcev1.FabricNetwork), string(resourcev1.SoftwareNetwork),
		string(resourcev1.Ingress), string(resourcev1.Egress),
		string(resourcev1.AnyProtocol), string(resourcev1.TCPProtocol), string(resourcev1.UDPProtocol), string(resourcev1.ICMPProtocol),
		string(resourcev1.BareMetal), string(resourcev1.Attached), string(resourcev1.Isolated),
		string(resourcev1.NetworkAccess), string(resourcev1.FabricAccess), string(resourcev1.PublicAccess),
		string(metav1.ConditionTrue), string(metav1.ConditionFalse), string(metav1.ConditionUnknown),
	}
}

// pair the kind's fields with the message's.
func (k *kind) pair() (err error) {
	object := reflect.TypeOf(k.object()).Elem()
	fields := k.message.ProtoReflect().Descriptor().Fields()
	for name, m := range map[string]**mirror.Mirror{"Spec": &k.spec, "Status": &k.status} {
		of, _ := object.FieldByName(name)
		*m, err = mirror.New(of.Type, fields.ByName(protoreflect.Name(strings.ToLower(name))).Message(), words())
		if err != nil {
			return fmt.Errorf("%s doesn't fit its message: %w", k.name, err)
		}
	}
	return nil
}

// path in a message of a path in the object.
func (k *kind) path(path string) string {
	for prefix, m := range map[string]*mirror.Mirror{"spec.": k.spec, "status.": k.status} {
		if rest, found := strings.CutPrefix(path, prefix); found {
			return prefix + m.Path(rest)
		}
	}
	if path == "metadata.name" {
		return "name"
	}
	return path
}

func specOf(o client.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Spec") }

// owner is the namespace whose object it is.
func (k *kind) owner(o client.Object) string {
	ip, isPublicIP := o.(*networkfabricv1.PublicIP)
	switch {
	case !isPublicIP:
		return o.GetNamespace()
	case ip.Status.ManagedResource == nil:
		return ""
	}
	return ip.Status.ManagedResource.Namespace
}

// toMessage is an object as clients see it.
func (k *kind) toMessage(o client.Object, tenant string) proto.Message {
	m := k.message.ProtoReflect().New()
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName("metadata"), protoreflect.ValueOfMessage(metadata(o, tenant).ProtoReflect()))
	k.spec.ToMessage(specOf(o), m.Mutable(fields.ByName("spec")).Message())
	k.status.ToMessage(reflect.ValueOf(o).Elem().FieldByName("Status"), m.Mutable(fields.ByName("status")).Message())
	return m.Interface()
}

func metadata(o client.Object, tenant string) *proxyv1.Metadata {
	m := &proxyv1.Metadata{
		Tenant: tenant, Name: o.GetName(), Uid: string(o.GetUID()),
		ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(),
		CreateTime: timestamppb.New(o.GetCreationTimestamp().Time),
	}
	if at := o.GetDeletionTimestamp(); at != nil {
		m.DeleteTime = timestamppb.New(at.Time)
	}
	return m
}
