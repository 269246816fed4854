package main

import (
	"cmp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestFlags_areChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags flags
		says  string
	}{
		{flags: flags{name: "node-1.example.com", namespace: "ns", routerID: "172.18.0.11"}},
		{flags{name: "Node", namespace: "ns", routerID: "172.18.0.11"}, "--name"},
		{flags{name: strings.Repeat("n", 111), namespace: "ns", routerID: "172.18.0.11"}, "--name"},
		{flags{name: "n", namespace: "ns", routerID: "fd00::1"}, "--router-id"},
		{flags{name: "n", namespace: "ns", routerID: "one"}, "--router-id"},
		{flags{name: "n", routerID: "172.18.0.11"}, "--speaker-namespace"},
		{flags{name: "n", namespace: "a/b", routerID: "172.18.0.11"}, "--speaker-namespace"},
		{flags{name: "n", namespace: "ns", configuration: "Other", routerID: "172.18.0.11"}, "--configuration"},
	} {
		c.flags.configuration = cmp.Or(c.flags.configuration, "default")
		config, err := c.flags.config()
		if c.says == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(config.RouterID.String()).To(Equal(c.flags.routerID))
		} else {
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(c.says)))
		}
	}
}
