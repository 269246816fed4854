package testenv

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var machineAPI struct {
	once sync.Once
	err  error
}

// MachineAPI installs the kinds of OpenShift's Machine API as they are with a feature set, such as "Default". The first call
// decides for all tests of a package.
func MachineAPI(t testing.TB, featureSet string) {
	t.Helper()
	config := Config(t)
	machineAPI.once.Do(func() {
		var dir []byte
		dir, machineAPI.err = exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
		if machineAPI.err != nil {
			return
		}
		manifests := filepath.Join(strings.TrimSpace(string(dir)), "machine", "v1beta1", "zz_generated.crd-manifests", "0000_10_machine-api_01_")
		_, machineAPI.err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
			Paths: []string{
				manifests + "machines-" + featureSet + ".crd.yaml",
				manifests + "machinesets-" + featureSet + ".crd.yaml",
				manifests + "machinehealthchecks.crd.yaml",
			},
			ErrorIfPathMissing: true,
		})
	})
	if machineAPI.err != nil {
		t.Fatalf("install the Machine API: %v", machineAPI.err)
	}
}
