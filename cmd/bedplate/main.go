// The command bedplate shows clusters made by Bedplate's managers and runs labs with simulated machines.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bedplate/bedplate/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), signals()...)
	context.AfterFunc(ctx, stop) // whatever still runs then, a second signal kills
	err := rootCommand(systems).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// signals end a command, unless they are ignored from its start, as with nohup.
func signals() []os.Signal {
	return slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
}

func rootCommand(all catalogue) *cobra.Command {
	root := &cobra.Command{
		Use:   "bedplate",
		Short: "Plan and inspect the machines and networks that Kubernetes clusters run on",
		Long: `Bedplate creates and maintains the machines and networks that Kubernetes objects describe.

Its managers run in a Cluster API management cluster; this command is for their users. It shows what a
cluster consists of and what it waits for, and runs a whole lab on this computer: a real management cluster with
simulated machines.

Systems: ` + all.String() + `.`,
		Example: `  # Watch a bare-metal cluster come up on this computer, then look around
  bedplate lab up --example bmm

  # Remove it again
  bedplate lab down`,
		Version:       version.Get(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(labCommand(all), planCommand(all), describeCommand(all), topologyCommand(), orphansCommand(all), ledgerCommand(all), versionCommand())
	return root
}
