package hostnetwork

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

func required(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

func term(keys ...string) (t corev1.NodeSelectorTerm) {
	for _, key := range keys {
		t.MatchExpressions = append(t.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpDoesNotExist})
	}
	return t
}

func TestKeepAway_andBack(t *testing.T) {
	t.Parallel()
	moved := operatorv1.NetworkMovedLabel
	byField := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"a"}}}}
	byFieldAway := *byField.DeepCopy()
	byFieldAway.MatchExpressions = []corev1.NodeSelectorRequirement{away}
	pods := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	podsAway := required(term(moved))
	podsAway.PodAntiAffinity = &corev1.PodAntiAffinity{}
	for name, row := range map[string]struct{ before, after *corev1.Affinity }{
		"none":                        {nil, required(term(moved))},
		"of Pods":                     {pods, podsAway},
		"a term":                      {required(term("x")), required(term("x", moved))},
		"terms, of which one is met":  {required(term("x"), term("y", "z")), required(term("x", moved), term("y", "z", moved))},
		"a term that matches nothing": {required(term("x"), term()), required(term("x", moved), term())},
		"a term by field":             {required(byField), required(byFieldAway)},
	} {
		g := NewWithT(t)
		before := row.before.DeepCopy()
		g.Expect(isAway(row.before)).To(BeFalse(), name)
		g.Expect(keepAway(row.before)).To(Equal(row.after), name)
		g.Expect(row.before).To(Equal(before), name)
		g.Expect(keepAway(row.after)).To(Equal(row.after), "%s, twice", name)
		g.Expect(isAway(row.after)).To(BeTrue(), name)
		g.Expect(equality.Semantic.DeepEqual(letBack(row.after), before)).To(BeTrue(), name)
		g.Expect(letBack(row.before)).To(BeIdenticalTo(row.before), name)
	}
}

func TestAffinityBack_leavesWhatOthersHaveChanged(t *testing.T) {
	t.Parallel()
	empty := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	for name, row := range map[string]struct {
		original, now, wanted *corev1.Affinity
		noted                 bool
	}{
		"as we made it":           {required(term("x")), keepAway(required(term("x"))), required(term("x")), false},
		"an empty one":            {empty, keepAway(empty), empty, false},
		"none":                    {nil, keepAway(nil), nil, false},
		"back already":            {required(term("x")), required(term("x")), required(term("x")), false},
		"changed":                 {required(term("x")), keepAway(required(term("y"))), required(term("y")), true},
		"changed, without ours":   {required(term("x")), required(term("y")), required(term("y")), true},
		"taken out, but for ours": {required(term("x")), keepAway(nil), nil, true},
	} {
		g := NewWithT(t)
		wanted, note := affinityBack(row.now, journal.Cluster{DaemonSet: &journal.DaemonSet{Affinity: row.original}})
		g.Expect(wanted).To(Equal(row.wanted), name)
		g.Expect(note != "").To(Equal(row.noted), name)
	}
}

func TestSetOption_ofItsOwnSection(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ before, after, err string }{
		"without it":            {"[default]\na=1\n\n[gateway]\nmode=shared", "[default]\na=1\n\n[gateway]\nx=true\nmode=shared", ""},
		"with another value":    {"[gateway]\nmode=shared\nx = false\ny=1", "[gateway]\nmode=shared\nx=true\ny=1", ""},
		"in another section":    {"[gateway]\n[other]\nx=false", "[gateway]\nx=true\n[other]\nx=false", ""},
		"mentioned in a value":  {"[default]\ntext=[gateway]\n", "", "no section [gateway]"},
		"with spaces around it": {"  [gateway]  \nx1=2", "  [gateway]  \nx=true\nx1=2", ""},
		"nothing":               {"", "", "no section [gateway]"},
	} {
		g := NewWithT(t)
		after, err := setOption(row.before, "gateway", "x", "true")
		if row.err == "" {
			g.Expect(err).NotTo(HaveOccurred(), name)
			g.Expect(after).To(Equal(row.after), name)
		} else {
			g.Expect(err).To(MatchError(ContainSubstring(row.err)), name)
		}
	}
}

func source() sources {
	volume := func(name string) corev1.Volume {
		return corev1.Volume{Name: "of-" + name, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		}}
	}
	set := &appsv1.DaemonSet{}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ovnkube-node"}}
	set.Spec.Template.Labels = map[string]string{"app": "ovnkube-node", "component": "network"}
	set.Spec.Template.Spec = corev1.PodSpec{
		Affinity: keepAway(required(term("x"))), Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		InitContainers: []corev1.Container{{Name: "kubecfg-setup", Image: "localhost:5000/ovn@sha256:1"}},
		Containers: []corev1.Container{
			{Name: "ovn-controller", Image: "localhost:5000/ovn@sha256:1"}, {Name: "kube-rbac-proxy-node", Image: "proxy"},
			{Name: nodeContainer, Image: "localhost:5000/ovn@sha256:1", Env: []corev1.EnvVar{{Name: managementEnv, Value: "old"}, {Name: "A"}}},
		},
		Volumes: []corev1.Volume{volume(configName), volume(scriptName), volume("env-overrides")},
	}
	return sources{
		daemonSet: set,
		config:    &corev1.ConfigMap{Data: map[string]string{configKey: "[default]\n[gateway]\n", "other": "kept"}},
		script:    &corev1.ConfigMap{Data: map[string]string{scriptKey: "exec " + ovsLocal + " ${" + managementEnv + "} " + ovsLocal}},
	}
}

func TestCopies_areEditedInAllTheirPlacesAndLeaveTheSourcesAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	src := source()
	network := &operatorv1.HostNetworkConfiguration{HostPF0VF0: "enp23s0f0v0"}
	all, err := copies(src, network, "localhost:5000/my-ovn:v1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(src).To(Equal(source()))
	config, script, set := all[0].(*corev1.ConfigMap), all[1].(*corev1.ConfigMap), all[2].(*appsv1.DaemonSet)
	g.Expect(config.Data).To(Equal(map[string]string{
		configKey: "[default]\ncontrol-ovn-encap-ip-external-id=false\n[gateway]\ndisable-pkt-mtu-check=true\n", "other": "kept",
	}))
	g.Expect(script.Data[scriptKey]).To(Equal("exec tcp:169.254.55.1:8500 ${OVNKUBE_NODE_MGMT_PORT_NETDEV} tcp:169.254.55.1:8500"))
	pod := set.Spec.Template.Spec
	g.Expect(set.Spec.Selector.MatchLabels).To(Equal(map[string]string{"app": "ovnkube-node-dpf"}))
	g.Expect(set.Spec.Template.Labels).To(Equal(map[string]string{"app": "ovnkube-node-dpf", "component": "network"}))
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{operatorv1.NetworkPreconfigReadyLabel: ""}))
	g.Expect(pod.Affinity).To(Equal(required(term("x"))), "it isn't kept away itself")
	g.Expect(pod.Containers[2].Env).To(Equal([]corev1.EnvVar{{Name: "A"}, {Name: managementEnv, Value: "enp23s0f0v0"}}))
	g.Expect([]string{pod.InitContainers[0].Image, pod.Containers[0].Image, pod.Containers[1].Image, pod.Containers[2].Image}).To(Equal(
		[]string{"localhost:5000/my-ovn:v1", "localhost:5000/my-ovn:v1", "proxy", "localhost:5000/my-ovn:v1"}))
	g.Expect([]string{pod.Volumes[0].ConfigMap.Name, pod.Volumes[1].ConfigMap.Name, pod.Volumes[2].ConfigMap.Name}).To(Equal(
		[]string{"ovnkube-config-dpf", "ovnkube-script-lib-dpf", "env-overrides"}))
	g.Expect(pod.Tolerations).To(Equal([]corev1.Toleration{{Operator: "Exists"}}), "as the stock one: a taint of others restarts nothing")

	other, err := copies(src, network, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other[2].GetAnnotations()).NotTo(Equal(set.Annotations))
	g.Expect(other[2].(*appsv1.DaemonSet).Spec.Template.Spec.Containers[0].Image).To(Equal("localhost:5000/ovn@sha256:1"), "the stock one's")
}

func TestCopies_nameEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	src := source()
	src.config.Data, src.script.Data = nil, nil
	src.daemonSet.Spec.Template.Labels = nil
	src.daemonSet.Spec.Template.Spec.Volumes, src.daemonSet.Spec.Template.Spec.Containers = nil, nil
	_, err := copies(src, &operatorv1.HostNetworkConfiguration{}, "")
	for _, missing := range []string{
		"[gateway]", "ovnkube-lib.sh: it doesn't mention", "app=ovnkube-node", "ConfigMap ovnkube-config", "ConfigMap ovnkube-script-lib",
		"no container ovnkube-controller",
	} {
		g.Expect(err).To(MatchError(ContainSubstring(missing)))
	}
	g.Expect(strings.Count(err.Error(), "DaemonSet")).To(BeNumerically(">=", 1))
}
