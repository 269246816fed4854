package components_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var release = components.Release{Registry: "ghcr.io/bedplate", Charts: components.DefaultCharts, Version: "v1.2.3"}

var machines = netip.MustParsePrefix("192.0.2.0/24")

func configuration() *operatorv1.DPFOperatorConfig {
	c := &operatorv1.DPFOperatorConfig{}
	c.Namespace, c.Name, c.UID = operatorv1.Namespace, operatorv1.Name, "00000000-0000-4000-8000-000000000001"
	c.Spec.ImagePullSecrets = []string{"ngc", "docker"}
	c.Spec.BFBPersistentVolume = "volume-one"
	c.Spec.ImageOverrides = map[string]operatorv1.Image{}
	c.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{
		HostPF0: "ens2f0np0", HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.96.0/20", Hosts: []operatorv1.Host{{
			HostClusterNodeName: "ocp-worker-1", DPUClusterNodeName: "dpu-worker-1",
			HostIP: "10.0.96.10/24", DPUIP: "10.0.96.20/24", Gateway: "10.0.96.254",
		}},
	}
	return c
}

func render(g Gomega, c *operatorv1.DPFOperatorConfig) (all []*unstructured.Unstructured) {
	for _, place := range []components.Place{components.HostCluster, components.DPUClusters} {
		for _, network := range []bool{false, true} {
			objects, err := release.Render(c, place, network, machines)
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, objects...)
		}
	}
	return all
}

// imageOf an object: of its only container, or of the chart.
func imageOf(g Gomega, all []*unstructured.Unstructured, kind, name string) string {
	o := find(all, kind, name)
	g.Expect(o).NotTo(BeNil(), "%s %s", kind, name)
	if kind == "DPUService" {
		image, _, err := unstructured.NestedString(o.Object, "spec", "helmChart", "values", "image")
		g.Expect(err).NotTo(HaveOccurred())
		return image
	}
	containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(containers).To(HaveLen(1))
	return containers[0].(map[string]any)["image"].(string)
}

func find(all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// workloads by the keys of their components.
var workloads = map[operatorv1.Component][2]string{
	operatorv1.ComponentDPUService:             {"Deployment", "dpf-dpuservice-controller"},
	operatorv1.ComponentServiceFunctionChain:   {"Deployment", "dpf-servicefunctionchain-controller"},
	operatorv1.ComponentProvisioning:           {"Deployment", "dpf-provisioning-controller"},
	operatorv1.ComponentHostNetworkProvisioner: {"DaemonSet", "dpf-hostnetworkprovisioner"},
	operatorv1.ComponentServiceChainSet:        {"DPUService", "servicechainset"},
	operatorv1.ComponentServiceChain:           {"DPUService", "servicechain"},
	operatorv1.ComponentServiceIPAMSet:         {"DPUService", "serviceipamset"},
	operatorv1.ComponentServiceIPAM:            {"DPUService", "serviceipam"},
	operatorv1.ComponentServiceInterfaceSet:    {"DPUService", "serviceinterfaceset"},
	operatorv1.ComponentServiceInterface:       {"DPUService", "serviceinterface"},
	operatorv1.ComponentDPUCNIProvisioner:      {"DPUService", "dpucniprovisioner"},
}

// What users' DPUServices may come from is a flag of the controller alone, which the operator passes on.
func TestRender_passesOnSourceRepos(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	restricted := release
	restricted.SourceRepos = "oci://example.com/**,https://example.com/charts"
	arguments := func(r components.Release, name string) []any {
		all, err := r.Render(configuration(), components.HostCluster, false, machines)
		g.Expect(err).NotTo(HaveOccurred())
		containers, _, err := unstructured.NestedSlice(find(all, "Deployment", name).Object, "spec", "template", "spec", "containers")
		g.Expect(err).NotTo(HaveOccurred())
		return containers[0].(map[string]any)["args"].([]any)
	}
	flag := ContainElement("--source-repos=oci://example.com/**,https://example.com/charts")
	g.Expect(arguments(restricted, "dpf-dpuservice-controller")).To(flag)
	g.Expect(arguments(restricted, "dpf-servicefunctionchain-controller")).NotTo(flag)
	g.Expect(arguments(release, "dpf-dpuservice-controller")).NotTo(ContainElement(HavePrefix("--source-repos")))
}

// On the way back there may be no configuration any more: the clean-up starts without it. The provisioner itself needs it.
func TestRender_theCleanUpOfHostsNeedsNoConfiguration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	without := configuration()
	without.Spec.HostNetworkConfiguration = nil
	all, err := release.HostCleanUp(without)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(find(all, "ConfigMap", components.HostNetworkProvisioner)).To(BeNil())
	for name, optional := range map[string]bool{components.HostNetworkCleanUp: true, components.HostNetworkProvisioner: false} {
		set := &appsv1.DaemonSet{}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(find(all, "DaemonSet", name).Object, set)).To(Succeed())
		sources := 0
		for _, volume := range set.Spec.Template.Spec.Volumes {
			if volume.ConfigMap != nil {
				g.Expect(ptr.Deref(volume.ConfigMap.Optional, false)).To(Equal(optional), name)
				sources++
			}
		}
		g.Expect(sources).To(Equal(1), name)
	}
}

// The peer splits an image at its first colon.
func TestRender_imagesAreThoseOfTheUserAsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	defaults := render(g, configuration())
	g.Expect(imageOf(g, defaults, "Deployment", "dpf-dpuservice-controller")).To(Equal("ghcr.io/bedplate/dpf-dpuservice-manager:v1.2.3"))
	for _, image := range []operatorv1.Image{
		"localhost:5000/my-image", "localhost:5000/my-image:v1",
		operatorv1.Image("[::1]:5000/a/b@sha256:" + strings.Repeat("0a", 32)),
		operatorv1.Image("nvcr.io/nvidia/doca/x:v1@sha256:" + strings.Repeat("0a", 32)),
	} {
		for key, overridden := range workloads {
			c := configuration()
			c.Spec.ImageOverrides[string(key)] = image
			all := render(g, c)
			for other, workload := range workloads {
				want := imageOf(g, defaults, workload[0], workload[1])
				if other == key {
					want = string(image)
				}
				g.Expect(imageOf(g, all, workload[0], workload[1])).To(Equal(want), "%s with an override of %s", workload[1], overridden[1])
			}
		}
	}
}

// Images have a tag latest, charts have versions only.
func TestRender_chartsOfABuildThatIsNoReleaseAreTheNewest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "latest": ">=0.0.0-0"} {
		objects, err := components.Release{Charts: components.DefaultCharts, Version: version}.Render(configuration(), components.DPUClusters, false, machines)
		g.Expect(err).NotTo(HaveOccurred())
		chart, _, _ := unstructured.NestedString(objects[0].Object, "spec", "helmChart", "source", "version")
		g.Expect(chart).To(Equal(want))
	}
}

// Services and chains are one program: with one lease or one role, an override of one image would be one of both.
func TestRender_servicesAndChainsAreIndependent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := render(g, configuration())
	for name, want := range map[string][2]string{
		"dpf-dpuservice-controller":           {"--controllers=services", "dpf-dpuservice-manager"},
		"dpf-servicefunctionchain-controller": {"--controllers=chains", "dpf-servicefunctionchain-manager"},
	} {
		containers, _, _ := unstructured.NestedSlice(find(all, "Deployment", name).Object, "spec", "template", "spec", "containers")
		g.Expect(containers[0].(map[string]any)["args"]).To(ContainElement(want[0]))
		for _, kind := range []string{"ClusterRoleBinding", "RoleBinding"} {
			role, _, _ := unstructured.NestedString(find(all, kind, name).Object, "roleRef", "name")
			g.Expect(role).To(Equal(want[1]), kind)
		}
	}
}

func TestTable_hasEveryKeyAndTheyAreRendered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var keys []operatorv1.Component
	for _, c := range components.Table {
		keys = append(keys, c.Key)
		g.Expect(c.Does).NotTo(BeEmpty())
		g.Expect(c.Copied).To(Equal(workloads[c.Key] == [2]string{}))
		g.Expect(c.Image != "").To(Equal(!c.Copied))
	}
	g.Expect(keys).To(ConsistOf(operatorv1.Components))
}

func TestRender_editsWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := configuration()
	all := render(g, c)
	for _, o := range all {
		path := []string{"spec", "template", "spec", "imagePullSecrets"}
		switch o.GetKind() {
		case "DPUService":
			path = []string{"spec", "helmChart", "values", "imagePullSecrets"}
		case "Deployment", "DaemonSet":
		default:
			continue
		}
		secrets, _, err := unstructured.NestedSlice(o.Object, path...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(secrets).To(Equal([]any{map[string]any{"name": "ngc"}, map[string]any{"name": "docker"}}), o.GetName())
	}
	volume, _, _ := unstructured.NestedString(find(all, "PersistentVolumeClaim", components.BFBClaim).Object, "spec", "volumeName")
	g.Expect(volume).To(Equal("volume-one"))

	text, _, _ := unstructured.NestedString(find(all, "ConfigMap", components.HostNetworkProvisioner).Object, "data", config.Key)
	host, err := config.ParseHost([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(host.PFIPs).To(Equal(map[string]netip.Prefix{"ocp-worker-1": netip.MustParsePrefix("10.0.96.10/24")}))
	text, _, _ = unstructured.NestedString(find(all, "DPUService", "dpucniprovisioner").Object, "spec", "helmChart", "values", "config")
	side, err := config.ParseDPU([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(side.HostCIDR).To(Equal(machines))
	g.Expect(side.HostNodes).To(Equal(map[string]string{"dpu-worker-1": "ocp-worker-1"}))

	c.Spec.ImagePullSecrets, c.Spec.HostNetworkConfiguration = nil, nil
	without := render(g, c)
	g.Expect(find(without, "DaemonSet", components.HostNetworkProvisioner)).To(BeNil())
	g.Expect(find(without, "DPUService", "dpucniprovisioner")).To(BeNil())
	g.Expect(find(without, "Deployment", "dpf-dpuservice-controller").Object["spec"].(map[string]any)["template"].(map[string]any)["spec"]).
		NotTo(HaveKey("imagePullSecrets"))

	c = configuration()
	c.Spec.HostNetworkConfiguration.Hosts[0].Gateway = "192.0.2.1"
	_, err = release.Render(c, components.HostCluster, true, machines)
	g.Expect(err).To(MatchError(And(ContainSubstring("component hostnetworkprovisioner"), ContainSubstring("ocp-worker-1: the gateway 192.0.2.1"))))
}

// In the peer, a helper that edits labels changes a map that other objects share.
func TestRender_sharesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := configuration()
	first, untouched := render(g, c), render(g, c)
	for i, o := range first {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["leak"] = "yes"
		o.SetLabels(labels)
		scribble(o.Object)
		for j, other := range first[i+1:] {
			g.Expect(other.Object).To(Equal(untouched[i+1+j].Object))
		}
	}
	g.Expect(c).To(Equal(configuration()))
	g.Expect(render(g, c)).To(Equal(untouched))
}

// scribble over everything.
func scribble(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			scribble(field)
		}
		v["scribble"] = "x"
	case []any:
		for i := range v {
			scribble(v[i])
			v[i] = "scribble"
		}
	}
}
