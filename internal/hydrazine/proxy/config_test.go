package proxy_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
)

// Without a prefix whoever has a certificate of the organization "default" has Kubernetes' namespace of that name.
func TestConfig_keepsTenantsInNamespacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for prefix, args := range map[string][]string{"tenant-": nil, "": {"--namespace-prefix="}, "site-": {"--namespace-prefix=site-"}} {
		g, config, flags := NewWithT(t), proxy.Config{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		config.AddFlags(flags)
		g.Expect(flags.Parse(args)).To(Succeed())
		g.Expect(config.Validate()).To(Succeed())
		g.Expect(config.NamespacePrefix).To(Equal(prefix))
	}
}
