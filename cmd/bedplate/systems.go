package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bedplate/bedplate/internal/describe"
	"github.com/bedplate/bedplate/internal/orphans"
	"github.com/bedplate/bedplate/internal/plan"
)

// system is what the commands know of one of Bedplate's systems. What doesn't apply to it is left out.
type system struct {
	// name is what users write, and title what it is.
	name, title string
	// scheme makes its kinds known.
	scheme runtime.SchemeBuilder
	// ledgers is the API group of its ledgers, and owners are the kinds of objects that have one.
	ledgers string
	owners  []ledgerKind
	// describe has its kinds beside Cluster API's.
	describe []describe.Kind
	plan     *plan.System
	orphans  *orphans.System
	// globalNamespace is where its manager looks for the Secrets of objects that are in no namespace, by default.
	globalNamespace string
	// examples are those of `lab up`. canRun says what this computer lacks for them; optional.
	examples []string
	canRun   func() error
	// simulate is the command that runs its simulator.
	simulate func() *cobra.Command
}

// systems that there are. Each is registered in a file of its own.
var systems = catalogue{bmmSystem, dpfSystem, hydrazineSystem, krakeSystem, powervsSystem}

// catalogue is a number of systems.
type catalogue []system

// with are the systems that have something.
func (c catalogue) with(has func(system) bool) catalogue {
	return slices.DeleteFunc(slices.Clone(c), func(s system) bool { return !has(s) })
}

func (c catalogue) planned() catalogue { return c.with(func(s system) bool { return s.plan != nil }) }

func (c catalogue) searched() catalogue {
	return c.with(func(s system) bool { return s.orphans != nil })
}

// String is a line of help.
func (c catalogue) String() string {
	var all []string
	for _, s := range c {
		all = append(all, fmt.Sprintf("%s (%s)", s.name, s.title))
	}
	return strings.Join(all, ", ")
}

// list is a paragraph of help: a line for each system, and what there is to say of it.
func (c catalogue) list(what func(system) string) string {
	var text strings.Builder
	for _, s := range c {
		fmt.Fprintf(&text, "\n  %s: %s", catalogue{s}, strings.ReplaceAll(what(s), "\n", "\n  "))
	}
	return text.String()
}

func (c catalogue) names() (all []string) {
	for _, s := range c {
		all = append(all, s.name)
	}
	return all
}

// named is the system of a name; without a name, the only one.
func (c catalogue) named(name string) (system, error) {
	if len(c) == 1 && name == "" {
		return c[0], nil
	}
	if i := slices.Index(c.names(), name); i >= 0 {
		return c[i], nil
	}
	return system{}, fmt.Errorf("--system %q: use %s", name, choice(c.names()))
}

// planning is the system that a file has a cluster of; without one, the first.
func (c catalogue) planning(file []byte) (system, error) {
	found := c.with(func(s system) bool { return plan.Has(file, *s.plan) })
	switch len(found) {
	case 0:
		return c[0], nil // whose plan says that there is no cluster
	case 1:
		return found[0], nil
	}
	return system{}, fmt.Errorf("the file has clusters of %s: plan one system at a time", strings.Join(found.names(), " and "))
}

// addGlobalNamespaceFlag adds the flag of the managers that have it.
func (c catalogue) addGlobalNamespaceFlag(flags *pflag.FlagSet, to *string) {
	for _, s := range c.with(func(s system) bool { return s.globalNamespace != "" }) {
		flags.StringVar(to, "global-namespace", s.globalNamespace, s.name+": namespace with the Secrets of Global kinds, as its manager has it")
	}
}

// kinds are those that can be described.
func (c catalogue) kinds() []describe.Kind {
	var ledgers []string
	var all []describe.Kind
	for _, s := range c {
		if s.ledgers != "" {
			ledgers = append(ledgers, s.ledgers)
		}
		all = append(all, s.describe...)
	}
	return append([]describe.Kind{describe.Cluster(ledgers...)}, all...)
}

// examples are those of all systems, sorted.
func (c catalogue) examples() (all []string) {
	for _, s := range c {
		all = append(all, s.examples...)
	}
	return slices.Sorted(slices.Values(all))
}

// choice of several words, in readable form.
func choice(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
