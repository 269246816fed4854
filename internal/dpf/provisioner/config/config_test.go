package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
)

const (
	dpus = `{"perNodeConfig":{"dpu-1":{"vtepIP":"10.0.96.20/24","gateway":"10.0.96.254"},"dpu-2":{"vtepIP":"10.0.97.20/24","gateway":"10.0.97.254"}},` +
		`"vtepCIDR":"10.0.96.0/20","hostCIDR":"192.168.1.0/24","hostPF0":"ens2f0np0","hostNodes":{"dpu-1":"worker-1","dpu-2":"worker-2"}}`
	hosts = `{"pfIPs":{"worker-1":"10.0.96.10/24","worker-2":"10.0.97.10/24"},"gateways":{"worker-1":"10.0.96.254","worker-2":"10.0.97.254"},` +
		`"vtepCIDR":"10.0.96.0/20","hostPF0":"ens2f0np0"}`
)

func TestParse_readsWhatTheOperatorWrites(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dpu, err := config.ParseDPU([]byte(dpus))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Marshal(dpu)).To(MatchJSON(dpus))
	host, err := config.ParseHost([]byte(hosts))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Marshal(host)).To(MatchJSON(hosts))
	peers, err := config.ParseDPU([]byte(strings.Replace(dpus, "vtepCIDR", "VTEPCIDR", 1)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(peers).To(Equal(dpu))
}

func TestParse_refusesMistakesAndNamesThem(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ from, to, says string }{
		{`"10.0.96.20/24"`, `"10.0.96.20"`, `"10.0.96.20"`},
		{`"10.0.96.20/24"`, `""`, "dpu-1: vtepIP is missing"},
		{`"10.0.96.20/24"`, `"10.0.95.20/20"`, "dpu-1: vtepIP 10.0.95.20/20 isn't in vtepCIDR 10.0.96.0/20"},
		{`"10.0.96.20/24"`, `"10.0.96.0/24"`, "dpu-1: 10.0.96.0 is no address of a host in 10.0.96.0/24"},
		{`"10.0.96.20/24"`, `"10.0.96.255/24"`, "dpu-1: 10.0.96.255 is no address of a host in 10.0.96.0/24"},
		{`"10.0.96.20/24"`, `"10.0.97.20/20"`, "dpu-2: vtepIP 10.0.97.20 is dpu-1's too"},
		{`"10.0.96.254"`, `"10.0.97.254"`, "dpu-1: the gateway 10.0.97.254 is no other address in vtepIP 10.0.96.20/24"},
		{`"10.0.96.254"`, `"10.0.96.20"`, "dpu-1: the gateway 10.0.96.20 is no other address in vtepIP 10.0.96.20/24"},
		{`"10.0.96.254"`, `""`, "dpu-1: the gateway is missing"},
		{`"10.0.96.0/20"`, `""`, "vtepCIDR is missing"},
		{`"192.168.1.0/24"`, `""`, "hostCIDR is missing"},
		{`"192.168.1.0/24"`, `"fd00::/64"`, "hostCIDR fd00::/64 and vtepCIDR 10.0.96.0/20 are of different IP versions"},
		{`"ens2f0np0"`, `"an interface with spaces"`, `hostPF0 "an interface with spaces" is no name of an interface`},
		{`"ens2f0np0"`, `"../all"`, `hostPF0 "../all" is no name of an interface`},
		{`"worker-2"`, `"worker-1"`, "dpu-2: host node worker-1 is dpu-1's too"},
		{`,"dpu-2":"worker-2"`, ``, `dpu-2: hostNodes has "" instead of the name of its host's node`},
		{`"dpu-1":{`, `"DPU 1":{`, `"DPU 1" is no name of a node`},
		{`"hostCIDR"`, `"hostCIRD"`, `unknown field "hostCIRD"`},
		{dpus, `{}`, "vtepCIDR is missing"},
		{dpus, ``, "the configuration can't be read: EOF"},
		{dpus, dpus + `{}`, "there is more after it"},
		{dpus, strings.Repeat(" ", config.MaxSize) + dpus, "more than 1048576"},
	} {
		_, err := config.ParseDPU([]byte(strings.Replace(dpus, row.from, row.to, 1)))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.says)), "%s", row.to)
	}
	for _, row := range []struct{ from, to, says string }{
		{`"10.0.96.10/24"`, `"10.0.97.10/24"`, "worker-2: pfIP 10.0.97.10 is worker-1's too"},
		{`,"worker-2":"10.0.97.254"`, ``, "worker-2: the gateway is missing"},
		{`"ens2f0np0"`, `""`, `hostPF0 "" is no name of an interface`},
	} {
		_, err := config.ParseHost([]byte(strings.Replace(hosts, row.from, row.to, 1)))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.says)), "%s", row.to)
	}
}

// The last network of a prefix of 31 bits has two hosts, and no reserved address.
func TestParse_takesPointToPointNetworksAndIPv6(t *testing.T) {
	t.Parallel()
	for _, replace := range []*strings.Replacer{
		strings.NewReplacer("10.0.96.10/24", "10.0.96.0/31", "10.0.96.254", "10.0.96.1"),
		strings.NewReplacer("10.0.96.", "fd00:96::", "10.0.97.", "fd00:97::", "/24", "/64", "10.0.96.0/20", "fd00::/16"),
	} {
		_, err := config.ParseHost([]byte(replace.Replace(hosts)))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
}
