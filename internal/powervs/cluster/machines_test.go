package cluster_test

import (
	"testing"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// What machines have lies in the workspace, and is reached by the cluster's login.
func TestCluster_waitsForItsMachines(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace)
	c := f.CreateCluster("demo", powervstest.Plain)
	f.UntilReady(c)
	m := f.CreateMachine("demo", "node-1", []byte("#cloud-config\n"))
	f.UntilReady(m)
	f.Delete(c)
	f.UntilReason(c, infrav1.WorkspaceReadyCondition, "Busy", "waits until IBMPowerVSMachine node-1 is gone")
	f.Delete(m)
	f.UntilGone(m)
	f.UntilGone(c)
}
