package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/plan"
)

func planCommand(all catalogue) *cobra.Command {
	from := management{systems: all}
	all = all.planned()
	var file, output string
	var calls egress.Flags
	var o plan.Options
	command := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what applying a file would make, change and delete outside Kubernetes",
		Long: `Shows what would happen outside Kubernetes if the file were applied: for each cluster in it, what would be created, used,
adopted, changed and deleted, and why; for its machines, what would happen to the existing ones, and how many would be added.
It supports the clusters of these systems:
` + all.list(func(s system) string { return s.plan.Cluster }) + `

Nothing is written. The file is applied to the management cluster in server-side dry runs, so that defaults, validation and
webhooks take effect: that needs the provider's CRDs, the namespace, and the rights to apply the file. The outside service is only read,
with the credentials of the file or else of the management cluster.

A plan knows what can be seen now. It doesn't foresee what Cluster API decides by itself, such as the replacement of machines
by a new Kubernetes version.

The exit code is 0 even if there are changes to make; it is 1 if something can't be done.`,
		Example: `  # What would this file do?
  bedplate plan -f cluster.yaml

  # Before a template is applied
  clusterctl generate yaml --from examples/bmm/cluster.yaml | bedplate plan -f -

  # Fail a pipeline that would delete anything
  bedplate plan -f cluster.yaml -o json | jq -e '.summary.delete // 0 == 0'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Policy, err = calls.Policy(); err != nil {
				return err
			}
			source, err := read(cmd.Context(), file, cmd.InOrStdin())
			if err != nil {
				return err
			}
			s, err := all.planning(source)
			if err != nil {
				return err
			}
			from.ledgers = s.ledgers
			return from.use(func(c client.Client, namespace string) error {
				o.Namespace = namespace
				planned, err := plan.File(cmd.Context(), c, *s.plan, o, source)
				if err != nil {
					return err
				}
				return printPlan(cmd.OutOrStdout(), planned, output)
			})
		},
	}
	flags := command.Flags()
	flags.StringVarP(&file, "filename", "f", "", "YAML file of any number of documents, or - for standard input")
	from.addNamespaceFlag(command, "objects that name none")
	from.addFlags(command)
	calls.Add(flags)
	all.addGlobalNamespaceFlag(flags, &o.GlobalNamespace)
	addOutputFlag(command, &output, "text", "json")
	_ = command.MarkFlagRequired("filename") // fails for unknown flags only
	return command
}

// read returns what is in a file, where - is the standard input. A terminal or a pipe may never come to its end, so that it
// returns when ctx ends.
func read(ctx context.Context, file string, stdin io.Reader) ([]byte, error) {
	type content struct {
		data []byte
		err  error
	}
	whole := make(chan content, 1)
	go func() {
		var c content
		if file == "-" {
			c.data, c.err = io.ReadAll(stdin)
		} else {
			c.data, c.err = os.ReadFile(file)
		}
		whole <- c
	}()
	select {
	case c := <-whole:
		return c.data, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// printPlan fails after it has printed a plan that can't be done.
func printPlan(out io.Writer, p *plan.Plan, output string) error {
	var err error
	if output == "json" {
		err = printJSON(out, p)
	} else {
		err = plan.Print(out, p)
	}
	if err == nil && p.Failures() > 0 {
		err = fmt.Errorf("%d steps of the plan can't be done", p.Failures())
	}
	return err
}
