package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	clusterctlconfig "sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// release is the version that the templates of this tree get in clusterctl's repository: see config/e2e.yaml.
const release = "v0.1.99"

// createRepository makes the folder from which clusterctl takes providers and templates: those that ship, and the flavors
// that only specs need. It returns the path of clusterctl's configuration.
func (e *environment) createRepository(ctx context.Context) string {
	e.config.Providers = slices.DeleteFunc(e.config.Providers, func(p clusterctl.ProviderConfig) bool {
		return p.Type == string(clusterctlv1.InfrastructureProviderType) && p.Name != e.provider
	})
	infrastructure := &e.config.Providers[len(e.config.Providers)-1]
	flavors, err := filepath.Glob(filepath.Join("flavors", e.name, "*"))
	Expect(err).NotTo(HaveOccurred())
	for _, flavor := range flavors {
		name := "cluster-template-" + filepath.Base(flavor) + ".yaml"
		template := filepath.Join(e.dir, name)
		run(exec.CommandContext(ctx, e.tools.Path("kubectl"), "kustomize", "--load-restrictor=LoadRestrictionsNone",
			flavor, "--output="+template))
		infrastructure.Files = append(infrastructure.Files, clusterctl.Files{SourcePath: template, TargetName: name})
	}
	return clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		RepositoryFolder: filepath.Join(e.dir, "repository"), E2EConfig: e.config,
	})
}

// buildRelease writes what a release would ship to where config/e2e.yaml and the flavors look for it.
func (e *environment) buildRelease(ctx context.Context) {
	command := exec.CommandContext(ctx, "../../hack/release-manifests.sh", release, "../../out/e2e")
	command.Env = append(os.Environ(), "BEDPLATE_TOOLS="+string(e.tools))
	run(command)
}

func run(command *exec.Cmd) {
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", command, output)
}

// registerProviders makes a local stack known to clusterctl as "clusterctl init" would: it labels the CRDs and adds the
// providers to the inventory.
func (e *environment) registerProviders(ctx context.Context, management framework.ClusterProxy) {
	c := management.GetClient()
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(c.List(ctx, crds, client.HasLabels{clusterv1.ProviderNameLabel})).To(Succeed())
	for i := range crds.Items {
		crd := &crds.Items[i]
		before := crd.DeepCopy()
		crd.Labels[clusterctlv1.ClusterctlLabel] = ""
		Expect(c.Patch(ctx, crd, client.MergeFrom(before))).To(Succeed())
	}
	configuration, err := clusterctlconfig.New(ctx, e.clusterctl)
	Expect(err).NotTo(HaveOccurred())
	kubeconfig := clusterctlcluster.Kubeconfig{Path: management.GetKubeconfigPath()}
	inventory := clusterctlcluster.New(kubeconfig, configuration).ProviderInventory()
	Expect(inventory.EnsureCustomResourceDefinitions(ctx)).To(Succeed())
	library, err := clusterctlclient.New(ctx, e.clusterctl)
	Expect(err).NotTo(HaveOccurred())
	for _, provider := range e.config.Providers {
		components, err := library.GetProviderComponents(ctx, provider.Name+":"+provider.Versions[0].Name,
			clusterctlv1.ProviderType(provider.Type), clusterctlclient.ComponentsOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(inventory.Create(ctx, components.InventoryObject())).To(Succeed())
	}
}
