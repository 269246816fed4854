// dpu-cni-provisioner keeps the tunnel endpoint of ovn-kubernetes on a DPU.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/bedplate/bedplate/internal/dpf/provisioner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := provisioner.Command(provisioner.DPU).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}
