// Package e2e runs Cluster API's own end-to-end specs against Bedplate, with nothing that a computer without containers
// and without a network doesn't have: the management cluster is a local stack, the machines are simulated and really boot.
package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// The specs of a system share one management cluster. Each has a namespace and a control plane endpoint of its own.
func TestE2E(t *testing.T) {
	found := toolstest.Find(t, append(localstack.Tools(), "bedplate", "kubectl", "manifests/metadata.yaml")...)
	RegisterFailHandler(Fail)
	ctrl.SetLogger(klog.Background())

	describe(t, found, bmm(), func(e *environment) {
		Describe("quick start", Label("quick-start"), func() { quickStart(t.Context(), e, "") })
		Describe("quick start with a ClusterClass", func() { quickStart(t.Context(), e, "topology") })
		Describe("MachineDeployment scale", func() { machineDeploymentScale(t.Context(), e) })
		Describe("KubeadmControlPlane and MachineDeployment rollout", func() { rollout(t.Context(), e) })
		Describe("ClusterClass rollout", func() { rolloutOfClass(t.Context(), e) })
		Describe("MachineDeployment remediation", func() { machineDeploymentRemediation(t.Context(), e) })
		Describe("cluster deletion", func() { clusterDeletion(t.Context(), e) })
		Describe("clusterctl move", func() { move(t.Context(), e) })
	})
	describe(t, found, powerVS(), func(e *environment) {
		Describe("quick start", func() { quickStart(t.Context(), e, "") })
		Describe("quick start with Ignition", func() { quickStart(t.Context(), e, "ignition") })
		Describe("quick start with a ClusterClass", func() { quickStart(t.Context(), e, "topology") })
		Describe("clusterctl move", func() { move(t.Context(), e) })
	})
	ReportAfterEach(report)
	ReportAfterSuite("list of specs", func(all Report) {
		fmt.Println()
		for _, spec := range all.SpecReports {
			report(spec)
		}
	})
	RunSpecs(t, "Bedplate")
}

// describe the specs of a system. Its management cluster starts with the first of them that runs.
func describe(t *testing.T, tools tools.Dir, s system, specs func(*environment)) {
	Describe(s.name, Ordered, ContinueOnFailure, func() {
		e := &environment{system: s, tools: tools, dir: filepath.Join(t.ArtifactDir(), s.name)}
		BeforeAll(e.start)
		AfterAll(e.stop)
		AfterEach(e.nothingIsLeft)
		specs(e)
	})
}

// report prints how a spec went.
func report(spec SpecReport) {
	if spec.LeafNodeType.Is(types.NodeTypeIt) && !spec.State.Is(types.SpecStateSkipped) {
		fmt.Printf("%-8s %6.1fs  %s\n", spec.State, spec.RunTime.Seconds(), spec.FullText())
	}
}
