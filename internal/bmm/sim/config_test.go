package sim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func TestLoad_readsWhatWasWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	data, err := yaml.Marshal(sim.DefaultWorld())
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "world.yaml")
	g.Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
	config, err := sim.Load(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config).To(Equal(sim.DefaultWorld()))
}

func TestLoad_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ yaml, says string }{
		"unknown field": {"orgg: x", "orgg"},
		"no sites":      {"org: x", "sites"},
		"block with host bits": {`{org: x, tokens: [t], tenant: {id: t}, sites: [{id: s}],
			ipBlocks: [{name: odd, siteId: s, prefix: 127.1.2.3, prefixLength: 16}]}`, "odd"},
		"type at an unknown site": {`{org: x, tokens: [t], tenant: {id: t}, sites: [{id: s}], instanceTypes: [{name: big, siteId: z}]}`, "big"},
		"unknown release":         {`{org: x, tokens: [t], tenant: {id: t}, sites: [{id: s}], apiName: forge}`, "forge"},
		"no way to log in":        {`{org: x, tenant: {id: t}, sites: [{id: s}]}`, "tokens or oauth"},
		"client without a secret": {`{org: x, tenant: {id: t}, sites: [{id: s}], oauth: {clients: [{id: robot}]}}`, "robot"},
		"roles of no token":       {`{org: x, tokens: [t], tokenRoles: {u: [TENANT_ADMIN]}, tenant: {id: t}, sites: [{id: s}]}`, "tokenRoles"},
		"partition at no site":    {`{org: x, tokens: [t], tenant: {id: t}, sites: [{id: s}], infinibandPartitions: [{name: far, siteId: z}]}`, "far"},
		"broken duration":         {`{times: {vpc: soon}}`, "soon"},
		"inventories overtaken":   {`{org: x, tokens: [t], tenant: {id: t}, sites: [{id: s}], times: {inventoryDelay: 1h}}`, "inventoryDelay"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			path := filepath.Join(t.TempDir(), "world.yaml")
			g.Expect(os.WriteFile(path, []byte(row.yaml), 0o600)).To(Succeed())
			_, err := sim.Load(path)
			g.Expect(err).To(MatchError(ContainSubstring(row.says)))
		})
	}
}

func TestSpeed_scalesTime(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		began := time.Now()
		vpc := b.vpc("net")
		b.Expect(time.Since(began)).To(BeNumerically("~", 30*time.Second+10*time.Millisecond, time.Millisecond))
		b.Expect(b.status("vpc", vpc.ID)).To(Equal("Ready"))
		instance := b.instance("node-1", b.subnet(vpc, "nodes"))
		b.pass(9 * time.Second)
		b.Expect(b.status("instance", instance.ID)).To(Equal("Ready"), "at most 15 minutes, 100 times as fast")
		b.Expect(b.rack.events()).To(HaveLen(1))
	}, func(c *sim.Config) { c.Speed = 100 })
}
