// Package openvswitchtest gives tests a real database of Open vSwitch, without ovs-vswitchd.
package openvswitchtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// Server of a database, which ends with the test.
type Server struct {
	testing.TB
	Endpoint string // as OVSDB writes it
	Process  *os.Process
}

// Start a database that has its root.
func Start(t testing.TB) *Server {
	t.Helper()
	toolstest.Programs(t, "ovsdb-server", "ovsdb-tool", "ovs-vsctl")
	dir, err := os.MkdirTemp("", "hz") // t.TempDir's paths are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{TB: t, Endpoint: "unix:" + filepath.Join(dir, "db.sock")}
	s.run("ovsdb-tool", "create", dir+"/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
	server := exec.Command("ovsdb-server", dir+"/conf.db", "--remote=p"+s.Endpoint, "--unixctl="+dir+"/ctl", "-vconsole:off")
	server.Env = append(os.Environ(), "OVS_RUNDIR="+dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s.Process = server.Process
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	NewWithT(t).Eventually(func() error {
		return exec.Command("ovs-vsctl", "--db="+s.Endpoint, "--no-wait", "init").Run()
	}).WithTimeout(10 * time.Second).Should(Succeed())
	return s
}

// Vsctl runs ovs-vsctl and returns what it says.
func (s *Server) Vsctl(args ...string) string {
	s.Helper()
	return s.run(append([]string{"ovs-vsctl", "--db=" + s.Endpoint, "--no-wait"}, args...)...)
}

func (s *Server) run(command ...string) string {
	s.Helper()
	output, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %v\n%s", command, err, output)
	}
	return strings.TrimSpace(string(output))
}
