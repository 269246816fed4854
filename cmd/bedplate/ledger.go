package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/printable"
)

// ledgerKind is a kind of object that has a ledger.
type ledgerKind struct {
	// name in small letters, and article and name in a sentence; short is another name, if there is one.
	name, short, title string
	read               func(context.Context, client.Client, client.ObjectKey) (graph.Owner, error)
	// forms of the keys in its ledger: whole ones, or those with a slash at the end where a name comes after it. Under another key, or of another kind, the
	// manager wouldn't know what to do with a resource, or would delete what the spec doesn't ask for under that key.
	forms map[string]form
	// complete adds to a resource what the object says of its scope, or refuses it. Optional.
	complete func(graph.Owner, *ledgers.Resource) error
}

// form of a key in a ledger, and what is under it.
type form struct {
	kind string
	// yours: it can only be the user's own.
	yours bool
}

func ledgerCommand(all catalogue) *cobra.Command {
	var titles []string
	for _, s := range all {
		for _, k := range s.owners {
			titles = append(titles, k.title)
		}
	}
	command := &cobra.Command{
		Use:   "ledger",
		Short: "Show and repair the ledger of an object: the record of its external resources",
		Long: `A ledger says what exists outside Kubernetes for an object: ` + choice(titles) + `.
Bedplate's managers write it. Use these commands if one is lost or incomplete: docs/backup.md has the cases.`,
	}
	command.AddCommand(ledgerShowCommand(all), ledgerSeedCommand(all), ledgerAdoptCommand(all), ledgerRebuildCommand(all))
	return command
}

// onLedger makes a command about the ledger of one object.
func onLedger(
	all catalogue, use, short, example string, args cobra.PositionalArgs,
	run func(ctx context.Context, out io.Writer, c client.Client, kind ledgerKind, owner graph.Owner, args []string) error,
) *cobra.Command {
	from := management{systems: all}
	command := &cobra.Command{
		Use: use, Short: short, Example: example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, err := from.owned(args[0])
			if err != nil {
				return err
			}
			return from.use(func(c client.Client, namespace string) error {
				owner, err := kind.read(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: name})
				if err != nil {
					return err
				}
				return run(cmd.Context(), cmd.OutOrStdout(), c, kind, owner, args[1:])
			})
		},
	}
	from.addFlags(command)
	from.addNamespaceFlag(command, "the object")
	return command
}

// owned reads KIND/NAME of an object that has a ledger, and remembers of which system.
func (m *management) owned(text string) (_ ledgerKind, name string, _ error) {
	kind, name, _ := strings.Cut(text, "/")
	var known []string
	for _, s := range m.systems {
		for _, k := range s.owners {
			if called := strings.ToLower(kind); called != "" && (called == k.name || called == k.short) {
				m.ledgers = s.ledgers
				return k, name, nil
			}
			known = append(known, k.name+"/NAME")
		}
	}
	return ledgerKind{}, "", fmt.Errorf("%q: it has to be %s", text, choice(known))
}

func ledgerShowCommand(all catalogue) *cobra.Command {
	return onLedger(all, "show KIND/NAME", "Print the ledger of an object", "  bedplate ledger show nvidiabmmcluster/demo", cobra.ExactArgs(1),
		func(ctx context.Context, out io.Writer, c client.Client, _ ledgerKind, owner graph.Owner, _ []string) error {
			return showLedger(ctx, out, c, owner)
		})
}

func showLedger(ctx context.Context, out io.Writer, c client.Client, owner graph.Owner) error {
	l, err := ledgers.Of(ctx, c, c.Scheme(), owner)
	if err != nil {
		return err
	}
	if l == nil {
		return errors.New("the object has no ledger")
	}
	_, _ = fmt.Fprintf(out, "Owner ID:     %s\nHome:         %s\nCredentials:  %s\n", l.Spec.OwnerID, l.Spec.Home, strings.Join(l.Spec.Credentials, ", "))
	if l.Spec.Account != "" {
		_, _ = fmt.Fprintf(out, "Account:      %s\n", l.Spec.Account)
	}
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "KEY\tKIND\tSTATE\tID\tIN\tNOTE")
	for _, e := range l.Spec.Entries {
		note := e.Message
		if e.Foreign {
			note = "yours"
		}
		var fields []string
		for _, field := range []string{e.Key, e.Kind, string(e.State), e.ID, e.Scope.String(), note} {
			fields = append(fields, printable.Text(field))
		}
		_, _ = fmt.Fprintln(table, strings.Join(fields, "\t"))
	}
	return table.Flush()
}

func ledgerSeedCommand(all catalogue) *cobra.Command {
	var ownerID string
	var credentials []string
	var in map[string]string
	command := onLedger(all, "seed KIND/NAME --owner-id ID --credentials SECRET KEY=KIND/ID…",
		"Write the ledger of an object that has none",
		`  bedplate ledger seed nvidiabmmmachine/worker-1 --owner-id 0c1f7e2ab934 --credentials demo-bmm \
    instance=instance/6f0c4c1e-58a8-4a0e-8d4e-2b5a3f0a9c11`, cobra.MinimumNArgs(2),
		func(ctx context.Context, _ io.Writer, c client.Client, kind ledgerKind, owner graph.Owner, args []string) error {
			resources, err := kind.resourcesOf(owner, args, in, false)
			if err != nil {
				return err
			}
			var names []string
			for _, secret := range credentials {
				names = append(names, owner.GetNamespace()+"/"+secret)
			}
			return ledgerEngine(c).Seed(ctx, owner, ownerID, names, nil, resources...)
		})
	command.Flags().StringVar(&ownerID, "owner-id", "", "what the resources carry in their labels, or at the end of their names")
	command.Flags().StringSliceVar(&credentials, "credentials", nil, "Secrets that they were made with, in the object's namespace")
	inFlag(command, &in)
	_ = command.MarkFlagRequired("owner-id")
	_ = command.MarkFlagRequired("credentials")
	return command
}

func ledgerAdoptCommand(all catalogue) *cobra.Command {
	var yours bool
	var in map[string]string
	command := onLedger(all, "adopt KIND/NAME KEY=KIND/ID…", "Add existing external resources to the ledger of an object",
		"  bedplate ledger adopt nvidiabmmcluster/demo subnet/nodes=subnet/5d2e8f67-10ac-4d0b-9c57-3f5f7a1c2b90", cobra.MinimumNArgs(2),
		func(ctx context.Context, out io.Writer, c client.Client, kind ledgerKind, owner graph.Owner, args []string) error {
			resources, err := kind.resourcesOf(owner, args, in, yours)
			if err == nil {
				err = adopt(ctx, c, owner, resources)
			}
			if err != nil {
				return err
			}
			return showLedger(ctx, out, c, owner) // of an attempt only the scope was written
		})
	command.Flags().BoolVar(&yours, "yours", false, "the resource is your own: Bedplate never changes or deletes it; take its tag off, if it has one")
	inFlag(command, &in)
	return command
}

// adopt resources into an object's ledger. The manager writes it too.
func adopt(ctx context.Context, c client.Client, owner graph.Owner, resources []ledgers.Resource) error {
	stale := func(err error) bool { return errors.Is(err, phases.ErrStale) }
	return retry.OnError(retry.DefaultBackoff, stale, func() error { return ledgerEngine(c).AdoptInto(ctx, owner, resources...) })
}

func inFlag(command *cobra.Command, in *map[string]string) {
	command.Flags().StringToStringVar(in, "in", nil, "scope of the resource, such as site=ID, if neither the object nor its ledger has it")
}

func ledgerRebuildCommand(all catalogue) *cobra.Command {
	return onLedger(all, "rebuild KIND/NAME",
		"Let the manager rebuild a lost ledger from the tags outside, or take over one of another management cluster",
		"  bedplate ledger rebuild nvidiabmmcluster/demo", cobra.ExactArgs(1),
		func(ctx context.Context, out io.Writer, c client.Client, _ ledgerKind, owner graph.Owner, _ []string) error {
			if err := graph.TakeOver(ctx, c, owner); err != nil {
				return err
			}
			_, err := fmt.Fprintln(out, "The manager was asked to rebuild the ledger; the object's conditions show the result.")
			return err
		})
}

func ledgerEngine(c client.Client) *graph.Engine {
	return &graph.Engine{Store: &ledgers.Store{Client: c, Live: c}, Clock: clock.RealClock{}}
}

// resourcesOf reads KEY=KIND/ID, of what lies in a scope and belongs to an object.
func (k ledgerKind) resourcesOf(owner graph.Owner, args []string, in graph.Scope, yours bool) (resources []ledgers.Resource, _ error) {
	for _, arg := range args {
		key, what, _ := strings.Cut(arg, "=")
		kind, id, found := strings.Cut(what, "/")
		if !found || key == "" || kind == "" || id == "" {
			return nil, fmt.Errorf("%q: it has to be KEY=KIND/ID, such as vpc=VPC/1f0c…", arg)
		}
		of, name, named := strings.Cut(key, "/")
		if named {
			of += "/"
		}
		known, is := k.forms[key]
		if !is || !named {
			known, is = k.forms[of]
		}
		switch {
		case !is || named && name == "":
			return nil, fmt.Errorf("%q: the key has to be one of %s; a name follows the slash", arg, strings.Join(slices.Sorted(maps.Keys(k.forms)), ", "))
		case known.kind != kind:
			return nil, fmt.Errorf("%q: the kind of the resource under this key must be %q", arg, known.kind)
		case known.yours && !yours:
			return nil, fmt.Errorf("%q: what is under this key is your own, and never deleted: adopt it with --yours", arg)
		}
		r := ledgers.Resource{Key: key, Kind: kind, ID: id, Scope: maps.Clone(in), Own: !yours}
		if k.complete != nil {
			if err := k.complete(owner, &r); err != nil {
				return nil, fmt.Errorf("%q: %w", arg, err)
			}
		}
		resources = append(resources, r)
	}
	return resources, nil
}
