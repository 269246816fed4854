// Package e2e runs Cluster API's own end-to-end specs against Bedplate, with nothing that a computer without containers
// and without a network doesn't have: the management cluster is a local stack, the machines are simulated and really boot.
package e2e

import (
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// The specs share one management cluster. Each has a namespace and a control plane endpoint of its own.
func TestE2E(t *testing.T) {
	tools := toolstest.Find(t, append(localstack.Tools(), "bedplate", "kubectl", "manifests/metadata.yaml")...)
	RegisterFailHandler(Fail)
	ctrl.SetLogger(klog.Background())
	e := &environment{tools: tools, dir: t.ArtifactDir()}

	BeforeSuite(e.start)
	AfterSuite(e.stop)
	Describe("bmm", func() {
		AfterEach(e.nothingIsLeft)
		Describe("quick start", Label("quick-start"), func() { quickStart(t.Context(), e, "") })
		Describe("quick start with a ClusterClass", func() { quickStart(t.Context(), e, "topology") })
		Describe("MachineDeployment scale", func() { machineDeploymentScale(t.Context(), e) })
		Describe("KubeadmControlPlane and MachineDeployment rollout", func() { rollout(t.Context(), e) })
		Describe("ClusterClass rollout", func() { rolloutOfClass(t.Context(), e) })
		Describe("MachineDeployment remediation", func() { machineDeploymentRemediation(t.Context(), e) })
		Describe("cluster deletion", func() { clusterDeletion(t.Context(), e) })
		Describe("clusterctl move", func() { move(t.Context(), e) })
	})
	ReportAfterEach(report)
	ReportAfterSuite("list of specs", func(all Report) {
		fmt.Println()
		for _, spec := range all.SpecReports {
			report(spec)
		}
	})
	RunSpecs(t, "Bedplate, system bmm")
}

// report prints how a spec went.
func report(spec SpecReport) {
	if spec.LeafNodeType.Is(types.NodeTypeIt) && !spec.State.Is(types.SpecStateSkipped) {
		fmt.Printf("%-8s %6.1fs  %s\n", spec.State, spec.RunTime.Seconds(), spec.FullText())
	}
}
