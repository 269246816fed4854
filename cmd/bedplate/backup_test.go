package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// backup writes objects into a file, as Velero restores them: without status, and without what the API server has made.
func (e *ends) backup(resources ...string) (file string) {
	e.t.Helper()
	list := &unstructured.UnstructuredList{}
	for _, resource := range resources {
		o := &unstructured.Unstructured{}
		e.Expect(json.Unmarshal([]byte(testenv.Kubectl(e.t, "get", resource, "-n", e.Namespace, "-o", "json")), o)).To(Succeed())
		delete(o.Object, "status")
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "annotations"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		list.Items = append(list.Items, *o)
	}
	list.SetAPIVersion("v1")
	list.SetKind("List")
	text, err := list.MarshalJSON()
	e.Expect(err).NotTo(HaveOccurred())
	file = filepath.Join(e.t.TempDir(), "backup.json")
	e.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	return file
}

// kubectl is called again where a controller has written the object meanwhile, which "replace" doesn't do by itself.
func (e *ends) kubectl(args ...string) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		out, err := testenv.RunKubectl(e.t, testenv.Kubeconfig(e.t), append(args, "-n", e.Namespace)...)
		if err != nil {
			e.Expect(out).To(ContainSubstring("the object has been modified"))
		}
		g.Expect(err).NotTo(HaveOccurred(), out)
	}).Should(Succeed())
}

// leavesNothing when a cluster is deleted.
func (e *ends) leavesNothing(cluster *infrav1.NvidiaBMMCluster) {
	e.t.Helper()
	e.Delete(cluster)
	e.UntilGone(cluster)
	e.Expect(e.Sim.State().Empty()).To(BeTrue())
}

// What docs/backup.md says of the tools that write manifests, by kubectl itself: no ledger is in their reach.
func TestBackup_manifestsOfTheLivingChangeNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{
		"replace", "apply --server-side --force-conflicts --field-manager=argocd-controller", "apply --server-side --force-conflicts",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := start(t)
			cluster := e.CreateCluster("demo")
			e.UntilReady(cluster)
			file, id, made := e.backup("nvidiabmmcluster/demo"), e.OwnerID(cluster), len(e.datacenter.written())
			e.kubectl(append(strings.Fields(how), "-f", file)...)
			e.UntilReady(cluster)
			e.Expect(e.OwnerID(cluster)).To(Equal(id))
			e.Expect(e.datacenter.written()).To(HaveLen(made))
			e.Expect(e.Called("createVpc")).To(Equal(1))
			e.leavesNothing(cluster)
		})
	}
}

// What was created is deleted with the object, and is created again for the next one.
func TestBackup_replaceWithForceIsADeletion(t *testing.T) {
	t.Parallel()
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	id := e.OwnerID(cluster)
	e.kubectl("replace", "--force", "-f", e.backup("nvidiabmmcluster/demo"))
	e.UntilReady(cluster)
	e.Expect(e.OwnerID(cluster)).NotTo(Equal(id))
	e.Expect(e.Called("createVpc")).To(Equal(2))
	e.Expect(e.Sim.State().VPCs).To(ConsistOf(HaveField("ID", cluster.Status.VPCID)))
	e.leavesNothing(cluster)
}

// A backup of when there was one subnet is restored over the living, which has two: none is made twice, and none is left.
func TestBackup_anOlderOneOverTheLiving(t *testing.T) {
	t.Parallel()
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	older := e.backup("nvidiabmmcluster/demo", "ledger/nvidiabmmcluster-demo")
	e.kubectl("patch", "nvidiabmmcluster/demo", "--type=json", `-p=[{"op":"add","path":"/spec/subnets/-","value":{"name":"second","prefixLength":26}}]`)
	e.Eventually(func(g Gomega) {
		g.Expect(e.Read(cluster)).To(Succeed())
		g.Expect(cluster.Status.Subnets).To(HaveLen(2))
	}).Should(Succeed())
	e.UntilReady(cluster)

	e.kubectl("replace", "-f", older)
	e.Eventually(func() int { return len(e.Sim.State().Subnets) }).Should(Equal(1), "the older spec asks for one")
	e.UntilReady(cluster)
	e.Expect(e.Called("createVpc")).To(Equal(1))
	e.Expect(e.Called("createSubnet")).To(Equal(2))
	e.leavesNothing(cluster)
}

// Objects that were lost come back from a backup with their ledger: nothing is touched before the operator has said that
// this management cluster is to act on it.
func TestBackup_whatWasLostIsTakenOverOnDemand(t *testing.T) { //nolint:paralleltest // orphans would be incomplete beside a lost ledger
	e := start(t)
	cluster := e.CreateCluster("demo")
	e.UntilReady(cluster)
	before, backup := e.Sim.State(), e.backup("ledger/nvidiabmmcluster-demo", "nvidiabmmcluster/demo")
	e.LoseLedger(cluster)
	e.Delete(cluster)
	e.Strip(cluster)
	e.UntilGone(cluster)
	e.kubectl("create", "-f", backup)
	e.UntilReason(cluster, infrav1.ReferencesResolvedCondition, "Invalid", "is that of an earlier NvidiaBMMCluster of this name")
	e.Expect(e.Sim.State().VPCs).To(Equal(before.VPCs))
	e.kubectl("annotate", "nvidiabmmcluster/demo", "bedplate.dev/take-over-ledger=true")
	e.UntilReady(cluster)
	e.Expect(cluster.Status.VPCID).To(Equal(before.VPCs[0].ID))
	e.Expect(e.Called("createVpc")).To(Equal(1))
	e.leavesNothing(cluster)
}
