// dpf-dpuservice-manager deploys DPUServices by Argo CD, and gives DPU clusters their chains, interfaces, pools of addresses and pull
// secrets. Services and chains are two components: each has its processes, which know nothing of the other's.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/manager"
)

const (
	// name of the lease, where services are run.
	name = "dpf-dpuservice-manager"
	// chainsName is that of chains alone: one leads beside the one that leads services.
	chainsName = "dpf-servicefunctionchain-manager"

	services, chains = "services", "chains"
)

// flags are those that only this manager has.
type flags struct {
	controllers string
	sourceRepos []string
	egress      egress.Flags
}

func main() {
	command, _ := newCommand()
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand() (*cobra.Command, *flags) {
	f := &flags{}
	command := manager.Command(name,
		"Services on DPUs: their Applications, chains, interfaces and pools of addresses", f.run)
	command.Flags().StringVar(&f.controllers, "controllers", "",
		`Which controllers run: "services", with pull secrets, or "chains", with interfaces and pools. Without it all do.`)
	command.Flags().StringSliceVar(&f.sourceRepos, "source-repos", []string{"*"},
		"Repositories that the charts of DPUServices may come from, but for the operator's own: patterns as in Argo CD's AppProjects, but for "+
			"those with a !.")
	f.egress.Add(command.Flags())
	return command, f
}

// read the flags. DPU clusters are Services of this cluster: its own ranges aren't refused, as they are where tenants write the Secrets.
func (f *flags) read() (egress.Policy, error) {
	if f.controllers != "" && f.controllers != services && f.controllers != chains {
		return egress.Policy{}, fmt.Errorf("--controllers %q: choose %s or %s", f.controllers, services, chains)
	}
	if err := dpuservice.CheckRepos("source-repos", f.sourceRepos); err != nil {
		return egress.Policy{}, err
	}
	return f.egress.Policy()
}

func (f *flags) run(ctx context.Context, options *manager.Options) error {
	policy, err := f.read()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, svcv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	if f.controllers == chains {
		options.Name = chainsName
	}
	if f.controllers != chains {
		options.Cached = dpuservice.Cached(operatorv1.Namespace)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	if err := f.setup(mgr, scheme, policy, options); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (f *flags) setup(mgr ctrl.Manager, scheme *runtime.Scheme, policy egress.Policy, options *manager.Options) error {
	config := dpucluster.Config{Scheme: scheme, Egress: policy}
	if f.controllers != services {
		config.Cached = dpuset.Cached()
	}
	clusters, err := dpucluster.Setup(mgr, config, options.Controller())
	if err != nil {
		return err
	}
	if f.controllers != chains {
		config := dpuservice.Config{
			Namespace: operatorv1.Namespace, SourceRepos: f.sourceRepos, Clusters: clusters, Poll: options.Poll,
		}
		if err := dpuservice.Setup(mgr, config, options.Controller()); err != nil {
			return err
		}
	}
	if f.controllers == services {
		return nil
	}
	return dpuset.Setup(mgr, dpuset.Config{Clusters: clusters, Poll: options.Poll}, options.Controller())
}
