package main

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"toy": "toy Toy", "powervs PowerVS": "powervs PowerVS", "e2": "e2 E2",
	} {
		name, kind, err := named(strings.Fields(args))
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), args)
		NewWithT(t).Expect(name + " " + kind).To(Equal(want))
	}
	for args, why := range map[string]string{
		"": "say what the system is called", "Toy": "lower case", "a-b": "lower case", "a": "2 to 16", "func": "Go package",
		"toy Thing": "in other letters", "toy tOY": "capital", "../x": "lower case",
	} {
		_, _, err := named(strings.Fields(args))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(why)), args)
	}
}

// Nothing is written then, either.
func TestScaffold_refusesWhatExists(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(scaffold(os.DirFS("../.."), "graph", "Graph")).To(MatchError("internal/graph exists already"))
}

// Under names that come before and after all others, and twice: each line of the files stays.
func TestRegistrations_keepWhatThereIs(t *testing.T) {
	t.Parallel()
	for path, edit := range registrations {
		g := NewWithT(t)
		content, err := os.ReadFile(filepath.Join("../..", path))
		g.Expect(err).NotTo(HaveOccurred())
		before := string(content)
		for _, name := range []string{"aaa", "zzz"} {
			after, err := edit(before, name, strings.ToUpper(name))
			g.Expect(err).NotTo(HaveOccurred(), path)
			g.Expect(len(after)).To(BeNumerically(">", len(before)))
			for line := range strings.Lines(before) {
				if !strings.Contains(line, "!**/internal/localstack/**") && !strings.HasPrefix(line, "var ") { // lists in one line
					g.Expect(after).To(ContainSubstring(line), path)
				}
			}
			if strings.HasSuffix(path, ".go") {
				_, err = format.Source([]byte(after))
				g.Expect(err).NotTo(HaveOccurred(), path)
			}
			before = after
		}
	}
}

func TestRendered_isFormattedUnderAnyName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := rendered("powervs", "PowerVS")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveKey("api/powervs/v1alpha1/powervscluster_types.go"))
	for path, content := range files {
		g.Expect(strings.ToLower(path+string(content))).NotTo(ContainSubstring("toy"), path)
	}
}
