package testenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
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
		var dir string
		if dir, machineAPI.err = moduleDir("github.com/openshift/api"); machineAPI.err != nil {
			return
		}
		manifests := filepath.Join(dir, "machine", "v1beta1", "zz_generated.crd-manifests", "0000_10_machine-api_01_")
		_, machineAPI.err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
			Paths: []string{
				manifests + "machines-" + featureSet + ".crd.yaml",
				manifests + "machinesets-" + featureSet + ".crd.yaml",
				manifests + "machinehealthchecks.crd.yaml",
			},
			ErrorIfPathMissing: true, MaxTime: startTimeout,
		})
	})
	if machineAPI.err != nil {
		t.Fatalf("install the Machine API: %v", machineAPI.err)
	}
}

// ClusterVersion returns the file of the CRD of OpenShift's version.
func ClusterVersion(t testing.TB) string {
	t.Helper()
	return filepath.Join(ModuleDir(t, "github.com/openshift/api"), "config", "v1", "zz_generated.crd-manifests",
		"0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml")
}

// ModuleDir returns the folder of a module of go.mod.
func ModuleDir(t testing.TB, path string) string {
	t.Helper()
	dir, err := moduleDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// moduleDir returns the folder of a module of go.mod, and downloads the module if it isn't in the module cache yet.
func moduleDir(path string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", path).Output()
	module := struct{ Dir, Error string }{}
	if err := errors.Join(err, json.Unmarshal(out, &module)); err != nil {
		return "", fmt.Errorf("download %s: %w: %s", path, err, module.Error)
	}
	if module.Dir == "" {
		return "", fmt.Errorf("download %s: `go mod download` names no folder", path)
	}
	return module.Dir, nil
}
