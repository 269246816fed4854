package proxy

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/reflect/protoreflect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/config/hydrazine"
)

func kinds() []*kind { return []*kind{resourceGroupKind(), managedResourceKind(), publicIPKind()} }

// A field that a kind gets has to come into the messages, and the other way round.
func TestMessages_haveTheFieldsOfTheirKinds(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		NewWithT(t).Expect(k.pair()).To(Succeed())
	}
}

// schemaOf a kind, as the API server has it.
func schemaOf(g Gomega, k *kind) apiextensionsv1.JSONSchemaProps {
	files, err := fs.Glob(hydrazine.CRDs, "crd/bases/*_"+strings.ToLower(k.name)+"s.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(1))
	data, err := hydrazine.CRDs.ReadFile(files[0])
	g.Expect(err).NotTo(HaveOccurred())
	crd := apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict(data, &crd)).To(Succeed())
	return *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// walk all properties below a schema, with the message's fields of the same names.
func walk(path string, s apiextensionsv1.JSONSchemaProps, m protoreflect.MessageDescriptor,
	visit func(path string, s apiextensionsv1.JSONSchemaProps, field protoreflect.FieldDescriptor),
) {
	for name, property := range s.Properties {
		for i := range m.Fields().Len() {
			field := m.Fields().Get(i)
			if !strings.EqualFold(strings.ReplaceAll(string(field.Name()), "_", ""), name) {
				continue
			}
			visit(path+"."+name, property, field)
			if property.Items != nil {
				property = *property.Items.Schema
			}
			if field.Message() != nil {
				walk(path+"."+name, property, field.Message(), visit)
			}
		}
	}
}

func TestEnums_haveTheWordsOfTheirKinds(t *testing.T) {
	t.Parallel()
	g, seen := NewWithT(t), 0
	for _, k := range kinds() {
		walk("", schemaOf(g, k), k.message.ProtoReflect().Descriptor(), func(path string, s apiextensionsv1.JSONSchemaProps, f protoreflect.FieldDescriptor) {
			var crds, messages []string
			for _, word := range s.Enum {
				crds = append(crds, strings.ToLower(strings.Trim(string(word.Raw), `"`)))
			}
			if f.Enum() == nil {
				g.Expect(crds).To(BeEmpty(), "%s%s is an enum in the CRD only", k.name, path)
				return
			}
			prefix := strings.TrimSuffix(string(f.Enum().Values().Get(0).Name()), "UNSPECIFIED")
			for i := 1; i < f.Enum().Values().Len(); i++ {
				word := strings.TrimPrefix(string(f.Enum().Values().Get(i).Name()), prefix)
				messages = append(messages, strings.ToLower(strings.ReplaceAll(word, "_", "")))
			}
			g.Expect(messages).To(ConsistOf(crds), k.name+path)
			seen++
		})
	}
	g.Expect(seen).To(BeNumerically(">=", 9))
}

// What the API server fills in the proxy has to fill in too: it compares a create with what is there.
func TestComplete_fillsInWhatTheAPIServerDoes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	defaults := map[string]string{}
	for _, k := range kinds() {
		walk("", schemaOf(g, k), k.message.ProtoReflect().Descriptor(), func(path string, s apiextensionsv1.JSONSchemaProps, _ protoreflect.FieldDescriptor) {
			if s.Default != nil {
				defaults[k.name+path] = string(s.Default.Raw)
			}
		})
	}
	group := &resourcev1.ResourceGroup{Spec: resourcev1.ResourceGroupSpec{SecurityGroups: []resourcev1.SecurityGroup{{Rules: make([]resourcev1.SecurityRule, 1)}}}}
	g.Expect(completeGroup(group, nil, scope{})).To(Succeed())
	resource := &resourcev1.ManagedResource{}
	g.Expect(completeResource(resource, nil, scope{})).To(Succeed())
	g.Expect(defaults).To(Equal(map[string]string{
		"ResourceGroup.spec.networkImplementationType":     quoted(group.Spec.NetworkImplementationType),
		"ResourceGroup.spec.securityGroups.rules.protocol": quoted(group.Spec.SecurityGroups[0].Rules[0].Protocol),
		"ManagedResource.spec.type":                        quoted(resource.Spec.Type),
		"ManagedResource.spec.State":                       quoted(resource.Spec.State),
		"ManagedResource.spec.hostAccess":                  quoted(resource.Spec.HostAccess),
	}))
}

func quoted[T ~string](word T) string {
	data, _ := json.Marshal(word)
	return string(data)
}

// fill everything below a value with something.
func fill(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			v.Set(reflect.ValueOf(metav1.Unix(random.Int64N(2e9), 0)))
			return
		}
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(3), 4))
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text", random.Int()))
		if of := enums[v.Type().Name()]; of > "" {
			choice := strings.Fields(of)
			v.SetString(choice[random.IntN(len(choice))])
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1 + random.Int64N(1<<31-1))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + random.Uint64N(1<<32-1))
	default:
		panic(v.Type())
	}
}

var enums = map[string]string{
	"OverlayNetworkImplementationType": "Fabric Software", "SecurityDirection": "Ingress Egress", "SecurityProtocol": "Any TCP UDP ICMP",
	"ResourceType": "BareMetal", "ManagedResourceState": "Attached Isolated", "HostAccess": "NetworkAccess FabricAccess PublicAccess",
	"ConditionStatus": "True False Unknown",
}

func TestKinds_comeBackAsTheyWent(t *testing.T) {
	t.Parallel()
	g, random := NewWithT(t), rand.New(rand.NewPCG(7, 7))
	for _, k := range kinds() {
		g.Expect(k.pair()).To(Succeed())
		for range 100 {
			o, back := k.object(), k.object()
			fill(random, reflect.ValueOf(o).Elem().FieldByName("Spec"))
			fill(random, reflect.ValueOf(o).Elem().FieldByName("Status"))
			m := k.toMessage(o, "blue").ProtoReflect()
			fields := m.Descriptor().Fields()
			g.Expect(k.spec.FromMessage(m.Get(fields.ByName("spec")).Message(), specOf(back))).To(Succeed())
			g.Expect(k.status.FromMessage(m.Get(fields.ByName("status")).Message(), reflect.ValueOf(back).Elem().FieldByName("Status"))).To(Succeed())
			g.Expect(equality.Semantic.DeepEqual(back, o)).To(BeTrue(), "%v\n%v", back, o)
		}
	}
}

func TestPath_ofErrorsIsThatOfTheMessages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, k := range kinds() {
		g.Expect(k.pair()).To(Succeed())
		for path, is := range map[string]map[string]string{
			"ResourceGroup": {
				"spec.network.prefixLength": "spec.network.prefix_length", "spec.dhcpServer": "spec.dhcp_server", "metadata.name": "name",
				"spec.securityGroups[0].rules[2].ports[1].last": "spec.security_groups[0].rules[2].ports[1].last",
			},
			"ManagedResource": {"spec.dpuIPs[1]": "spec.dpu_ips[1]", "spec.State": "spec.state", "spec.hostMAC": "spec.host_mac", "spec": "spec"},
			"PublicIP":        {"spec.ipAddress": "spec.ip_address", "status.managedResource.uid": "status.managed_resource.uid"},
		}[k.name] {
			g.Expect(k.path(path)).To(Equal(is))
		}
	}
}
