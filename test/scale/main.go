// Scale measures what the managers of bmm, powervs, krake and dpf cost at the size of a data centre, and wears out bmm's: `make bench`,
// `make bench-powervs`, `make bench-krake`, `make bench-dpf` and `make soak`. The API server, what is simulated outside and the manager are real processes; Cluster API's own
// managers don't run.
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
		Use: "scale", Short: "Measure the managers, and wear out bmm's", SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(benchCommand(), powerCommand(), krakeCommand(), dpfCommand(), soakCommand())
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
