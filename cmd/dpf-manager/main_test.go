package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/operator"
)

func read(args ...string) (operator.Config, error) {
	command, f := newCommand()
	if err := command.ParseFlags(args); err != nil {
		return operator.Config{}, err
	}
	return f.read()
}

func TestFlags_areRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	none, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none.Release).To(Equal(components.Release{
		Registry: "ghcr.io/bedplate", Charts: "oci://ghcr.io/bedplate/charts", Version: components.Version()}))
	all, err := read("--image-registry=localhost:5000/a", "--chart-registry=https://example.com/charts", "--components-version=v1.2.3",
		"--insecure-loopback-endpoints", "--service-source-repos=oci://a/**,https://b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all.Release).To(Equal(components.Release{Registry: "localhost:5000/a", Charts: "https://example.com/charts", Version: "v1.2.3",
		SourceRepos: "oci://a/**,https://b"}))
	g.Expect(all.Egress.Loopback).To(BeTrue())
}

// A Subscription of OLM's can set the environment, and no flag.
func TestFlags_sourceReposAreReadOfTheEnvironment(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("SERVICE_SOURCE_REPOS", "oci://a/**")
	config, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Release.SourceRepos).To(Equal("oci://a/**"))
	config, err = read("--service-source-repos=https://b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Release.SourceRepos).To(Equal("https://b"))
	t.Setenv("SERVICE_SOURCE_REPOS", "!oci://a/**")
	_, err = read()
	g.Expect(err).To(MatchError(ContainSubstring("Argo CD would permit all other repositories")))
}

// A manager that misunderstands its flags doesn't start.
func TestFlags_thatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for flag, says := range map[string]string{
		"--image-registry=":       "image-registry",
		"--image-registry=a/":     "image-registry",
		"--chart-registry=ftp://": "chart-registry",
		"--components-version=":   "components-version",
		"--allowed-endpoints=a b": "allowed-endpoints",

		"--service-source-repos=a, b":            "service-source-repos",
		"--service-source-repos=https://a/**,!b": "Argo CD would permit all other repositories",
	} {
		_, err := read(flag)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), flag)
	}
}
