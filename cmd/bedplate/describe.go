package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/describe"
)

func describeCommand(all catalogue) *cobra.Command {
	from := management{systems: all}
	var output string
	command := &cobra.Command{
		Use:   "describe KIND NAME",
		Short: "Show an object's parts, in Kubernetes and outside, and what it is waiting for",
		Long: "Shows an object as a tree, with each condition that says why it isn't ready:\n\n" + kindsHelp(all.kinds()) + `
KIND/NAME is accepted too. Supported systems: ` + all.String() + `.`,
		Example: `  # The cluster "demo" of the current kubeconfig context
  bedplate describe cluster demo

  # Why isn't it ready? Every condition of every object, for jq
  bedplate describe cluster demo -o json | jq '.. | .conditions? // empty'

  # The network "blue" of a tenant's, and its hosts
  bedplate describe resourcegroup/blue -n tenant`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, err := described(all.kinds(), args)
			if err != nil {
				return err
			}
			return from.use(func(c client.Client, namespace string) error {
				root, err := kind.Read(cmd.Context(), c, namespace, name)
				if err != nil {
					return err
				}
				return printTree(cmd.OutOrStdout(), root, output)
			})
		},
	}
	from.addFlags(command)
	from.addNamespaceFlag(command, "the object")
	addOutputFlag(command, &output, "text", "json")
	return command
}

// kindsHelp has a paragraph for each kind, beside its name.
func kindsHelp(kinds []describe.Kind) string {
	width := 0
	for _, k := range kinds {
		width = max(width, len(k.Names[0]))
	}
	var text strings.Builder
	for _, k := range kinds {
		begin := k.Names[0]
		for line := range strings.SplitSeq(k.Shows, "\n") {
			fmt.Fprintf(&text, "  %-*s  %s\n", width, begin, line)
			begin = ""
		}
	}
	return text.String()
}

// described is the kind that the arguments name, and the name of the object.
func described(kinds []describe.Kind, args []string) (describe.Kind, string, error) {
	kind, name, named := strings.Cut(args[0], "/")
	if len(args) > 1 {
		kind, name, named = args[0], args[1], true
	}
	if !named || name == "" || strings.Contains(name, "/") {
		return describe.Kind{}, "", fmt.Errorf("%q names no object: write KIND NAME, such as cluster demo", strings.Join(args, " "))
	}
	var known []string
	for _, k := range kinds {
		if slices.Contains(k.Names, strings.ToLower(kind)) {
			return k, name, nil
		}
		known = append(known, k.Names[0])
	}
	return describe.Kind{}, "", fmt.Errorf("nothing is known of the kind %q: use %s", kind, choice(known))
}

func printTree(out io.Writer, root *describe.Object, output string) error {
	if output == "json" {
		return printJSON(out, root)
	}
	return describe.Print(out, root, time.Now())
}
