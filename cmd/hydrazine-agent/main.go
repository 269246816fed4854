// hydrazine-agent runs on a DPU and puts the hosts behind it on the networks of tenants, or isolates them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/hydrazine/agent"
	"github.com/bedplate/bedplate/internal/version"
)

// memoryLimit is what Go's collector aims at, unless GOMEMLIMIT says otherwise: a DPU's memory belongs to the network.
const memoryLimit = 16 << 20 // bytes

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func command() *cobra.Command {
	var options agent.Options
	command := &cobra.Command{
		Use:           "hydrazine-agent",
		Short:         "Puts the hosts behind a DPU on the networks of tenants",
		Version:       version.Get(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(*cobra.Command, []string) {
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(memoryLimit)
			}
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := options.TLS.Validate(); err != nil { // isolation alone needs no certificate
				return err
			}
			unlock, err := agent.Lock(c.Context(), options)
			if err != nil {
				return err
			}
			defer unlock()
			a, err := agent.New(options)
			if err != nil {
				return err
			}
			return a.Run(c.Context())
		},
	}
	command.AddCommand(&cobra.Command{
		Use:   "expire",
		Short: "Isolates the hosts whose leases have run out, if no agent does",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return agent.Expire(c.Context(), options) },
	})
	command.CompletionOptions.DisableDefaultCmd = true
	options.AddFlags(command.PersistentFlags())
	return command
}
