// dpu-host-network-provisioner keeps the address and the routes by which a host reaches the network of DPUs.
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
	if err := provisioner.Command(provisioner.Host).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}
