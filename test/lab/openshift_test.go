package lab

import (
	"context"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/machineset"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// From YAML to instances and back, with the commands of the README.
func TestLab_makesOpenShiftsMachinesInstancesAndLeavesNothing(t *testing.T) {
	g := eventual(t)
	bedplate := toolstest.Find(t, append(localstack.Tools(), "bedplate")...).Path("bedplate")
	dir := filepath.Join(t.TempDir(), "lab")
	run := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, bedplate, append(args, "--dir", dir)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
		return string(out)
	}
	t.Cleanup(func() { run("lab", "down") })
	up := lastLab(g, run("lab", "up", "--example", lab.MachinesExample, "-o", "json"))
	site := simulator{up.Simulator}
	c := clientOf(t, up.Kubeconfig)

	machines := openshiftMachines(g, c)
	g.Expect(machines).To(HaveLen(3), "one by itself, two of a MachineSet")
	for _, m := range machines {
		g.Expect(m.Status.Phase).To(HaveValue(Equal(machinev1.PhaseProvisioned)))
		g.Expect(m.Labels).To(HaveKeyWithValue("machine.openshift.io/zone", "site-1"))
		g.Expect(m.Labels).To(HaveKeyWithValue("machine.openshift.io/instance-type", "cpu.large"))
		g.Expect(m.Annotations).To(HaveKeyWithValue("machine.openshift.io/instance-state", "Ready"))
		g.Expect(m.Status.Addresses).NotTo(BeEmpty())
	}
	g.Expect(site.state(g).Instances).To(HaveLen(3))

	deleteMachines(g, c)
	g.Expect(site.state(g).Empty()).To(BeTrue(), "the VPC and the subnet are not Bedplate's")
	run("lab", "down")
	g.Expect(processesThatMention(g, dir)).To(BeEmpty())
}

// kill -9 of the real machine controller between the POST and the write of its outcome, and while it deletes.
func TestMachineController_killedAtAnyMomentLeaksAndDoublesNothing(t *testing.T) {
	g := eventual(t)
	s, c := startOpenShift(t, g)
	kill := func(operation string) {
		t.Helper()
		before := s.sim.calls(g)[operation]
		g.Eventually(func() int { return s.sim.calls(g)[operation] }).Should(BeNumerically(">", before), operation)
		g.Expect(s.Kill(localstack.BMMMachineController)).To(Succeed())
		g.Expect(s.Restart(t.Context(), localstack.BMMMachineController)).To(Succeed())
	}
	for _, operation := range []string{"createInstance", "deleteInstance"} {
		s.sim.fault(g, sim.Fault{Operation: operation, Kind: sim.FaultCommitLate, Delay: metav1.Duration{Duration: time.Minute}})
	}
	s.applyMachines(t, g, "2")
	kill("createInstance")
	expectProvisioned(g, s, c, 3)
	s.applyMachines(t, g, "3")
	kill("createInstance")
	expectProvisioned(g, s, c, 4)

	s.applyMachines(t, g, "1")
	kill("deleteInstance")
	g.Eventually(func() []machinev1.Machine { return openshiftMachines(g, c) }).Should(HaveLen(2))
	expectProvisioned(g, s, c, 2)
	deleteMachines(g, c)
	g.Expect(s.sim.state(g).Empty()).To(BeTrue())
}

func startOpenShift(t *testing.T, g *WithT) (stack, client.Client) {
	t.Helper()
	dir := t.TempDir()
	s, err := localstack.StartKubernetes(t.Context(), localstack.Config{
		Dir: dir, Tools: toolstest.Find(t, append(localstack.Tools(), "bedplate")...),
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	bmm, err := s.StartMachineAPI(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	go machineset.Run(t.Context(), s.Client(), localstack.MachineNamespace, slog.New(slog.DiscardHandler))
	return stack{s, bmm, simulator{bmm.URL}, dir}, s.Client()
}

// applyMachines applies the example with a number of workers.
func (s stack) applyMachines(t *testing.T, g *WithT, workers string) {
	variables := s.bmm.Variables()
	maps.Copy(variables, map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": localstack.MachineNamespace, "WORKER_MACHINE_COUNT": workers,
	})
	yaml, err := examples.Render(lab.MachinesExample, variables)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Apply(t.Context(), yaml)).To(Succeed())
}

// expectProvisioned expects that many Machines, each with an instance of its own, and no other instance.
func expectProvisioned(g *WithT, s stack, c client.Client, count int) {
	g.Eventually(func(g Gomega) {
		machines := openshiftMachines(g, c)
		g.Expect(machines).To(HaveLen(count))
		for _, m := range machines {
			g.Expect(m.Status.Phase).To(HaveValue(Equal(machinev1.PhaseProvisioned)), ptr.Deref(m.Status.ErrorMessage, ""))
		}
	}).Should(Succeed())
	instances := s.sim.state(g).Instances
	g.Expect(instances).To(HaveLen(count))
	for _, m := range openshiftMachines(g, c) {
		id, err := providerid.Parse(ptr.Deref(m.Spec.ProviderID, ""))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(instances).To(ContainElement(And(HaveField("ID", id.InstanceID), HaveField("Name", ContainSubstring(m.Name)))))
	}
}

func openshiftMachines(g Gomega, c client.Client) []machinev1.Machine {
	machines := &machinev1.MachineList{}
	g.Expect(c.List(context.Background(), machines, client.InNamespace(localstack.MachineNamespace))).To(Succeed())
	return machines.Items
}

// deleteMachines deletes the MachineSet and all Machines, and waits until they are gone.
func deleteMachines(g *WithT, c client.Client) {
	everywhere := client.InNamespace(localstack.MachineNamespace)
	g.Expect(c.DeleteAllOf(context.Background(), &machinev1.MachineSet{}, everywhere)).To(Succeed())
	g.Expect(c.DeleteAllOf(context.Background(), &machinev1.Machine{}, everywhere)).To(Succeed())
	g.Eventually(func() []machinev1.Machine { return openshiftMachines(g, c) }).Should(BeEmpty())
}
