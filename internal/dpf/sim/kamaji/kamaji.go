// Package kamaji stands for Kamaji in tests: it has TenantControlPlanes, and keeps their kubeconfigs as Kamaji does.
package kamaji

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var kind = schema.GroupVersionKind{Group: "kamaji.clastix.io", Version: "v1alpha1", Kind: "TenantControlPlane"}

// Install the kind: it takes anything.
func Install(t testing.TB, config *rest.Config) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "tenantcontrolplanes." + kind.Group}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "tenantcontrolplanes", Kind: kind.Kind},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: kind.Version, Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: ptr.To(true)}}}},
	}
	NewWithT(t).Eventually(func() error { // other tests install it, too
		_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd.DeepCopy()}})
		return err
	}, time.Minute).Should(Succeed())
}

func tenant(namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// UID of a TenantControlPlane.
func UID(t testing.TB, c client.Client, namespace, name string) types.UID {
	t.Helper()
	o := tenant(namespace, name)
	NewWithT(t).Expect(c.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o.GetUID()
}

// Allow DPU clusters in a namespace, or not any more.
func Allow(t testing.TB, c client.Client, namespace string, allowed bool) {
	t.Helper()
	value := "null"
	if allowed {
		value = `"allowed"`
	}
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"dpf.nvidia.com/dpuservices":`+value+`}}}`))
	NewWithT(t).Expect(c.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, label)).To(Succeed())
}

// Kubeconfig makes a TenantControlPlane, if there is none, and the Secret with its kubeconfig, in a namespace that is allowed to have them.
func Kubeconfig(t testing.TB, c client.Client, namespace, name string, kubeconfig []byte) *corev1.Secret {
	t.Helper()
	g := NewWithT(t)
	Allow(t, c, namespace, true)
	g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), tenant(namespace, name)))).To(Succeed())
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name + "-admin-kubeconfig", Labels: map[string]string{
				"kamaji.clastix.io/name": name, "kamaji.clastix.io/component": "admin-kubeconfig", "kamaji.clastix.io/project": "kamaji",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: name, UID: UID(t, c, namespace, name), Controller: ptr.To(true),
			}},
		},
		Data: map[string][]byte{"admin.conf": kubeconfig},
	}
	g.Expect(c.Create(t.Context(), secret)).To(Succeed())
	return secret
}
