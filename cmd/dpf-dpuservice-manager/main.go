// dpf-dpuservice-manager deploys DPUServices by Argo CD, and gives DPU clusters their chains, interfaces, pools of addresses and pull
// secrets.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/manager"
)

const defaultNamespace = "dpf-operator-system"

// flags are those that only this manager has.
type flags struct {
	namespace string
	egress    egress.Flags
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
	command := manager.Command("dpf-dpuservice-manager",
		"Services on DPUs: their Applications, chains, interfaces and pools of addresses", f.run)
	command.Flags().StringVar(&f.namespace, "argocd-namespace", defaultNamespace,
		"Namespace of Argo CD's Applications, projects and cluster Secrets.")
	f.egress.Add(command.Flags())
	return command, f
}

// read the flags. DPU clusters are Services of this cluster: its own ranges aren't refused, as they are where tenants write the Secrets.
func (f *flags) read() (egress.Policy, error) {
	if problems := validation.IsDNS1123Label(f.namespace); len(problems) > 0 {
		return egress.Policy{}, fmt.Errorf("--argocd-namespace %q: %s", f.namespace, problems[0])
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
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	clusters, err := dpucluster.Setup(mgr, dpucluster.Config{Scheme: scheme, Cached: dpuset.Cached(), Egress: policy}, options.Controller())
	if err != nil {
		return err
	}
	services := dpuservice.Config{Namespace: f.namespace, Clusters: clusters, Poll: options.Poll}
	if err := dpuservice.Setup(mgr, services, options.Controller()); err != nil {
		return err
	}
	if err := dpuset.Setup(mgr, dpuset.Config{Clusters: clusters, Poll: options.Poll}, options.Controller()); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
