// Scale measures what bmm's manager costs at the size of a data centre, and wears it out: `make bench` and `make soak`. The
// API server, the simulated site and the manager are real processes; Cluster API's own managers don't run.
package main

import (
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// silence drops what the watches complain about while an API server is down.
func silence() {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
}

func main() {
	silence()
	root := &cobra.Command{
		Use: "scale", Short: "Measure and wear out bmm's manager", SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(benchCommand(), soakCommand())
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
