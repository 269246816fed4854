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

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// environment is what all specs share. Before the suite has started there are only the tools and the folder.
type environment struct {
	system
	tools tools.Dir
	dir   string // for everything that a run leaves: logs, dumped objects

	stack      *localstack.Stack
	outside    outside
	simulator  simulatortest.Remote
	management framework.ClusterProxy
	config     *clusterctl.E2EConfig
	clusterctl string // path of clusterctl's configuration

	clusters byte // so far
	targets  int  // management clusters that something was moved to so far
}

func (e *environment) start(ctx SpecContext) {
	var err error
	e.stack, err = e.startStack(ctx, "management")
	Expect(err).NotTo(HaveOccurred())
	e.outside, err = e.startIn(ctx, e.stack)
	Expect(err).NotTo(HaveOccurred())
	e.simulator = simulatortest.Remote{URL: e.outside.url}
	e.management = e.proxy("management", e.stack)

	e.buildRelease(ctx)
	e.config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: filepath.Join("config", "e2e.yaml")})
	e.config.Variables = e.outside.variables
	e.config.Variables[capi.KubernetesVersion] = kubernetesVersion(e.stack)
	e.clusterctl = e.createRepository(ctx)
	e.registerProviders(ctx, e.management)
}

func (e *environment) startStack(ctx context.Context, name string) (*localstack.Stack, error) {
	return localstack.Start(ctx, localstack.Config{Dir: filepath.Join(e.dir, name), Tools: e.tools})
}

// proxy is how Cluster API's framework reaches a management cluster. All machines are at the simulator of the first.
func (e *environment) proxy(name string, stack *localstack.Stack) framework.ClusterProxy {
	return framework.NewClusterProxy(name, stack.Kubeconfig(), e.scheme(),
		framework.WithMachineLogCollector(consoles{filepath.Join(e.dir, "management", "machines")}))
}

func (e *environment) stop() {
	if e.stack != nil {
		e.stack.Stop()
	}
}

// clusterctlConfig returns the path of a configuration for one more cluster: with addresses of its own.
func (e *environment) clusterctlConfig(ctx context.Context) string {
	e.clusters++
	path := filepath.Join(filepath.Dir(e.clusterctl), fmt.Sprintf("clusterctl-%d.yaml", e.clusters))
	Expect(clusterctl.CopyAndAmendClusterctlConfig(ctx, clusterctl.CopyAndAmendClusterctlConfigInput{
		ClusterctlConfigPath: e.clusterctl, OutputPath: path, Variables: e.addresses(e.stack.Block(), e.clusters),
	})).To(Succeed())
	return path
}

// nothingIsLeft holds after each spec: nothing is left of what it created outside, and no process crashed.
func (e *environment) nothingIsLeft() {
	Eventually(func(g Gomega) { // no spec waits for what belongs to none of its objects any more
		state := e.look()
		g.Expect(state.empty).To(BeTrue(), "left outside: %+v", state.all)
	}, e.config.GetIntervals(moved, "wait-delete-cluster")...).Should(Succeed())
	Expect(e.stack.Crashes()).NotTo(Receive())
}

func (e *environment) scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	framework.TryAddDefaultSchemes(s)
	Expect(ledgerv1.AddToScheme(e.ledgers)(s)).To(Succeed())
	return s
}

func kubernetesVersion(stack *localstack.Stack) string {
	version, err := discovery.NewDiscoveryClientForConfigOrDie(stack.AdminConfig()).ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	return version.GitVersion
}
