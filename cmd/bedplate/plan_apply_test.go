package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A field removed from a file is removed from the object only if its last field manager is known.
func TestPlan_takesTheObjectAsKubectlApplyWouldLeaveIt(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{
		{"apply"}, {"apply", "--server-side"}, {"apply", "--server-side", "--field-manager=another"}, {"create"},
	} {
		t.Run(strings.Join(how, " "), func(t *testing.T) {
			t.Parallel()
			e := start(t)
			file := filepath.Join(t.TempDir(), "cluster.yaml")
			e.Expect(os.WriteFile(file, []byte(e.file("\n  subnets: [{name: nodes, prefixLength: 24}, {name: old, prefixLength: 24}]"+
				"\n  vpcPeerings: [{peerVpcId: "+sim.DefaultTenantID+"}]")), 0o600)).To(Succeed())
			testenv.Kubectl(t, append(how, "-f", file, "-n", e.Namespace)...)
			out, err := e.run(e.file(oneSubnet), "plan", "-f", "-")
			e.Expect(err).NotTo(HaveOccurred())
			e.Expect(out).To(ContainSubstring("+ subnet nodes"))
			e.Expect(out).NotTo(ContainSubstring("old"))
			if how[0] == "create" { // kubectl doesn't know either whose the peering is
				e.Expect(out).To(ContainSubstring("+ VPC peering"))
			} else {
				e.Expect(out).NotTo(ContainSubstring("peering"))
			}
		})
	}
}

// kubectl remembers a file without annotations as one with an empty map of them, which the ledger must survive.
func TestPlan_keepsTheLedgerOfWhatKubectlAppliedFromAFileWithoutAnnotations(t *testing.T) {
	t.Parallel()
	e := start(t)
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	e.Expect(os.WriteFile(file, []byte(e.file(oneSubnet)), 0o600)).To(Succeed())
	testenv.Kubectl(t, "apply", "-f", file, "-n", e.Namespace)
	owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: e.Namespace}}
	e.Expect(e.Read(owner)).To(Succeed())
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: owner.ObjectMeta}
	bmmtest.Change(e.Fixture, object, func(c *infrav1.NvidiaBMMCluster) { // as Cluster API's core does
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Cluster"))}
	})
	e.UntilReady(object)
	made := e.datacenter.written()

	out, err := e.run(e.file(oneSubnet), "plan", "-f", "-", "-o", "json")
	e.Expect(err).NotTo(HaveOccurred(), out)
	e.Expect(decodePlan(e, out).Clusters[0].Steps).To(And(
		ContainElement(HaveField("Key", "vpc")), ContainElement(HaveField("Key", "subnet/nodes")),
		HaveEach(HaveField("Action", BeElementOf(graph.ActionKeep, graph.ActionUse))),
	))
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.datacenter.written()).To(Equal(made))
}
