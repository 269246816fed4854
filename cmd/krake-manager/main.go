// krake-manager makes whole clusters from TOSCA templates, each on the cloud that matches it best, through infrastructure managers.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/krake/webhook"
	"github.com/bedplate/bedplate/internal/manager"
)

// flags are those that only this manager has.
type flags struct {
	globalNamespace           string
	imports                   []string
	createDeadline, observing time.Duration
	seed                      uint64
}

func main() {
	command, _ := newCommand()
	manager.Main(command)
}

func newCommand() (*cobra.Command, *flags) {
	f := &flags{}
	command := manager.EngineCommand("bedplate-krake-manager", "Whole clusters through an infrastructure manager, on the best matching cloud",
		func(ctx context.Context, options *manager.Options) error {
			config, err := f.read(options.WatchNamespace)
			if err != nil {
				return err
			}
			return run(ctx, options, config)
		})
	command.Flags().StringVar(&f.globalNamespace, "global-namespace", provider.DefaultGlobalNamespace,
		"Namespace of the Secrets of GlobalClouds and GlobalInfrastructureProviders. If empty, these aren't used.")
	command.Flags().StringSliceVar(&f.imports, "tosca-imports", nil, "What templates may import: URLs, or prefixes of URLs that end with /. "+
		"If empty, templates may import nothing.")
	command.Flags().DurationVar(&f.createDeadline, "create-deadline", provider.DefaultCreateDeadline,
		"How long an infrastructure may be in progress until it is reconfigured.")
	command.Flags().DurationVar(&f.observing, "observe-interval", provider.DefaultObserveInterval,
		"Interval between probes of a healthy cluster. 0 disables the observers of clusters and of infrastructure providers.")
	command.Flags().Uint64Var(&f.seed, "scheduler-seed", 0, "Seed of the choice among clouds with the same score.")
	return command, f
}

// read the flags into the configuration of the controllers, of a manager that watches one namespace, or, without one, all.
func (f flags) read(watched string) (c provider.Config, err error) {
	if problems := validation.IsDNS1123Label(f.globalNamespace); f.globalNamespace != "" && len(problems) > 0 {
		return c, fmt.Errorf("--global-namespace %q: %s", f.globalNamespace, problems[0])
	}
	if watched != "" && f.globalNamespace != "" {
		return c, fmt.Errorf("--namespace=%s: such a manager doesn't see which Global kinds the Clusters of other namespaces use, and would let "+
			"go of them: set --global-namespace= (then it uses no Global kinds), or watch all namespaces", watched)
	}
	if f.createDeadline <= 0 {
		return c, errors.New("--create-deadline: has to be positive")
	}
	if f.observing < 0 {
		return c, errors.New("--observe-interval: can't be negative")
	}
	if c.Imports, err = tosca.ParseImports(f.imports); err != nil {
		return c, fmt.Errorf("--tosca-imports: %w", err)
	}
	c.GlobalNamespace, c.CreateDeadline, c.ObserveInterval, c.Seed = f.globalNamespace, f.createDeadline, f.observing, f.seed
	return c, nil
}

func run(ctx context.Context, options *manager.Options, config provider.Config) error {
	scheme := runtime.NewScheme()
	if err := provider.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	options.SecretsNamespace = config.GlobalNamespace
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	if config.Egress, err = options.EgressPolicy(ctx); err != nil {
		return err
	}
	config.Change = im.Paced(options.Poll, options.OutsideQPS, options.OutsideBurst, config.Egress)
	engine := options.Engine(mgr)
	if err := provider.Setup(ctx, mgr, engine, config, options.Controller()); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, webhook.Options{Imports: config.Imports}.SetupWithManager); err != nil {
		return err
	}
	if err := provider.Expose(mgr); err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	return options.Run(ctx, mgr, engine)
}
