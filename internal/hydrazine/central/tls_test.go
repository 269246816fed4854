package central

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/unixctl"
)

func TestSouthbound_knowsItsOwnChassisOnly(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17420)
	blue, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	red, err := p.Ensure(t.Context(), "red")
	g.Expect(err).NotTo(HaveOccurred())
	open(t, g, blue)
	one, two := p.chassis(t, blue.Authority, "dpu1", time.Hour), p.chassis(t, blue.Authority, "dpu2", time.Hour)
	for i, own := range []chassis{one, two} {
		ip := fmt.Sprintf("127.0.0.%d", i+1)
		g.Eventually(func() error { return own.sbctl(blue, "chassis-add", own.name, "geneve", ip) }, soon).Should(Succeed())
	}
	g.Expect(one.sbctl(blue, "set", "Chassis", "dpu1", "external_ids:a=b")).To(Succeed())

	found, err := exec.Command("ovn-sbctl", "--db="+blue.Southbound, "--bare", "--columns=_uuid", "find", "Encap", "chassis_name=dpu2").Output()
	g.Expect(err).NotTo(HaveOccurred())
	tunnel := strings.TrimSpace(string(found))
	for what, change := range map[string][]string{
		"another's chassis":       {"set", "Chassis", "dpu2", "external_ids:a=b"},
		"another's life":          {"chassis-del", "dpu2"},
		"another's tunnel":        {"set", "Encap", tunnel, "ip=127.0.0.9"},
		"a chassis of that name":  {"chassis-add", "dpu3", "geneve", "127.0.0.3"},
		"who may connect":         {"del-connection"},
		"its own host name":       {"set", "Chassis", "dpu1", "hostname=other"}, // it names itself once, when it comes
		"the tunnels' encryption": {"set", "SB_Global", ".", "ipsec=true"},
	} {
		g.Expect(one.sbctl(blue, change...)).To(MatchError(ContainSubstring("RBAC rules")), what)
	}
	stranger := p.chassis(t, red.Authority, "dpu1", time.Hour)
	stranger.authorities = one.authorities // it would trust this server
	expired := p.chassis(t, blue.Authority, "dpu1", -time.Minute)
	nobody := chassis{authorities: one.authorities, key: one.key, certificate: one.authorities}
	for what, who := range map[string]chassis{"another group's": stranger, "expired": expired, "nobody's": nobody} {
		g.Expect(who.connects(blue)).To(BeFalse(), what)
	}
	other := one
	other.authorities = stranger.certificate
	g.Expect(other.connects(blue)).To(BeFalse(), "a chassis doesn't speak to another server either")
	g.Expect(one.sbctl(blue, "get-connection")).To(Succeed())
}

// A server whose certificates are replaced continues, and shows the new one to new connections.
func TestSouthbound_rotatesWithoutRestart(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17440)
	before, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	open(t, g, before)
	g.Eventually(p.connects(t, before), soon).Should(BeTrue())
	pid, err := p.pid("blue/sb")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range []string{authorityCertificate, authorityKey} {
		g.Expect(os.Remove(filepath.Join(p.Dir, "blue", file))).To(Succeed())
	}
	after, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.Authority.PEM()).NotTo(Equal(before.Authority.PEM()))
	g.Eventually(p.connects(t, after), soon).Should(BeTrue())
	g.Expect(p.connects(t, before)()).To(BeFalse())
	g.Expect(p.pid("blue/sb")).To(Equal(pid))
}

func TestPlaintext_isOpenToAnybody(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17460)
	p.Plaintext = true
	c, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c).To(Equal(Central{
		Northbound: "unix:" + p.Dir + "/blue/nb.sock", Southbound: "unix:" + p.Dir + "/blue/sb.sock",
		ForDPUs: "tcp:127.0.0.1:17460", Listen: "ptcp:17460:127.0.0.1",
	}))
	open(t, g, c)
	g.Eventually(func() error { return (chassis{}).sbctl(c, "chassis-add", "dpu1", "geneve", "127.0.0.1") }, soon).Should(Succeed())

	// As agents are upgraded, so is it.
	p.Plaintext = false
	c, err = p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	open(t, g, c)
	g.Eventually(p.connects(t, c), soon).Should(BeTrue())
	g.Expect((chassis{}).connects(Central{ForDPUs: "tcp:127.0.0.1:17460"})).To(BeFalse())
}

// What an older version has started knows no certificates.
func TestProcesses_startAnewWhatAnOlderVersionHasStarted(t *testing.T) {
	t.Parallel()
	p, g := start(t, 17480)
	dir := filepath.Join(p.Dir, "blue")
	g.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	old := daemons(dir, p.Schemas)[0]
	old.command = old.background("ovsdb-server", filepath.Join(dir, "sb.log"), old.database, "--remote=punix:"+filepath.Join(dir, "sb.sock"))
	g.Expect(old.ensure(t.Context(), func() error { return nil })).To(Succeed())
	_, err := unixctl.Call(t.Context(), old.control, "ovsdb-server/add-remote", "ptcp:17480:127.0.0.1")
	g.Expect(err).NotTo(HaveOccurred())
	c, err := p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	remotes, err := unixctl.Call(context.Background(), old.control, "ovsdb-server/list-remotes")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remotes).NotTo(ContainSubstring("ptcp"))
	open(t, g, c)
	g.Eventually(p.connects(t, c), soon).Should(BeTrue())
	pid, err := p.pid("blue/sb")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = p.Ensure(t.Context(), "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.pid("blue/sb")).To(Equal(pid), "but only that")
}
