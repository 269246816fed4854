package orphans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/actuator"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// living is an object of the management cluster that may have something at a BMM API.
type living struct {
	kind *ownerKind
	// name in readable form: KIND NAMESPACE/NAME.
	name, namespace string
	// secret that it logs in with; its name is empty if none is known.
	secret types.NamespacedName
	// owner is the ID that what it has carries; empty if it has nothing.
	owner string
	// ledger by key.
	ledger map[string]ledgers.Resource
	// damage of its ledger: then its resources aren't known.
	damage error
	// forsaken is the ledger, if that is all that is left of the object.
	forsaken *ledgerv1.Ledger
	// text is the spec, to check whether it contains an ID; the whole object if the ledger can't be used.
	text string
}

// uses reports whether the ledger or the text has the ID, as the object's own or the user's.
func (l living) uses(id string) bool {
	for _, r := range l.ledger {
		if r.ID == id {
			return true
		}
	}
	return strings.Contains(l.text, id)
}

// ownerKind is a kind of object for which something is made at a BMM API.
type ownerKind struct {
	name string
	// mayHave lists what its objects may have at the BMM API, or name in their specs.
	mayHave func(stage) bool
	list    func(context.Context, client.Reader, allLedgers) ([]holder, error)
}

// holder is an object as its kind shows it.
type holder struct {
	graph.Owner
	spec   any
	secret types.NamespacedName
}

var ownerKinds = []*ownerKind{
	{"NvidiaBMMCluster", func(s stage) bool { return s != stageInstance }, clusters},
	{"NvidiaBMMMachine", func(s stage) bool { return s == stageInstance || s == stageGroup }, machines},
	{"Machine", func(stage) bool { return true }, openShiftMachines},
}

func clusters(ctx context.Context, c client.Reader, _ allLedgers) ([]holder, error) {
	list := &infrav1.NvidiaBMMClusterList{}
	err := c.List(ctx, list)
	return holders(list.Items, func(o *infrav1.NvidiaBMMCluster) (holder, bool) {
		return holder{o, o.Spec, cluster.SecretOf(o)}, true
	}), err
}

// machines log in as their clusters do: their instances were created with the Secret that the ledger names.
func machines(ctx context.Context, c client.Reader, all allLedgers) ([]holder, error) {
	list := &infrav1.NvidiaBMMMachineList{}
	err := c.List(ctx, list)
	return holders(list.Items, func(o *infrav1.NvidiaBMMMachine) (holder, bool) {
		return holder{o, o.Spec, instance.SecretOf(o, all.of("NvidiaBMMMachine", o))}, true
	}), err
}

// openShiftMachines leaves out other providers' Machines, unless a ledger says that one was ours.
func openShiftMachines(ctx context.Context, c client.Reader, all allLedgers) ([]holder, error) {
	list := &machinev1.MachineList{}
	err := c.List(ctx, list)
	return holders(list.Items, func(o *machinev1.Machine) (holder, bool) {
		ledger := all.of("Machine", o)
		secret, ours := actuator.SecretOf(o, ledger)
		return holder{actuator.OwnerOf(o), o.Spec, secret}, ours || ledger != nil
	}), err
}

// holders are the objects that count.
func holders[T any](objects []T, hold func(*T) (_ holder, counts bool)) (all []holder) {
	for i := range objects {
		if h, counts := hold(&objects[i]); counts {
			all = append(all, h)
		}
	}
	return all
}

// claims are those of all living objects.
type claims struct {
	living []living
	// unread are the kinds whose objects can't be listed, and why.
	unread map[*ownerKind]error
}

// readClaims reads all objects of all namespaces that may have something at a BMM API. A kind that the management cluster
// doesn't know has no objects; it is an error if it knows none.
func readClaims(ctx context.Context, c client.Reader) (claims, error) {
	all := claims{unread: map[*ownerKind]error{}}
	known, unreadable := readLedgers(ctx, c)
	var unknown []error
	for _, kind := range ownerKinds {
		found, err := kind.list(ctx, c, known)
		if err == nil && unreadable != nil {
			err = unreadable // then the resources of these aren't known
		}
		switch {
		case meta.IsNoMatchError(err):
			unknown = append(unknown, err)
		case err != nil:
			all.unread[kind] = err
		default:
			for _, h := range found {
				all.living = append(all.living, known.claimOf(kind, h))
			}
		}
	}
	all.living = append(all.living, known.left(all.unread)...)
	if len(unknown) == len(ownerKinds) {
		return all, fmt.Errorf("look for the objects that may own something: %w", errors.Join(unknown...))
	}
	return all, nil
}

// secrets that the objects log in with, each once.
func (c claims) secrets() []types.NamespacedName {
	var all []types.NamespacedName
	for _, l := range c.living {
		if l.secret.Name != "" && !slices.Contains(all, l.secret) {
			all = append(all, l.secret)
		}
	}
	return all
}
