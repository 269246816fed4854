package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// certificates is the volume with the webhooks' certificate: OLM mounts its own in the same place.
const certificates = "webhooks-cert"

// bundle is what is made of the manifests.
type bundle struct {
	objects        []*unstructured.Unstructured
	version, image string
	examples       []*unstructured.Unstructured

	csv     unstructured.Unstructured
	files   map[string]*unstructured.Unstructured
	cluster []*unstructured.Unstructured // what OLM doesn't install
}

// fill the bundle: each object is in the ClusterServiceVersion, in a file of its own, or in cluster.yaml, or OLM makes it itself.
func (b *bundle) fill() error {
	deployment := b.find("Deployment", "", "")
	if deployment == nil {
		return fmt.Errorf("the manifests have no Deployment")
	}
	namespace := deployment.GetNamespace()
	for _, o := range b.objects {
		switch kind := o.GetKind(); {
		case kind == "CustomResourceDefinition":
			b.own(o)
		case kind == "Deployment", kind == "ValidatingWebhookConfiguration", b.granted(o, namespace):
			// of the ClusterServiceVersion
		case slices.Contains([]string{"ServiceAccount", "Service", "Certificate", "Issuer"}, kind):
			// OLM makes them: the account of the Deployment, and what its webhooks are served with
		case slices.Contains([]string{"ClusterRole", "Role", "PodDisruptionBudget"}, kind) &&
			slices.Contains([]string{"", namespace}, o.GetNamespace()):
			o.SetNamespace("") // it gets that of the ClusterServiceVersion
			b.files[strings.ToLower(kind)+"-"+o.GetName()+".yaml"] = o
		default:
			b.cluster = append(b.cluster, o)
		}
	}
	if err := b.describe(namespace); err != nil {
		return err
	}
	install, err := b.install(deployment)
	if err != nil {
		return err
	}
	install = map[string]any{"strategy": "deployment", "spec": install}
	if err := unstructured.SetNestedField(b.csv.Object, install, "spec", "install"); err != nil {
		return err
	}
	b.files[packageName+".clusterserviceversion.yaml"] = &b.csv
	return b.webhooks(deployment)
}

func (b *bundle) find(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range b.objects {
		if o.GetKind() == kind && (name == "" || o.GetName() == name && o.GetNamespace() == namespace) {
			return o
		}
	}
	return nil
}

// own a CRD.
func (b *bundle) own(crd *unstructured.Unstructured) {
	owned, _, _ := unstructured.NestedSlice(b.csv.Object, "spec", "customresourcedefinitions", "owned")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version := v.(map[string]any)
		description, _, _ := unstructured.NestedString(version, "schema", "openAPIV3Schema", "description")
		owned = append(owned, map[string]any{
			"name": crd.GetName(), "kind": kind, "version": version["name"], "displayName": kind,
			"description": strings.Join(strings.Fields(description), " "),
		})
	}
	_ = unstructured.SetNestedSlice(b.csv.Object, owned, "spec", "customresourcedefinitions", "owned")
	b.files[crd.GetName()+".yaml"] = crd
}

// describe the version, its examples, and the namespace that it suggests.
func (b *bundle) describe(namespace string) error {
	b.csv.SetName(packageName + ".v" + b.version)
	if err := unstructured.SetNestedField(b.csv.Object, b.version, "spec", "version"); err != nil {
		return err
	}
	examples, err := json.Marshal(b.examples)
	if err != nil {
		return fmt.Errorf("write the examples: %w", err)
	}
	template, err := json.Marshal(b.find("Namespace", "", namespace))
	if err != nil {
		return fmt.Errorf("write the namespace: %w", err)
	}
	annotations := b.csv.GetAnnotations()
	annotations["alm-examples"] = string(examples)
	annotations["operatorframework.io/suggested-namespace-template"] = strings.TrimSpace(string(template))
	b.csv.SetAnnotations(annotations)
	return nil
}

// install is the Deployment and what its account may do.
func (b *bundle) install(deployment *unstructured.Unstructured) (map[string]any, error) {
	spec := deployment.Object["spec"].(map[string]any)
	pod, _, _ := unstructured.NestedMap(spec, "template", "spec")
	withoutCertificates := func(in map[string]any, field string) {
		in[field] = slices.DeleteFunc(in[field].([]any), func(v any) bool { return v.(map[string]any)["name"] == certificates })
		if len(in[field].([]any)) == 0 {
			delete(in, field)
		}
	}
	withoutCertificates(pod, "volumes")
	container := pod["containers"].([]any)[0].(map[string]any)
	withoutCertificates(container, "volumeMounts")
	name, _, _ := strings.Cut(container["image"].(string), ":")
	container["image"] = cmp.Or(b.image, name+":v"+b.version)
	if b.image != "" { // a Subscription can't change arguments
		beside := path.Dir(b.image)
		container["args"] = append(container["args"].([]any), "--image-registry="+beside, "--chart-registry=oci://"+beside+"/charts")
	}
	if err := unstructured.SetNestedMap(spec, pod, "template", "spec"); err != nil {
		return nil, fmt.Errorf("edit the Deployment: %w", err)
	}
	out := map[string]any{"deployments": []any{map[string]any{"name": deployment.GetName(), "label": labels(deployment), "spec": spec}}}
	for field, kind := range map[string]string{"clusterPermissions": "ClusterRole", "permissions": "Role"} {
		var rules []any
		for _, o := range b.objects {
			if o.GetKind() == kind && b.granted(o, deployment.GetNamespace()) {
				rules = append(rules, o.Object["rules"].([]any)...)
			}
		}
		out[field] = []any{map[string]any{"serviceAccountName": pod["serviceAccountName"], "rules": rules}}
	}
	return out, nil
}

func labels(o *unstructured.Unstructured) map[string]any {
	all := map[string]any{}
	for key, value := range o.GetLabels() {
		all[key] = value
	}
	return all
}

// granted are the bindings to the operator's account, in all namespaces or in its own, and the roles that they bind.
func (b *bundle) granted(o *unstructured.Unstructured, namespace string) bool {
	if o.GetNamespace() != "" && o.GetNamespace() != namespace {
		return false
	}
	switch kind := o.GetKind(); kind {
	case "ClusterRoleBinding", "RoleBinding":
		return true
	case "ClusterRole", "Role":
		binding := b.find(kind+"Binding", o.GetNamespace(), o.GetName())
		return binding != nil
	}
	return false
}

// webhooks of the configuration; OLM makes the Service and its certificate.
func (b *bundle) webhooks(deployment *unstructured.Unstructured) error {
	var all []any
	for _, o := range b.objects {
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, h := range hooks {
			hook := h.(map[string]any)
			name, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "name")
			namespace, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "namespace")
			path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
			service := b.find("Service", namespace, name)
			if service == nil {
				return fmt.Errorf("the manifests have no Service %s/%s", namespace, name)
			}
			ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
			port := ports[0].(map[string]any)
			hook["type"], hook["generateName"], hook["webhookPath"] = "ValidatingAdmissionWebhook", hook["name"], path
			hook["deploymentName"], hook["containerPort"], hook["targetPort"] = deployment.GetName(), port["port"], port["targetPort"]
			delete(hook, "name")
			delete(hook, "clientConfig")
			all = append(all, hook)
		}
	}
	return unstructured.SetNestedSlice(b.csv.Object, all, "spec", "webhookdefinitions")
}
