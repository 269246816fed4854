package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/krake/provider"
	"github.com/bedplate/bedplate/internal/krake/tosca"
)

func read(args ...string) (provider.Config, error) {
	command, f := newCommand()
	watched := command.Flags().Lookup("namespace")
	if err := command.ParseFlags(args); err != nil {
		return provider.Config{}, err
	}
	return f.read(watched.Value.String())
}

func TestFlags_areRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	none, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none).To(Equal(provider.Config{
		GlobalNamespace: "bedplate-krake-system", CreateDeadline: time.Hour, ObserveInterval: 30 * time.Second,
	}))
	all, err := read("--global-namespace=clouds", "--tosca-imports=https://example.com/types/,https://example.org/a.yaml",
		"--create-deadline=2h", "--observe-interval=0", "--scheduler-seed=7")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(Equal(provider.Config{
		GlobalNamespace: "clouds", Imports: tosca.Imports{"https://example.com/types/", "https://example.org/a.yaml"},
		CreateDeadline: 2 * time.Hour, Seed: 7,
	}))
}

// A manager that misunderstands its flags doesn't start.
// Each of several managers would let go of what the Clusters of the others use.
func TestFlags_ofOneNamespaceLeaveGlobalKindsAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, err := read("--namespace=blue", "--global-namespace=")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one.GlobalNamespace).To(BeEmpty())
	_, err = read("--namespace=blue")
	g.Expect(err).To(MatchError(And(ContainSubstring("--namespace=blue: "), ContainSubstring("set --global-namespace= "))))
	all, err := read("--global-namespace=")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all.GlobalNamespace).To(BeEmpty())
}

func TestFlags_thatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for flag, says := range map[string]string{
		"--global-namespace=a/b":       `--global-namespace "a/b"`,
		"--tosca-imports=types/":       `--tosca-imports: "types/" isn't a URL with a host`,
		"--tosca-imports=file:///etc/": `--tosca-imports: "file:///etc/" isn't a URL`,
		"--create-deadline=0":          "--create-deadline: has to be positive",
		"--observe-interval=-1s":       "--observe-interval: can't be negative",
		"--scheduler-seed=often":       "invalid argument",
	} {
		_, err := read(flag)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), flag)
	}
}
