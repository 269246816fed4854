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

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/printable"
)

func ledgerCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "ledger",
		Short: "Show and repair the ledger of an object: the record of its external resources",
		Long: `A ledger says what exists outside Kubernetes for an object: an NvidiaBMMCluster, an NvidiaBMMMachine, or a Machine of OpenShift's.
Bedplate's managers write it. Use these commands if one is lost or incomplete: docs/backup.md has the cases.`,
	}
	command.AddCommand(ledgerShowCommand(), ledgerSeedCommand(), ledgerAdoptCommand(), ledgerRebuildCommand())
	return command
}

// onLedger makes a command about the ledger of one object.
func onLedger(
	use, short, example string, args cobra.PositionalArgs,
	run func(ctx context.Context, out io.Writer, c client.Client, owner graph.Owner, args []string) error,
) *cobra.Command {
	from := management{systems: catalogue{bmmSystem}, ledgers: bmmSystem.ledgers}
	command := &cobra.Command{
		Use: use, Short: short, Example: example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return from.use(func(c client.Client, namespace string) error {
				owner, err := ledgerOwner(cmd.Context(), c, namespace, args[0])
				if err != nil {
					return err
				}
				return run(cmd.Context(), cmd.OutOrStdout(), c, owner, args[1:])
			})
		},
	}
	from.addFlags(command)
	from.addNamespaceFlag(command, "the object")
	return command
}

// ledgerOwner reads KIND/NAME.
func ledgerOwner(ctx context.Context, c client.Client, namespace, text string) (graph.Owner, error) {
	kind, name, _ := strings.Cut(text, "/")
	key := client.ObjectKey{Namespace: namespace, Name: name}
	switch strings.ToLower(kind) {
	case "nvidiabmmcluster":
		o := &infrav1.NvidiaBMMCluster{}
		return o, c.Get(ctx, key, o)
	case "nvidiabmmmachine":
		o := &infrav1.NvidiaBMMMachine{}
		return o, c.Get(ctx, key, o)
	case "machine":
		o := &machinev1.Machine{}
		err := c.Get(ctx, key, o)
		return actuator.OwnerOf(o), err
	}
	return nil, fmt.Errorf("%q: it has to be nvidiabmmcluster/NAME, nvidiabmmmachine/NAME or machine/NAME", text)
}

func ledgerShowCommand() *cobra.Command {
	return onLedger("show KIND/NAME", "Print the ledger of an object", "  bedplate ledger show nvidiabmmcluster/demo", cobra.ExactArgs(1),
		func(ctx context.Context, out io.Writer, c client.Client, owner graph.Owner, _ []string) error {
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
	_, _ = fmt.Fprintf(out, "Owner ID:     %s\nHome:         %s\nCredentials:  %s\n\n", l.Spec.OwnerID, l.Spec.Home, strings.Join(l.Spec.Credentials, ", "))
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

func ledgerSeedCommand() *cobra.Command {
	var ownerID string
	var credentials []string
	var in map[string]string
	command := onLedger("seed KIND/NAME --owner-id ID --credentials SECRET KEY=KIND/ID…",
		"Write the ledger of an object that has none",
		`  bedplate ledger seed nvidiabmmmachine/worker-1 --owner-id 0c1f7e2ab934 --credentials demo-bmm \
    instance=instance/6f0c4c1e-58a8-4a0e-8d4e-2b5a3f0a9c11`, cobra.MinimumNArgs(2),
		func(ctx context.Context, _ io.Writer, c client.Client, owner graph.Owner, args []string) error {
			resources, err := resourcesOf(owner, args, in, false)
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

func ledgerAdoptCommand() *cobra.Command {
	var yours bool
	var in map[string]string
	command := onLedger("adopt KIND/NAME KEY=KIND/ID…", "Add existing external resources to the ledger of an object",
		"  bedplate ledger adopt nvidiabmmcluster/demo subnet/nodes=subnet/5d2e8f67-10ac-4d0b-9c57-3f5f7a1c2b90", cobra.MinimumNArgs(2),
		func(ctx context.Context, out io.Writer, c client.Client, owner graph.Owner, args []string) error {
			resources, err := resourcesOf(owner, args, in, yours)
			if err == nil {
				err = ledgerEngine(c).AdoptInto(ctx, owner, resources...)
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

func inFlag(command *cobra.Command, in *map[string]string) {
	command.Flags().StringToStringVar(in, "in", nil, "scope of the resource, such as site=ID, if neither the object nor its ledger has it")
}

func ledgerRebuildCommand() *cobra.Command {
	return onLedger("rebuild KIND/NAME",
		"Let the manager rebuild a lost ledger from the tags outside, or take over one of another management cluster",
		"  bedplate ledger rebuild nvidiabmmcluster/demo", cobra.ExactArgs(1),
		func(ctx context.Context, out io.Writer, c client.Client, owner graph.Owner, _ []string) error {
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

// form of a key in a ledger, and what is under it.
type form struct {
	kind string
	// yours: it can only be the user's own.
	yours bool
}

// The forms of keys by the kinds of objects: with a slash at the end where a name comes after it. Under another key, or of another
// kind, the manager wouldn't know what to do with it, or would delete what the spec doesn't ask for under that key.
var (
	clusterForms = map[string]form{
		"site": {"site", true}, "ipblock": {"IP block", true}, "parentblock/": {"IP block", false}, "allocation/": {"allocation", false},
		"group": {"network security group", false}, "group/": {"network security group", true}, "vpc": {"VPC", false},
		"subnet/": {"subnet", false}, "prefix/": {"VPC prefix", false}, "peering/": {"VPC peering", false},
	}
	machineForms = map[string]form{"instance": {"instance", false}}
)

// resourcesOf reads KEY=KIND/ID, of what lies in a scope and belongs to an object.
func resourcesOf(owner graph.Owner, args []string, in graph.Scope, yours bool) (resources []ledgers.Resource, _ error) {
	forms := machineForms
	if cluster, is := owner.(*infrav1.NvidiaBMMCluster); is {
		forms = clusterForms
		if len(in) == 0 {
			in = graph.Scope{infrav1.KindSite: cluster.Status.SiteID, "VPC": cluster.Status.VPCID}
			maps.DeleteFunc(in, func(_, id string) bool { return id == "" })
		}
	}
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
		switch known, is := forms[of]; {
		case !is || named && name == "":
			return nil, fmt.Errorf("%q: the key has to be one of %s; a name follows the slash", arg, strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
		case known.kind != kind:
			return nil, fmt.Errorf("%q: the kind of the resource under this key must be %q", arg, known.kind)
		case known.yours && !yours:
			return nil, fmt.Errorf("%q: what is under this key is your own, and never deleted: adopt it with --yours", arg)
		}
		lies := in
		if kind != "VPC peering" { // nothing else lies in the VPC; the group even comes before it
			lies = maps.Clone(in)
			delete(lies, "VPC")
		} else if cluster, is := owner.(*infrav1.NvidiaBMMCluster); is && !yours && !asksFor(cluster, name, id) {
			return nil, fmt.Errorf("%q: neither spec nor status have a peering with %q, and under this key it would be deleted", arg, name)
		}
		resources = append(resources, ledgers.Resource{Key: key, Kind: kind, ID: id, Scope: lies, Own: !yours})
	}
	return resources, nil
}

// asksFor reports whether a cluster wants a peering, has it in its status, or wants nothing any more.
func asksFor(c *infrav1.NvidiaBMMCluster, peer, id string) bool {
	return c.DeletionTimestamp != nil ||
		slices.ContainsFunc(c.Spec.VPCPeerings, func(p infrav1.VPCPeeringSpec) bool { return p.PeerVPCID == peer }) ||
		slices.ContainsFunc(c.Status.VPCPeerings, func(p infrav1.VPCPeeringStatus) bool { return p.PeerVPCID == peer && p.ID == id })
}
