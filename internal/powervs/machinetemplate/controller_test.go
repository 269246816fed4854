package machinetemplate_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestMachineTemplate_saysWhatItsMachinesHave(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t)
	owner := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: f.Namespace},
		Spec: clusterv1.ClusterSpec{
			Paused: ptr.To(true),
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "IBMPowerVSCluster", Name: "demo",
			},
		},
	}
	f.Create(owner)
	type spec = infrav1.IBMPowerVSMachineSpec
	templates := map[string]*infrav1.IBMPowerVSMachineTemplate{}
	for name, change := range map[string]func(*spec){
		"default": func(*spec) {},
		"shared":  func(s *spec) { s.Processors, s.MemoryGiB = ptr.To(intstr.FromString("1.25")), 32 },
		"dedicated": func(s *spec) {
			s.ProcessorType, s.Processors = infrav1.ProcessorTypeDedicated, ptr.To(intstr.FromInt32(4))
		},
		"alone": func(s *spec) { s.ProcessorType = infrav1.ProcessorTypeDedicated },
	} {
		template := &infrav1.IBMPowerVSMachineTemplate{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: f.Namespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "demo", UID: owner.UID}},
		}}
		template.Spec.Template.Spec.Image = &infrav1.IBMPowerVSResourceReference{Name: "rhcos"}
		change(&template.Spec.Template.Spec)
		f.Create(template)
		templates[name] = template
	}
	f.Consistently(func(g Gomega) {
		g.Expect(f.Read(templates["default"])).To(Succeed())
		g.Expect(templates["default"].Status.Capacity).To(BeEmpty(), "the Cluster is paused")
	}, "200ms").Should(Succeed())
	powervstest.Change(f, owner, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	for name, want := range map[string][2]string{
		"default": {"8", "2Gi"}, "shared": {"16", "32Gi"}, "dedicated": {"32", "2Gi"}, "alone": {"8", "2Gi"},
	} {
		f.Eventually(func(g Gomega) {
			g.Expect(f.Read(templates[name])).To(Succeed())
			c := templates[name].Status.Capacity
			g.Expect([2]string{c.Cpu().String(), c.Memory().String()}).To(Equal(want), name)
		}).Should(Succeed())
		f.Expect(templates[name].Status.NodeInfo).To(Equal(infrav1.NodeInfo{OperatingSystem: "linux", Architecture: "ppc64le"}))
	}
}
