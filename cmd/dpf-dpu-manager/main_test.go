package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Program(main); testenv.Main(m) }

// Two components are one program: each does its part only, with the rights of its chart, and leads beside the other one.
func TestManager_asTwoComponentsWithTheRightsOfTheirCharts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	namespace, c := testenv.Namespace(t), testenv.Client(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	g.Expect(c.Create(t.Context(), node)).To(Succeed())
	chains := &svcv1.ServiceChainSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}
	port := svcv1.Port{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"a": "b"}}}
	chains.Spec.Template.Spec.Switches = []svcv1.Switch{{Ports: []svcv1.Port{port}}}
	interfaces := &svcv1.ServiceInterfaceSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "i"}}
	interfaces.Spec.Template.Spec = svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfacePhysical, Physical: &svcv1.Physical{InterfaceName: "p0"}}
	g.Expect(c.Create(t.Context(), chains)).To(Succeed())
	g.Expect(c.Create(t.Context(), interfaces)).To(Succeed())
	applied := func(set client.Object, number *int32) func() int32 {
		return func() int32 {
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
			return *number
		}
	}
	start := func(chart, controllers string) {
		command := exec.Command(os.Args[0], "--controllers="+controllers, "--kubeconfig="+testenv.ChartKubeconfig(t, chart, namespace),
			"--leader-election-namespace="+namespace, "--health-addr=127.0.0.1:0", "--metrics-addr=0", "--webhook-port=0")
		command.Env, command.Stderr = append(os.Environ(), testenv.AsProgram), os.Stderr
		g.Expect(command.Start()).To(Succeed())
		t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	}
	start("dpf-servicechainset", "chains")
	g.Eventually(applied(chains, &chains.Status.NumberApplied), time.Minute).Should(BeEquivalentTo(1))
	g.Expect(applied(interfaces, &interfaces.Status.NumberApplied)()).To(BeZero())
	start("dpf-serviceinterfaceset", "interfaces")
	g.Eventually(applied(interfaces, &interfaces.Status.NumberApplied), time.Minute).Should(BeEquivalentTo(1))

	command := newCommand()
	command.SetArgs([]string{"--controllers=all"})
	g.Expect(command.ExecuteContext(t.Context())).To(MatchError(ContainSubstring("chains or interfaces")))
}
