package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bedplate/bedplate/internal/describe"
	"github.com/bedplate/bedplate/internal/orphans"
	"github.com/bedplate/bedplate/internal/plan"
)

// withToys are the systems, and another one.
func withToys() catalogue {
	return append(append(catalogue{}, tested...), system{
		name: "toys", title: "toys in a shop", ledgers: "toys.bedplate.dev",
		describe: []describe.Kind{{Names: []string{"toybox", "tb"}, Shows: "a box\nwith its toys"}},
		plan:     &plan.System{Version: schema.GroupVersion{Group: "toys.bedplate.dev", Version: "v1"}, Cluster: "ToyCluster"},
		orphans:  &orphans.System{Help: "toys that no child has"},
		examples: []string{"toys"},
		simulate: func() *cobra.Command {
			return &cobra.Command{Use: "toys", Short: "Simulate a shop", Run: func(*cobra.Command, []string) {}}
		},
	})
}

func helpOf(t *testing.T, all catalogue, args ...string) string {
	t.Helper()
	out, err := runWith(t, all, nil, append(args, "--help")...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

func TestSystems_areKnownToTheCommandsByOneRegistration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := withToys()
	g.Expect(helpOf(t, all)).To(ContainSubstring("Systems: bmm (NVIDIA bare metal), hydrazine (tenants' networks over bare metal), toys (toys in a shop)."))
	g.Expect(helpOf(t, all, "plan")).To(And(ContainSubstring("\n  toys (toys in a shop): ToyCluster\n"), Not(ContainSubstring("hydrazine"))))
	g.Expect(helpOf(t, all, "describe")).To(ContainSubstring("\n  toybox           a box\n                   with its toys\n"))
	g.Expect(helpOf(t, all, "orphans")).To(And(
		ContainSubstring("\n  toys (toys in a shop): toys that no child has\n"), ContainSubstring("system whose orphans are meant: bmm or toys"),
	))
	g.Expect(helpOf(t, tested, "orphans")).NotTo(ContainSubstring("--system"), "there is only one")
	g.Expect(helpOf(t, all, "lab")).To(ContainSubstring("toys (toys in a shop)"))
	g.Expect(helpOf(t, all, "lab", "up")).To(ContainSubstring("this example: bmm, bmm-class, hydrazine, openshift-machines, toys\n"))
	g.Expect(helpOf(t, all, "lab", "simulate")).To(ContainSubstring("Simulate a shop"))

	kind, name, err := described(all.kinds(), []string{"TB/x"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kind.Names[0] + " " + name).To(Equal("toybox x"))
}

func TestSystems_ofAPlanIsTheOneThatTheFileHasAClusterOf(t *testing.T) {
	t.Parallel()
	const toys = "{apiVersion: toys.bedplate.dev/v2, kind: ToyCluster, metadata: {name: t}}\n"
	const bmm = "---\n{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: NvidiaBMMCluster, metadata: {name: b}}\n"
	for file, want := range map[string]string{
		toys: "toys", bmm: "bmm", "": "bmm", "not: [YAML": "bmm",
		"{apiVersion: others.dev/v1, kind: ToyCluster, metadata: {name: t}}": "bmm",
	} {
		s, err := withToys().planned().planning([]byte(file))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(s.name).To(Equal(want), file)
	}
	_, err := withToys().planned().planning([]byte(toys + bmm))
	NewWithT(t).Expect(err).To(MatchError("the file has clusters of bmm and toys: plan one system at a time"))
}

func TestSystems_ofOrphansHasToBeNamedIfThereAreSeveral(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for name, refusal := range map[string]string{
		"toys": "", "": `--system "": use bmm or toys`, "hydrazine": `--system "hydrazine": use bmm or toys`,
	} {
		s, err := withToys().searched().named(name)
		if refusal != "" {
			g.Expect(err).To(MatchError(refusal))
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.name).To(Equal(name))
	}
	s, err := tested.searched().named("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.name).To(Equal("bmm"))
}
