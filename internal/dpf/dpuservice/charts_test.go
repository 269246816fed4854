package dpuservice_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/testenv"
)

const override = "localhost:5000/mine@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// services are the components of DPU clusters, as the operator writes them.
func services(g Gomega) (all []*svcv1.DPUService) {
	c := &operatorv1.DPFOperatorConfig{}
	c.Spec.ImagePullSecrets, c.Spec.ImageOverrides = []string{"ngc", "docker"}, map[string]operatorv1.Image{"serviceipam": override}
	c.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{
		HostPF0: "ens2f0np0", HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.96.0/20", Hosts: []operatorv1.Host{{
			HostClusterNodeName: "ocp-worker-1", DPUClusterNodeName: "dpu-worker-1",
			HostIP: "10.0.96.10/24", DPUIP: "10.0.96.20/24", Gateway: "10.0.96.254",
		}},
	}
	release := components.Release{Registry: components.DefaultRegistry, Charts: components.DefaultCharts, Version: "v1.2.3"}
	for _, network := range []bool{false, true} {
		objects, err := release.Render(c, components.DPUClusters, network, netip.MustParsePrefix("192.0.2.0/24"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, o := range objects {
			service := &svcv1.DPUService{}
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, service)).To(Succeed())
			all = append(all, service)
		}
	}
	return all
}

// Each component of DPU clusters has its chart, and what Helm makes of it with the operator's values is accepted by the API server.
func TestCharts_areThoseOfTheComponents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	namespace := testenv.Namespace(t)
	owners := map[string]string{} // charts, by what they have
	var charts []string
	for _, service := range services(g) {
		chart := service.Spec.HelmChart.Source.Chart
		charts = append(charts, chart)
		values, err := dpuservice.ValuesOf(service, nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		pods := 0
		for _, o := range testenv.Chart(t, chart, namespace, values) {
			key := fmt.Sprint(o.GetKind(), " ", o.GetNamespace(), "/", o.GetName())
			g.Expect(owners).NotTo(HaveKey(key), "Argo CD would have two Applications fight for it")
			owners[key] = chart
			if pod, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found {
				pods++
				expectPod(g, pod, service, values)
			}
			if o.GetKind() == "ConfigMap" {
				text, _, _ := unstructured.NestedString(o.Object, "data", config.Key)
				side, err := config.ParseDPU([]byte(text))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(side.PerNodeConfig).To(HaveKey("dpu-worker-1"))
				g.Expect(o.GetAnnotations()).To(HaveKeyWithValue("argocd.argoproj.io/sync-options", "ServerSideApply=true"), "it can be large")
			}
			err := testenv.Client(t).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.FieldOwner("argocd-controller"))
			g.Expect(err).NotTo(HaveOccurred(), "%s: %s", chart, key)
		}
		g.Expect(pods).To(Equal(1), chart)
	}
	there, err := filepath.Glob(filepath.Join(tools.ModuleRoot("."), "charts", "*", "Chart.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there).To(HaveLen(len(charts)), "%s", charts)
	for _, kind := range []string{"servicechains", "servicechainsets", "serviceinterfaces", "serviceinterfacesets"} {
		g.Expect(owners).To(HaveKey("CustomResourceDefinition /" + kind + "." + svcv1.GroupVersion.Group))
	}
}

// expectPod to have the image, the pull secrets, and the labels by which it is found.
func expectPod(g Gomega, template map[string]any, service *svcv1.DPUService, values map[string]any) {
	pod := &corev1.PodTemplateSpec{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod)).To(Succeed())
	g.Expect(pod.Labels).To(HaveKeyWithValue(svcv1.ServiceIDLabel, service.Name))
	g.Expect(pod.Spec.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "ngc"}, corev1.LocalObjectReference{Name: "docker"}))
	g.Expect(pod.Spec.Containers).To(HaveLen(1))
	g.Expect(pod.Spec.Containers[0].Image).To(Equal(values["image"]))
	if service.Name == "serviceipam" {
		g.Expect(pod.Spec.Containers[0].Image).To(Equal(override))
	}
}

// What a service's users say of its DaemonSet reaches the Pods, but for the label that the DaemonSet finds them by.
func TestCharts_takeWhatIsSaidOfTheDaemonSet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	service := services(g)[1]
	g.Expect(service.Name).To(Equal("servicechain"))
	const found = "app.kubernetes.io/name"
	service.Spec.ServiceDaemonSet = &svcv1.ServiceDaemonSet{
		Labels: map[string]string{"team": "blue", found: "x"}, Annotations: map[string]string{"owner": "team-blue"},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{"r1"}}}}}},
	}
	values, err := dpuservice.ValuesOf(service, nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	all := testenv.Chart(t, "dpf-servicechain", testenv.Namespace(t), values)
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "DaemonSet" })
	template, _, _ := unstructured.NestedMap(all[i].Object, "spec", "template")
	pod := &corev1.PodTemplateSpec{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod)).To(Succeed())
	g.Expect(pod.Labels).To(Equal(map[string]string{"team": "blue", found: "dpf-servicechain", svcv1.ServiceIDLabel: "servicechain"}))
	g.Expect(pod.Annotations).To(Equal(service.Spec.ServiceDaemonSet.Annotations))
	g.Expect(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(Equal(service.Spec.ServiceDaemonSet.NodeSelector))
}

// The two charts of a program give it the rights that its markers say, and no others. That these suffice is shown where the programs run.
func TestCharts_haveTheRightsOfTheirPrograms(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for file, charts := range map[string][]string{
		"../dpuset/fanout.go":  {"dpf-servicechainset", "dpf-serviceinterfaceset"},
		"../dpuagent/agent.go": {"dpf-servicechain", "dpf-serviceinterface"},
	} {
		source, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		wanted := map[string]bool{
			"authentication.k8s.io/tokenreviews create": true, "authorization.k8s.io/subjectaccessreviews create": true, // for metrics
		}
		for line := range strings.SplitSeq(string(source), "\n") {
			if marker, is := strings.CutPrefix(line, "// +kubebuilder:rbac:"); is {
				fields := map[string]string{}
				for field := range strings.SplitSeq(marker, ",") {
					key, value, _ := strings.Cut(field, "=")
					fields[key] = strings.Trim(value, `"`)
				}
				add(wanted, []string{fields["groups"]}, strings.Split(fields["resources"], ";"), strings.Split(fields["verbs"], ";"))
			}
		}
		given := map[string]bool{}
		for _, chart := range charts {
			for _, o := range testenv.Chart(t, chart, "a", map[string]any{"image": "a"}) {
				if o.GetKind() == "ClusterRole" {
					role := &rbacv1.ClusterRole{}
					data, err := json.Marshal(o)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(json.Unmarshal(data, role)).To(Succeed())
					for _, rule := range role.Rules {
						add(given, rule.APIGroups, rule.Resources, rule.Verbs)
					}
				}
			}
		}
		g.Expect(given).To(Equal(wanted), file)
	}
}

func add(to map[string]bool, groups, resources, verbs []string) {
	for _, group := range groups {
		for _, resource := range resources {
			for _, verb := range verbs {
				to[group+"/"+resource+" "+verb] = true
			}
		}
	}
}
