package e2e

import (
	"context"
	"fmt"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	capi "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// environment is what all specs share. Before the suite has started there are only the tools and the folder.
type environment struct {
	tools tools.Dir
	dir   string // for everything that a run leaves: logs, dumped objects

	stack      *localstack.Stack
	bmm        *localstack.BMM
	simulator  remote
	management framework.ClusterProxy
	config     *clusterctl.E2EConfig
	clusterctl string // path of clusterctl's configuration

	endpoints byte // control plane endpoints in use so far
	targets   int  // management clusters that something was moved to so far
}

func (e *environment) start(ctx SpecContext) {
	var err error
	e.stack, err = e.startStack(ctx, "management")
	Expect(err).NotTo(HaveOccurred())
	e.bmm, err = e.stack.StartBMM(ctx)
	Expect(err).NotTo(HaveOccurred())
	e.simulator = remote{simtest.Remote{URL: e.bmm.URL}}
	e.management = e.proxy("management", e.stack)

	e.buildRelease(ctx)
	e.config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: filepath.Join("config", "bmm.yaml")})
	e.config.Variables = e.bmm.Variables()
	e.config.Variables[capi.KubernetesVersion] = kubernetesVersion(e.stack)
	e.clusterctl = e.createRepository(ctx)
	e.registerProviders(ctx, e.management)
}

func (e *environment) startStack(ctx context.Context, name string) (*localstack.Stack, error) {
	return localstack.Start(ctx, localstack.Config{Dir: filepath.Join(e.dir, name), Tools: e.tools})
}

// proxy is how Cluster API's framework reaches a management cluster. All machines are at the simulator of the first.
func (e *environment) proxy(name string, stack *localstack.Stack) framework.ClusterProxy {
	return framework.NewClusterProxy(name, stack.Kubeconfig(), scheme(),
		framework.WithMachineLogCollector(consoles{filepath.Join(e.dir, "management", "machines")}))
}

func (e *environment) stop() {
	if e.stack != nil {
		e.stack.Stop()
	}
}

// clusterctlConfig returns the path of a configuration for one more cluster: with an endpoint of its own.
func (e *environment) clusterctlConfig(ctx context.Context) string {
	e.endpoints++
	path := filepath.Join(filepath.Dir(e.clusterctl), fmt.Sprintf("clusterctl-%d.yaml", e.endpoints))
	Expect(clusterctl.CopyAndAmendClusterctlConfig(ctx, clusterctl.CopyAndAmendClusterctlConfigInput{
		ClusterctlConfigPath: e.clusterctl, OutputPath: path,
		Variables: map[string]string{"CONTROL_PLANE_ENDPOINT_HOST": e.stack.Block().Address(255, e.endpoints).String()},
	})).To(Succeed())
	return path
}

// nothingIsLeft holds after each spec: nothing is left of what it created outside, and no process crashed.
func (e *environment) nothingIsLeft() {
	state := e.simulator.state()
	Expect(state.Empty()).To(BeTrue(), "left at the simulated site: %+v", state)
	Expect(e.stack.Crashes()).NotTo(Receive())
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	framework.TryAddDefaultSchemes(s)
	Expect(infrav1.AddToScheme(s)).To(Succeed())
	Expect(ledgerv1.AddToScheme(ledgerv1.GroupBMM)(s)).To(Succeed())
	return s
}

func kubernetesVersion(stack *localstack.Stack) string {
	version, err := discovery.NewDiscoveryClientForConfigOrDie(stack.AdminConfig()).ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	return version.GitVersion
}
