package lab

import (
	"context"
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/machineset"
	"github.com/bedplate/bedplate/internal/simulator"
)

// From YAML to instances and back, with the commands of the README.
func TestLab_makesOpenShiftsMachinesInstancesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	up := startLab(t, g, lab.MachinesExample)
	site := remoteAt(up.Simulator)
	c := clientOfFile(t, g, up.Kubeconfig)

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
	site.expectEmpty(g) // the VPC and the subnet are not Bedplate's
	up.down()
}

// kill -9 of the real machine controller between the POST and the write of its outcome, and while it deletes.
func TestMachineController_killedAtAnyMomentLeaksAndDoublesNothing(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	s := startOpenShift(t, g)
	for _, operation := range []string{"createInstance", "deleteInstance"} {
		s.sim.fault(g, simulator.Fault{Operation: operation, Kind: simulator.FaultCommitLate, Delay: metav1.Duration{Duration: time.Minute}})
	}
	s.killAt(g, localstack.BMMMachineController, func() { s.applyMachines(g, "2") }, "createInstance")
	expectProvisioned(g, s, 3)
	s.killAt(g, localstack.BMMMachineController, func() { s.applyMachines(g, "3") }, "createInstance")
	expectProvisioned(g, s, 4)

	s.killAt(g, localstack.BMMMachineController, func() { s.applyMachines(g, "1") }, "deleteInstance")
	g.Eventually(func() []machinev1.Machine { return openshiftMachines(g, s.client) }).Should(HaveLen(2))
	expectProvisioned(g, s, 2)
	deleteMachines(g, s.client)
	s.sim.expectNothingKnown(g)
}

// startOpenShift starts the Machine API and the machine controller.
func startOpenShift(t *testing.T, g *WithT) stack {
	t.Helper()
	s := start(t, g, localstack.StartKubernetes, (*localstack.Stack).StartMachineAPI)
	go machineset.Run(t.Context(), s.client, localstack.MachineNamespace, slog.New(slog.DiscardHandler))
	return s
}

// applyMachines applies the example with a number of workers.
func (s stack) applyMachines(g *WithT, workers string) {
	s.t.Helper()
	s.applyExample(g, lab.MachinesExample, map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": localstack.MachineNamespace, "WORKER_MACHINE_COUNT": workers,
	}, nil)
}

// expectProvisioned expects that many Machines, each with an instance of its own, and no other instance.
func expectProvisioned(g *WithT, s stack, count int) {
	g.Eventually(func(g Gomega) {
		machines := openshiftMachines(g, s.client)
		g.Expect(machines).To(HaveLen(count))
		for _, m := range machines {
			g.Expect(m.Status.Phase).To(HaveValue(Equal(machinev1.PhaseProvisioned)), ptr.Deref(m.Status.ErrorMessage, ""))
		}
	}).Should(Succeed())
	instances := s.sim.state(g).Instances
	g.Expect(instances).To(HaveLen(count))
	for _, m := range openshiftMachines(g, s.client) {
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
