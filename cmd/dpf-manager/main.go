// dpf-manager installs the DOCA Platform Framework on an OpenShift cluster and its DPU clusters, and moves the network of workers onto
// their DPUs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/operator"
	"github.com/bedplate/bedplate/internal/dpf/webhook"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/manager"
)

// flags are those that only this manager has.
type flags struct {
	release components.Release
	egress  egress.Flags
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
	command := manager.Command("bedplate-dpf-manager", "Installs the DOCA Platform Framework, and moves workers' networks onto their DPUs",
		func(ctx context.Context, options *manager.Options) error {
			config, err := f.read()
			if err != nil {
				return err
			}
			config.Poll = options.Poll
			return run(ctx, options, config)
		})
	f.egress.Add(command.Flags())
	command.Flags().StringVar(&f.release.Registry, "image-registry", components.DefaultRegistry,
		"Where the components' own images are, without a / at the end.")
	command.Flags().StringVar(&f.release.Charts, "chart-registry", components.DefaultCharts,
		"Where the charts of the components on DPU clusters are: oci:// or https://.")
	command.Flags().StringVar(&f.release.Version, "components-version", components.Version(), "Version of these images and charts.")
	command.Flags().StringVar(&f.release.SourceRepos, "service-source-repos", os.Getenv(components.SourceReposVariable),
		"Repositories that the charts of users' DPUServices may come from: patterns as in Argo CD's AppProjects, but for those with "+
			"a !, with commas between them. Without it those of the environment variable "+
			components.SourceReposVariable+", or anywhere.")
	return command, f
}

// read the flags into the configuration of the operator.
func (f *flags) read() (c operator.Config, err error) {
	r := f.release
	isURL := strings.HasPrefix(r.Charts, "oci://") || strings.HasPrefix(r.Charts, "https://")
	if err := errors.Join(
		flagcheck.That("image-registry", r.Registry, r.Registry != "" && !strings.HasSuffix(r.Registry, "/"), "such as "+components.DefaultRegistry),
		flagcheck.That("chart-registry", r.Charts, isURL, "a URL such as "+components.DefaultCharts),
		checkRepos(r.SourceRepos),
		flagcheck.That("components-version", r.Version, r.Version != "", "a version, such as v1.2.3"),
	); err != nil {
		return c, err
	}
	c.Release = f.release
	c.Egress, err = f.egress.Policy() // DPU clusters may be behind Services of the host cluster: those are no exception
	return c, err
}

// checkRepos as the DPUService controller will, which doesn't start with what it doesn't understand.
func checkRepos(patterns string) error {
	if patterns == "" {
		return nil
	}
	return dpuservice.CheckRepos("service-source-repos", strings.Split(patterns, ","))
}

func run(ctx context.Context, options *manager.Options, config operator.Config) error {
	scheme := runtime.NewScheme()
	if err := operator.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	options.Cached = operator.Cached()
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	if err := operator.Setup(mgr, config, options.Controller()); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, webhook.SetupWithManager); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
