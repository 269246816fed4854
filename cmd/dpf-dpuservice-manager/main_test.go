package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A manager that misunderstands its flags doesn't start.
func TestFlags_thatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for flag, says := range map[string]string{
		"--controllers=all":                     `--controllers "all": choose services or chains`,
		"--source-repos=a,,b":                   `--source-repos ""`,
		"--source-repos=a b":                    `--source-repos "a b"`,
		"--source-repos=*,!oci://a":             `--source-repos "!oci://a": Argo CD would permit all other repositories`,
		"--source-repos=oci://10.0.0.1:5000/**": `--source-repos "oci://10.0.0.1:5000/**": Argo CD can't parse it`,
		"--source-repos=oci://**":               `--source-repos "oci://**": Argo CD would permit repositories of all kinds and hosts`,
		"--source-repos=oci://*/charts/**":      `--source-repos "oci://*/charts/**": Argo CD would permit repositories of all kinds and hosts`,
		"--source-repos=a,oci://**.a.com/x":     `--source-repos "oci://**.a.com/x": Argo CD would permit repositories of all kinds and hosts`,
		"--allowed-endpoints=a b":               "--allowed-endpoints",
		"--poll-interval=often":                 "invalid argument",
		"--insecure-endpoints=true":             "unknown flag",
	} {
		command, f := newCommand()
		err := command.ParseFlags([]string{flag})
		if err == nil {
			_, err = f.read()
		}
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)), flag)
	}
}
