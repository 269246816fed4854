package proxy_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
)

// Without a prefix a certificate of the organization "default" gives access to Kubernetes' namespace of that name.
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

func TestConfig_thatLetsNobodyInOrEverybodyIsRefusedByTheNameOfTheFlag(t *testing.T) {
	t.Parallel()
	for arg, says := range map[string]string{
		"--max-connections=0": "--max-connections=0: must be at least 1", "--tenant-connections=-1": "--tenant-connections=-1: must be at least 1",
		"--tenant-watches=0": "--tenant-watches=0: must be at least 1", "--tenant-burst=0": "--tenant-burst=0: must be at least 1",
		"--tenant-write-bytes=0": "--tenant-write-bytes=0: must be at least 1",
		"--tenant-qps=0":         "--tenant-qps=0: must be more than 0", "--tenant-qps=NaN": "--tenant-qps=NaN: must be more than 0",
		"--tenant-qps=Inf": "--tenant-qps=+Inf: must be more than 0", "--listen=9661": `--listen="9661": must be HOST:PORT or :PORT`,
		"--namespace-prefix=A-": `--namespace-prefix="A-": must be`, `--operator-organization=ops,""`: "--operator-organization=",
	} {
		g, config, flags := NewWithT(t), proxy.Config{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		config.AddFlags(flags)
		g.Expect(flags.Parse([]string{arg})).To(Succeed())
		g.Expect(config.Validate()).To(MatchError(HavePrefix(says)))
	}
}
