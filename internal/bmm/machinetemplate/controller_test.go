package machinetemplate_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// clusterOf is the Cluster of the NvidiaBMMCluster demo.
func clusterOf(f *bmmtest.Fixture) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: f.Namespace}}
}

// template of a cluster, as Cluster API owns it.
func template(f *bmmtest.Fixture, kind infrav1.InstanceTypeReference) *infrav1.NvidiaBMMMachineTemplate {
	owner := clusterOf(f)
	f.Expect(f.Read(owner)).To(Succeed())
	object := &infrav1.NvidiaBMMMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{
			Name: "workers", Namespace: f.Namespace,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: owner.Name, UID: owner.UID,
			}},
		},
		Spec: infrav1.NvidiaBMMMachineTemplateSpec{Template: infrav1.NvidiaBMMMachineTemplateResource{Spec: infrav1.NvidiaBMMMachineSpec{InstanceSpec: infrav1.InstanceSpec{
			InstanceType: kind, OperatingSystem: infrav1.OperatingSystemReference{ID: bmmtest.OperatingSystemID},
		}}}},
	}
	f.Create(object)
	return object
}

// gpus is a site whose machines have everything that the autoscaler counts.
func gpus(w *sim.Config) {
	w.InstanceTypes[0].Capabilities = append(sim.DefaultCapabilities(), bmm.MachineCapability{Type: bmm.CapabilityGPU, Name: "H100", Count: 8})
}

var want = corev1.ResourceList{
	"cpu": resource.MustParse("112"), "memory": resource.MustParse("512G"), "nvidia.com/gpu": resource.MustParse("8"),
	"ephemeral-storage": resource.MustParse("1920G"),
}

func expectCapacity(f *bmmtest.Fixture, object *infrav1.NvidiaBMMMachineTemplate) {
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.Capacity).To(HaveLen(len(want)))
		for name, quantity := range want {
			got := object.Status.Capacity[name]
			g.Expect(got.Cmp(quantity)).To(BeZero(), "%s is %s", name, got.String())
		}
		g.Expect(object.Status.NodeInfo).To(Equal(infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64, OperatingSystem: "linux"}))
	}).Should(Succeed())
}

func TestTemplate_saysWhatItsMachinesWillHave(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]infrav1.InstanceTypeReference{
		"of a type":         {ID: sim.DefaultInstanceTypeID},
		"a certain machine": {MachineID: "fm100ht000000000000000000000000000003"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, gpus)
			f.UntilReady(f.CreateCluster("demo"))
			object := template(f, kind)
			expectCapacity(f, object)
			asked := f.Called("getInstanceType")
			bmmtest.Change(f, object, func(o *infrav1.NvidiaBMMMachineTemplate) { o.Labels = map[string]string{"changed": "yes"} })
			looked := f.Called("getVpc")
			f.Eventually(func() int { return f.Called("getVpc") }).Should(BeNumerically(">", looked+2))
			f.Expect(f.Called("getInstanceType")).To(Equal(asked), "a template never changes: it is asked for once")
		})
	}
}

// It needs no manual intervention: the template waits for its cluster, for the API, and for an end of the pause.
func TestTemplate_waitsForWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, gpus)
	f.Sim.SetTokens([]string{"another"})
	cluster := f.CreateCluster("demo")
	f.UntilReason(cluster, infrav1.ReferencesResolvedCondition, "Credentials", "")
	object := template(f, infrav1.InstanceTypeReference{ID: sim.DefaultInstanceTypeID})
	heal := f.Refuse(http.StatusServiceUnavailable, "getInstanceType")
	f.Sim.SetTokens([]string{sim.DefaultToken})
	f.UntilReady(cluster)
	f.Eventually(func() int { return f.Called("getInstanceType") }).Should(BeNumerically(">", 6), "again and again")
	f.Expect(f.Read(object)).To(Succeed())
	f.Expect(object.Status.Capacity).To(BeEmpty())
	heal()
	expectCapacity(f, object)
}

// The machines themselves will say that there is no such type; the template only has nothing to say.
func TestTemplate_ofAnUnknownTypeSaysNothing(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := template(f, infrav1.InstanceTypeReference{ID: "a0000000-0000-4000-8000-000000000009"})
	f.Eventually(func() int { return f.Called("getInstanceType") }).Should(BeNumerically(">=", 2), "it may come")
	f.Expect(f.Read(object)).To(Succeed())
	f.Expect(object.Status.Capacity).To(BeEmpty())
	f.Expect(object.Status.NodeInfo).To(BeZero())
	f.Delete(object)
	f.UntilGone(object)
}

func TestTemplate_isLeftAloneWhileItsClusterIsPaused(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, gpus)
	f.UntilReady(f.CreateCluster("demo"))
	owner := clusterOf(f)
	bmmtest.Change(f, owner, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	paused := &infrav1.NvidiaBMMCluster{ObjectMeta: owner.ObjectMeta}
	f.UntilTrue(paused, clusterv1.PausedCondition)
	object := template(f, infrav1.InstanceTypeReference{ID: sim.DefaultInstanceTypeID})
	again := f.CreateCluster("other")
	f.UntilReady(again) // by now the template's turn has come and gone
	f.Expect(f.Called("getInstanceType")).To(BeZero())
	bmmtest.Change(f, owner, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	expectCapacity(f, object)
}
