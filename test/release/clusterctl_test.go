// Package release tests what `make release-manifests` writes the way a user takes it: with clusterctl.
package release

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/bmm/webhook"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	powervswebhook "github.com/bedplate/bedplate/internal/powervs/webhook"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	// version of the release under test, and the versions that its neighbours are given in the repository.
	version        = "v0.1.7"
	capiVersion    = "v1.14.2"
	certManagerVer = "v1.0.0"
	image          = "registry.example.com:5000/metal/bmm-manager:v0.1.7"

	patience = 3 * time.Minute
)

// flavor is a template of a provider, which is named as clusterctl does.
type flavor struct{ provider, name string }

func (f flavor) String() string { return f.provider + " " + f.name }

// flavors with some of the kinds that each has beside Secret and Cluster.
var flavors = map[flavor][]string{
	{"nvidia-bmm", ""}:          {"NvidiaBMMCluster", "NvidiaBMMMachineTemplate", "KubeadmControlPlane", "MachineDeployment"},
	{"nvidia-bmm", "fnn"}:       {"NvidiaBMMCluster", "NvidiaBMMMachineTemplate", "KubeadmControlPlane", "MachineDeployment"},
	{"nvidia-bmm", "topology"}:  {"ClusterClass", "NvidiaBMMClusterTemplate", "NvidiaBMMMachineTemplate", "KubeadmControlPlaneTemplate"},
	{"ibm-powervs", ""}:         {"IBMPowerVSCluster", "IBMPowerVSMachineTemplate", "IBMPowerVSImage", "KubeadmControlPlane", "MachineDeployment"},
	{"ibm-powervs", "ignition"}: {"IBMPowerVSCluster", "IBMPowerVSMachineTemplate", "IBMPowerVSImage", "KubeadmControlPlane", "MachineDeployment"},
	{"ibm-powervs", "plain"}:    {"IBMPowerVSCluster", "IBMPowerVSMachineTemplate", "KubeadmControlPlane", "MachineDeployment"},
	{"ibm-powervs", "topology"}: {"ClusterClass", "IBMPowerVSClusterTemplate", "IBMPowerVSMachineTemplate", "KubeadmControlPlaneTemplate"},
}

// generate is the command that fills in a template for three control plane machines and five workers.
func (f flavor) generate(name, namespace string) []string {
	return []string{
		"generate", "cluster", name, "--infrastructure", f.provider + ":" + version, "--flavor", f.name, "--target-namespace", namespace,
		"--kubernetes-version", "v1.36.0", "--control-plane-machine-count", "3", "--worker-machine-count", "5",
	}
}

// powervsVariables are what the templates of ibm-powervs ask for.
var powervsVariables = map[string]string{
	"IBMCLOUD_API_KEY": "made up", "IBMACCOUNT_ID": "3c24cb272ca44aa1ac9f6e9490ac5ecd", "IBM_RESOURCE_GROUP": "Default",
	"IBMPOWERVS_ZONE": "dal10", "IBMPOWERVS_REGION": "dal", "IBMPOWERVS_SSHKEY_NAME": "operators", "IBMVPC_REGION": "us-south",
	"COS_BUCKET_NAME": "images", "COS_BUCKET_REGION": "us-south", "COS_OBJECT_NAME": "kubernetes.ova.gz",
	// Of the flavor plain.
	"IBMPOWERVS_SERVICE_INSTANCE_ID": "3229a94c-af54-4212-bf60-6202b6fd0a07", "IBMPOWERVS_NETWORK_NAME": "machines",
	"IBMPOWERVS_IMAGE_NAME": "kubernetes", "CONTROL_PLANE_ENDPOINT_HOST": "10.20.0.10",
}

// all are the variables of all templates.
func all() map[string]string {
	together := maps.Clone(variables)
	maps.Copy(together, powervsVariables)
	return together
}

// variables are what the templates of nvidia-bmm ask of a user beside clusterctl's own.
var variables = map[string]string{
	"BMM_ENDPOINT":                "https://bmm.example.com",
	"BMM_ORG":                     "acme",
	"BMM_TOKEN":                   "made up",
	"BMM_SITE_ID":                 "517e0000-0000-4000-8000-000000000001",
	"BMM_TENANT_ID":               "7e4a0000-0000-4000-8000-000000000001",
	"BMM_IP_BLOCK_ID":             "1b10c000-0000-4000-8000-000000000001",
	"BMM_INSTANCE_TYPE_ID":        "17fe0000-0000-4000-8000-000000000001",
	"BMM_OPERATING_SYSTEM_ID":     "05000000-0000-4000-8000-000000000001",
	"CONTROL_PLANE_ENDPOINT_HOST": "10.20.0.10",
}

func TestMain(m *testing.M) {
	testenv.Main(m, webhook.SetupWithManager, powervswebhook.Features{BootstrapFormatIgnition: true}.SetupWithManager)
}

// clusterctl is the command with a configuration of its own, which knows local repositories only.
type clusterctl struct {
	bin        tools.Dir
	home       string
	repository string
	kubeconfig string
}

// newRepository is empty, with what writes a release, and other tools.
func newRepository(t *testing.T, others ...string) *clusterctl {
	t.Helper()
	return &clusterctl{bin: toolstest.Find(t, append(others, "kubectl")...), home: t.TempDir(), repository: t.TempDir()}
}

// newClusterctl writes the release, and lays Cluster API's own manifests and the API of cert-manager beside it.
func newClusterctl(t *testing.T) *clusterctl {
	t.Helper()
	g := NewWithT(t)
	c := newRepository(t, "clusterctl", "manifests/core.yaml", "manifests/bootstrap-kubeadm.yaml",
		"manifests/control-plane-kubeadm.yaml", "manifests/metadata.yaml")
	bin := c.bin
	c.release(t, version, image)
	for provider, files := range map[string]map[string]string{
		"cluster-api":           {"core-components.yaml": bin.Path("manifests", "core.yaml")},
		"bootstrap-kubeadm":     {"bootstrap-components.yaml": bin.Path("manifests", "bootstrap-kubeadm.yaml")},
		"control-plane-kubeadm": {"control-plane-components.yaml": bin.Path("manifests", "control-plane-kubeadm.yaml")},
	} {
		files["metadata.yaml"] = bin.Path("manifests", "metadata.yaml")
		c.lay(g, provider, capiVersion, files)
	}
	c.lay(g, "cert-manager", certManagerVer, map[string]string{
		"cert-manager.yaml": filepath.Join("..", "..", "config", "testdata", "cert-manager.yaml"),
	})
	provider := func(name, kind, path string) map[string]string {
		return map[string]string{"name": name, "type": kind, "url": filepath.Join(c.repository, path)}
	}
	config, err := yaml.Marshal(map[string]any{
		"providers": []any{
			provider("cluster-api", "CoreProvider", "cluster-api/latest/core-components.yaml"),
			provider("kubeadm", "BootstrapProvider", "bootstrap-kubeadm/latest/bootstrap-components.yaml"),
			provider("kubeadm", "ControlPlaneProvider", "control-plane-kubeadm/latest/control-plane-components.yaml"),
			provider("nvidia-bmm", "InfrastructureProvider", "infrastructure-nvidia-bmm/latest/infrastructure-components.yaml"),
			provider("ibm-powervs", "InfrastructureProvider", "infrastructure-ibm-powervs/latest/infrastructure-components.yaml"),
		},
		"cert-manager": map[string]string{
			"url":     filepath.Join(c.repository, "cert-manager", certManagerVer, "cert-manager.yaml"),
			"version": certManagerVer,
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(c.home, "clusterctl.yaml"), config, 0o600)).To(Succeed())
	return c
}

// release writes a release of our own into the repository, and returns the folder of nvidia-bmm.
func (c *clusterctl) release(t *testing.T, version, image string) string {
	t.Helper()
	out, err := c.tryRelease(t, version, image)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s", out)
	folder, _, _ := strings.Cut(out, "\n")
	return folder
}

func (c *clusterctl) tryRelease(t *testing.T, version, image string) (string, error) {
	command := exec.CommandContext(t.Context(), "hack/release-manifests.sh", version, c.repository, image)
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), tools.EnvVar+"="+string(c.bin))
	out, err := command.CombinedOutput()
	return string(out), err
}

func (c *clusterctl) lay(g Gomega, provider, version string, files map[string]string) {
	folder := filepath.Join(c.repository, provider, version)
	g.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	for name, source := range files {
		data, err := os.ReadFile(source)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(folder, name), data, 0o644)).To(Succeed())
	}
}

// run runs clusterctl with the variables of the templates. Whatever it asks beyond this computer fails.
func (c *clusterctl) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return c.runWith(t, all(), args...)
}

func (c *clusterctl) runWith(t *testing.T, variables map[string]string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args = append(args, "--config", filepath.Join(c.home, "clusterctl.yaml"))
	command := exec.CommandContext(ctx, c.bin.Path("clusterctl"), args...)
	command.Env = []string{
		"HOME=" + c.home, "XDG_CONFIG_HOME=" + c.home, "KUBECONFIG=" + c.kubeconfig, "PATH=" + os.Getenv("PATH"),
		"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1",
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true",
	}
	for name, value := range variables {
		command.Env = append(command.Env, name+"="+value)
	}
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return complaints.String(), err
	}
	return string(out), nil
}

func (c *clusterctl) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.run(t, args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "clusterctl %s: %s", strings.Join(args, " "), out)
	return out
}

func objectsOf(g Gomega, text string) []*unstructured.Unstructured {
	objects, err := manifest.Decode([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).NotTo(BeEmpty())
	return objects
}
