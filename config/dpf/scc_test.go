package dpf_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	securityv1 "github.com/openshift/api/security/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/testenv"
)

// daemonSets that the operator makes on the host cluster.
func daemonSets(g Gomega) (all []appsv1.DaemonSet) {
	release := components.Release{Registry: components.DefaultRegistry, Charts: components.DefaultCharts, Version: "v1.2.3"}
	for _, withNetwork := range []bool{false, true} {
		objects, err := release.Render(network(), components.HostCluster, withNetwork, netip.MustParsePrefix("192.0.2.0/24"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, o := range objects {
			if o.GetKind() == "DaemonSet" {
				var d appsv1.DaemonSet
				g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d)).To(Succeed())
				all = append(all, d)
			}
		}
	}
	return all
}

// Each service account of DaemonSets has an SCC that is its own: all that its Pods ask for is in it, and nothing that they don't ask for.
func TestSCC_isWhatTheDaemonSetsPodsNeed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := daemonSets(g)
	g.Expect(all).NotTo(BeEmpty())
	for _, d := range all {
		var scc securityv1.SecurityContextConstraints
		var role rbacv1.ClusterRole
		account := d.Spec.Template.Spec.ServiceAccountName
		testenv.Kustomize(t, "default", map[string]any{"SecurityContextConstraints " + account: &scc, "ClusterRole " + account: &role})
		g.Expect(d.Spec.Template.Annotations).To(HaveKeyWithValue("openshift.io/required-scc", scc.Name))
		g.Expect(role.Rules).To(ConsistOf(rbacv1.PolicyRule{APIGroups: []string{securityv1.GroupName},
			Resources: []string{"securitycontextconstraints"}, ResourceNames: []string{scc.Name}, Verbs: []string{"use"}}))
		g.Expect(append(scc.Users, scc.Groups...)).To(BeEmpty(), "RBAC says whose it is")
		g.Expect(difference(scc, d.Spec.Template.Spec)).To(BeEmpty())
	}
}

// difference between what an SCC allows and what Pods ask for.
func difference(scc securityv1.SecurityContextConstraints, pod corev1.PodSpec) (all []string) {
	equal := func(what string, allowed, asked any) {
		if !equality.Semantic.DeepEqual(allowed, asked) {
			all = append(all, fmt.Sprintf("%s: the SCC has %v, the Pods ask for %v", what, allowed, asked))
		}
	}
	equal("host network", scc.AllowHostNetwork, pod.HostNetwork)
	equal("host PID", scc.AllowHostPID, pod.HostPID)
	equal("host IPC", scc.AllowHostIPC, pod.HostIPC)
	var volumes []securityv1.FSType
	for _, v := range pod.Volumes {
		switch {
		case v.HostPath != nil:
			volumes = append(volumes, securityv1.FSTypeHostPath)
		case v.ConfigMap != nil:
			volumes = append(volumes, securityv1.FSTypeConfigMap)
		default:
			all = append(all, "unknown volume "+v.Name)
		}
	}
	if ptr.Deref(pod.AutomountServiceAccountToken, true) {
		volumes = append(volumes, securityv1.FSProjected)
	}
	slices.Sort(volumes)
	equal("volumes", scc.Volumes, slices.Compact(volumes))
	equal("folders of the node", scc.AllowHostDirVolumePlugin, slices.Contains(volumes, securityv1.FSTypeHostPath))
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		s := c.SecurityContext
		equal("privileged", scc.AllowPrivilegedContainer, ptr.Deref(s.Privileged, false))
		equal("escalation", ptr.Deref(scc.AllowPrivilegeEscalation, true), ptr.Deref(s.AllowPrivilegeEscalation, true))
		equal("read-only root", scc.ReadOnlyRootFilesystem, ptr.Deref(s.ReadOnlyRootFilesystem, false))
		equal("capabilities", scc.AllowedCapabilities, s.Capabilities.Add)
		equal("dropped capabilities", scc.RequiredDropCapabilities, s.Capabilities.Drop)
		equal("capabilities that are added unasked", scc.DefaultAddCapabilities, []corev1.Capability{})
		equal("user", scc.RunAsUser, securityv1.RunAsUserStrategyOptions{Type: securityv1.RunAsUserStrategyMustRunAs, UID: s.RunAsUser})
		equal("SELinux", scc.SELinuxContext, securityv1.SELinuxContextStrategyOptions{
			Type: securityv1.SELinuxStrategyMustRunAs, SELinuxOptions: s.SELinuxOptions})
		equal("seccomp", scc.SeccompProfiles, map[corev1.SeccompProfileType][]string{
			corev1.SeccompProfileTypeRuntimeDefault: {"runtime/default"}}[s.SeccompProfile.Type])
		hostPorts := false
		for _, p := range c.Ports { // in the network of the node each port is one of the node's
			hostPorts = hostPorts || p.HostPort != 0 || pod.HostNetwork
		}
		equal("host ports", scc.AllowHostPorts, hostPorts)
	}
	return all
}

// A Pod of the provisioner's that mounts another folder of its node isn't admitted; one of another service account is none of its business.
func TestPolicy_givesTheProvisionerOneFolderOfItsNode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	testenv.Kubectl(t, "apply", "-f", "admission/hostpath_policy.yaml", "--warnings-as-errors")
	c := testenv.Client(t)
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.Namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: components.HostNetworkProvisioner}},
	} {
		g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), o))).To(Succeed())
	}
	all := daemonSets(g)
	pod := func(change func(*corev1.PodSpec)) error {
		spec := *all[0].Spec.Template.Spec.DeepCopy()
		spec.PriorityClassName = ""
		change(&spec)
		name := metav1.ObjectMeta{Namespace: operatorv1.Namespace, GenerateName: "a-"}
		return c.Create(t.Context(), &corev1.Pod{ObjectMeta: name, Spec: spec}, client.DryRunAll)
	}
	other := func(spec *corev1.PodSpec) {
		for i := range spec.Volumes {
			if v := &spec.Volumes[i]; v.HostPath != nil {
				v.HostPath.Path = "/run"
			}
		}
	}
	g.Eventually(func() error { return pod(other) }, time.Minute).Should(MatchError(apierrors.IsForbidden, "forbidden"))
	g.Expect(pod(func(*corev1.PodSpec) {})).To(Succeed())
	g.Expect(pod(func(s *corev1.PodSpec) { other(s); s.ServiceAccountName = "default" })).To(Succeed())
}
