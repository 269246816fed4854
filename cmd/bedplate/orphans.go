package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/orphans"
)

type orphansOptions struct {
	orphans.Options
	from    management
	system  system
	output  string
	secrets []string
	remove  bool
	calls   egress.Flags
}

func orphansCommand(all catalogue) *cobra.Command {
	var o orphansOptions
	var name string
	o.from.systems = all
	all = all.searched()
	command := &cobra.Command{
		Use:   "orphans",
		Short: "List external resources that no longer belong to an object, and delete them on request",
		Long: `Lists external resources that carry Bedplate's owner tag and belong to no object of the management cluster: what is left when
a finalizer was removed by hand, or a management cluster was lost. Duplicates are listed too: resources that carry the tag of
an existing object which has another one. Supported systems:
` + all.list(func(s system) string { return s.orphans.Help }) + `

What isn't certain is left out, and named.

Only this management cluster is looked at. What belongs to another one looks like an orphan: so --delete needs the owner IDs
whose resources are to be deleted. Before it deletes a resource, it reads it again, and looks for its owner in all namespaces
again. It doesn't wait for deletions to finish: repeat the command until nothing is listed.

What can't be read is named: objects that can't be listed, a ledger or a Secret that can't be used, a site that doesn't answer.
What may belong to it is left out, and the command fails after it has printed the rest. What is seen with the credentials of
one account counts for that account only.`,
		Example: `  # At all sites, with the credentials of all objects
  bedplate orphans

  # With the credentials of one Secret, at one site
  bedplate orphans --secret default/demo-bmm --site site-1

  # Delete what two objects have left; repeat until nothing is listed
  bedplate orphans --secret default/demo-bmm --delete --owner 0c1f7e2ab934,5d2e8f6710ac`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.system, err = all.named(name); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			o.from.ledgers = o.system.ledgers
			return o.from.use(func(c client.Client, _ string) error { return o.run(cmd.Context(), cmd.OutOrStdout(), c) })
		},
	}
	flags := command.Flags()
	if len(all) > 1 {
		flags.StringVar(&name, "system", "", "system whose orphans are meant: "+choice(all.names()))
	}
	flags.StringSliceVar(&o.secrets, "secret", nil, "NAMESPACE/NAME to log in with (default the Secrets of all objects)")
	flags.StringSliceVar(&o.Sites, "site", nil, "ID or name of a site (default all)")
	flags.StringSliceVar(&o.Owners, "owner", nil, "only resources with these owner IDs, including those that have the ID in their name only")
	flags.BoolVar(&o.remove, "delete", false, "delete what is listed; needs --owner")
	o.from.addFlags(command)
	o.calls.Add(flags)
	all.addGlobalNamespaceFlag(flags, &o.GlobalNamespace)
	addOutputFlag(command, &o.output, "text", "json")
	return command
}

func (o *orphansOptions) check() error {
	for _, secret := range o.secrets {
		namespace, name, ok := strings.Cut(secret, "/")
		if !ok || namespace == "" || name == "" {
			return fmt.Errorf("--secret %q: it has to be NAMESPACE/NAME", secret)
		}
		o.Secrets = append(o.Secrets, types.NamespacedName{Namespace: namespace, Name: name})
	}
	var err error
	if o.Egress, err = o.calls.Policy(); err != nil {
		return err
	}
	if o.remove && len(o.Owners) == 0 {
		return errors.New("--delete needs --owner with the owner IDs that are meant: " +
			"this management cluster can't know what belongs to another one")
	}
	return nil
}

func (o *orphansOptions) run(ctx context.Context, out io.Writer, c client.Client) error {
	report, err := orphans.Find(ctx, c, *o.system.orphans, o.Options)
	if err != nil {
		return err
	}
	if o.remove {
		err = report.Delete(ctx, c)
	}
	if missing := len(report.Incomplete); missing > 0 {
		err = errors.Join(err, fmt.Errorf("the report is incomplete: %d things couldn't be read, and what may belong to them is left out", missing))
	}
	if o.output == "json" {
		return errors.Join(printJSON(out, report), err)
	}
	return errors.Join(orphans.Print(out, report), err)
}
