package dpf_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

const account = "bedplate-dpf-manager"

// supported are the kinds that OLM takes from a bundle, as far as they matter here: pkg/lib/bundle/supported_resources.go of
// operator-framework/operator-registry v1.57.0. With another one in it nothing of a bundle is installed.
var supported = []string{"ClusterServiceVersion", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"ServiceAccount", "Service", "ConfigMap", "Secret", "PodDisruptionBudget", "PriorityClass", "PrometheusRule", "ServiceMonitor",
	"NetworkPolicy"}

// permission of a ClusterServiceVersion.
type permission struct {
	ServiceAccountName string
	Rules              []rbacv1.PolicyRule
}

// csv is what there is to compare of a ClusterServiceVersion.
type csv struct {
	Spec struct {
		InstallModes []struct {
			Type      string
			Supported bool
		}
		CustomResourceDefinitions struct {
			Owned []struct{ Name, Kind, Version string }
		}
		Install struct {
			Spec struct {
				Deployments []struct {
					Name string
					Spec appsv1.DeploymentSpec
				}
				ClusterPermissions, Permissions []permission
			}
		}
		WebhookDefinitions []struct {
			admissionregistrationv1.ValidatingWebhook
			GenerateName, DeploymentName, Type, WebhookPath, TargetPort string
		}
	}
}

func objectsOf(g Gomega, pattern string) (all []*unstructured.Unstructured) {
	files, err := filepath.Glob(pattern)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		objects, err := manifest.Decode(data)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, objects...)
	}
	return all
}

func bundleCSV(g Gomega) (c csv) {
	data, err := os.ReadFile("bundle/manifests/bedplate-dpf.clusterserviceversion.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(data, &c)).To(Succeed())
	return c
}

// granted are the rules that the operator's account has in a namespace, or in all of them.
func granted(t *testing.T, g Gomega, namespace string) (rules []rbacv1.PolicyRule) {
	all, err := manifest.Decode([]byte(testenv.Render(t, "rbac")))
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range all {
		if !strings.HasSuffix(o.GetKind(), "Binding") || o.GetNamespace() != namespace {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		g.Expect(subjects).To(ConsistOf(And(HaveKeyWithValue("name", account), HaveKeyWithValue("namespace", operatorv1.Namespace))))
		kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
		i := slices.IndexFunc(all, func(r *unstructured.Unstructured) bool {
			return r.GetKind() == kind && r.GetName() == name && r.GetNamespace() == namespace
		})
		var role rbacv1.ClusterRole
		text, err := yaml.Marshal(all[i].Object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(text, &role)).To(Succeed())
		rules = append(rules, role.Rules...)
	}
	return rules
}

// The operator that OLM installs may do what the one may that kubectl installs, and neither more nor less.
func TestBundle_hasTheRightsOfTheManifests(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := bundleCSV(g)
	for namespace, permissions := range map[string][]permission{
		"": c.Spec.Install.Spec.ClusterPermissions, operatorv1.Namespace: c.Spec.Install.Spec.Permissions,
	} {
		g.Expect(permissions).To(HaveLen(1))
		g.Expect(permissions[0].ServiceAccountName).To(Equal(account))
		g.Expect(permissions[0].Rules).To(ConsistOf(granted(t, g, namespace)))
	}
	// With AllNamespaces OLM would make the rights in one namespace rights in all.
	for _, mode := range c.Spec.InstallModes {
		g.Expect(mode.Supported).To(Equal(mode.Type == "OwnNamespace"), mode.Type)
	}
}

// But OLM serves the webhooks with a certificate of its own, which it mounts where the manager looks for it.
func TestBundle_hasTheDeploymentAndTheWebhooksOfTheManifests(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	testenv.Kustomize(t, "manager", map[string]any{"Deployment": &deployment})
	testenv.Kustomize(t, "webhook", map[string]any{"ValidatingWebhookConfiguration": &hooks})
	c := bundleCSV(g)
	g.Expect(c.Spec.Install.Spec.Deployments).To(HaveLen(1))
	got, want := c.Spec.Install.Spec.Deployments[0], deployment.Spec
	pod := &want.Template.Spec
	g.Expect(pod.Volumes).To(ConsistOf(HaveField("Name", "webhooks-cert")))
	g.Expect(pod.Containers[0].VolumeMounts).To(ConsistOf(And(HaveField("Name", "webhooks-cert"),
		HaveField("MountPath", manager.Command("manager", "", nil).Flags().Lookup("webhook-cert-dir").DefValue))))
	pod.Volumes, pod.Containers[0].VolumeMounts = nil, nil
	name, _, _ := strings.Cut(pod.Containers[0].Image, ":")
	g.Expect(got.Spec.Template.Spec.Containers[0].Image).To(MatchRegexp("^%s:v[0-9.]+$", regexp.QuoteMeta(name)))
	pod.Containers[0].Image = got.Spec.Template.Spec.Containers[0].Image
	g.Expect(got.Name).To(Equal(deployment.Name))
	g.Expect(got.Spec).To(BeComparableTo(want))

	g.Expect(c.Spec.WebhookDefinitions).To(HaveLen(len(hooks.Webhooks)))
	for i, hook := range hooks.Webhooks {
		got := c.Spec.WebhookDefinitions[i]
		g.Expect([]string{got.GenerateName, got.DeploymentName, got.Type, got.WebhookPath, got.TargetPort}).To(Equal(
			[]string{hook.Name, deployment.Name, "ValidatingAdmissionWebhook", *hook.ClientConfig.Service.Path, "webhooks"}))
		hook.Name, hook.ClientConfig = "", admissionregistrationv1.WebhookClientConfig{}
		g.Expect(got.ValidatingWebhook).To(BeComparableTo(hook))
	}
}

// Every object that kubectl installs is installed by OLM, made by OLM itself, or in cluster.yaml; and OLM takes all that is in the bundle.
func TestBundle_losesNothingOfTheManifests(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all, err := manifest.Decode([]byte(testenv.Render(t, "default")))
	g.Expect(err).NotTo(HaveOccurred())
	bundle, cluster := objectsOf(g, "bundle/manifests/*.yaml"), objectsOf(g, "bundle/cluster.yaml")
	of := func(objects []*unstructured.Unstructured, o *unstructured.Unstructured) map[string]any {
		for _, other := range objects {
			same := other.GetKind() == o.GetKind() && other.GetName() == o.GetName()
			if same && (other.GetNamespace() == o.GetNamespace() || other.GetNamespace() == "") {
				copied := o.DeepCopy() // in a bundle the namespace is that of the installation
				copied.SetNamespace(other.GetNamespace())
				g.Expect(other.Object).To(Equal(copied.Object))
				return other.Object
			}
		}
		return nil
	}
	var elsewhere []string
	for _, o := range all {
		if of(bundle, o) == nil && of(cluster, o) == nil {
			elsewhere = append(elsewhere, o.GetKind()+" "+o.GetName())
		}
	}
	g.Expect(elsewhere).To(ConsistOf(
		// in the ClusterServiceVersion
		"Deployment "+account, "ValidatingWebhookConfiguration bedplate-dpf-webhooks", "ClusterRole "+account, "ClusterRoleBinding "+account,
		"Role "+account, "RoleBinding "+account, "Role "+account+"-leader-election", "RoleBinding "+account+"-leader-election",
		"ClusterRole "+account+"-metrics-auth", "ClusterRoleBinding "+account+"-metrics-auth",
		// made by OLM
		"ServiceAccount "+account, "Service bedplate-dpf-webhooks", "Certificate bedplate-dpf-webhooks", "Certificate bedplate-dpf-webhooks-ca",
		"Issuer bedplate-dpf-webhooks", "Issuer bedplate-dpf-webhooks-selfsigned"))
	for _, o := range bundle {
		g.Expect(supported).To(ContainElement(o.GetKind()), o.GetName())
	}
	g.Expect(cluster[0].GetKind()).To(Equal("Namespace"), "the others are in it")
}

// All kinds of DPF are in it, and the ClusterServiceVersion owns them.
func TestBundle_ownsAllKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var kinds, owned []string
	for _, file := range objectsOf(g, "crd/bases/*.yaml") {
		var crd apiextensionsv1.CustomResourceDefinition
		text, err := yaml.Marshal(file.Object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(text, &crd)).To(Succeed())
		kinds = append(kinds, crd.Name+" "+crd.Spec.Names.Kind+" "+crd.Spec.Versions[0].Name)
	}
	for _, o := range bundleCSV(g).Spec.CustomResourceDefinitions.Owned {
		owned = append(owned, o.Name+" "+o.Kind+" "+o.Version)
	}
	g.Expect(owned).To(ConsistOf(kinds))
	g.Expect(owned).To(HaveLen(9))
}

// The image says of itself what the metadata say.
func TestBundle_isLabelledAsItsMetadataSay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var metadata struct{ Annotations map[string]string }
	data, err := os.ReadFile("bundle/metadata/annotations.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(data, &metadata)).To(Succeed())
	dockerfile, err := os.ReadFile("bundle/Dockerfile")
	g.Expect(err).NotTo(HaveOccurred())
	labels := map[string]string{}
	for _, label := range regexp.MustCompile(`(?m)^LABEL (\S+)=(\S+)$`).FindAllStringSubmatch(string(dockerfile), -1) {
		labels[label[1]] = label[2]
	}
	g.Expect(labels).To(Equal(metadata.Annotations))
}
