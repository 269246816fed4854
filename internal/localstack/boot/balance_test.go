package boot_test

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/boot"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
)

// cut is how a connection ends that leads nowhere.
var cut = Or(ContainSubstring("EOF"), ContainSubstring("connection reset"), ContainSubstring("server closed idle connection"))

// A machine that is no member isn't reached, whatever listens on it.
func TestBalance_listensWithExactlyTheMembersThatItIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	block, err := loopback.Claim()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(block.Close)
	rack := boot.New(boot.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Balanced: true})
	t.Cleanup(rack.Close)
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	member := netip.MustParseAddrPort(server.Listener.Addr().String())
	api, ssh := netip.AddrPortFrom(block.Address(200, 1), 6443), netip.AddrPortFrom(block.Address(200, 1), 2022)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func() string {
		answer, err := client.Get("http://" + api.String())
		if err != nil {
			return err.Error()
		}
		_ = answer.Body.Close()
		return answer.Status
	}
	type listeners = map[netip.AddrPort][]netip.AddrPort

	g.Expect(get()).To(ContainSubstring("refused"))
	g.Expect(rack.Balance(listeners{api: {}, ssh: {member}})).To(Succeed())
	g.Expect(get()).To(cut, "without a member")
	g.Expect(rack.Balance(listeners{api: {member}})).To(Succeed())
	g.Eventually(get).WithTimeout(patience).Should(HavePrefix("404"))
	_, err = net.Dial("tcp", ssh.String())
	g.Expect(err).To(MatchError(ContainSubstring("refused")), "that listener is gone")
	g.Expect(rack.Balance(listeners{api: {}})).To(Succeed())
	g.Expect(get()).To(cut, "without the member")
	g.Expect(rack.Balance(listeners{api: {member}, netip.MustParseAddrPort("192.0.2.1:6443"): nil})).
		To(MatchError(ContainSubstring("192.0.2.1")), "that isn't here")
	g.Eventually(get).WithTimeout(patience).Should(HavePrefix("404"))
	rack.Close()
	g.Expect(get()).To(ContainSubstring("refused"))
	g.Expect(rack.Balance(listeners{api: {member}})).To(MatchError(ContainSubstring("closed")))
}

// What reaches a balanced cluster is what its load balancer lets through: a control plane that is no member has no API server.
func TestPowerOn_leavesABalancedEndpointToItsMembers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newLabWith(t, func(c *boot.Config) { c.Balanced = true })
	g.Expect(l.rack.Balance(map[netip.AddrPort][]netip.AddrPort{l.endpoint: {}})).To(Succeed())
	m := l.machine(1, l.initData())
	g.Expect(l.rack.PowerOn(m)).To(Succeed())
	own := netip.AddrPortFrom(m.Address, 6443).String()
	g.Eventually(func() error {
		connection, err := net.DialTimeout("tcp", own, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err
	}).WithTimeout(patience).Should(Succeed(), func() string { return l.console(m) })
	_, err := l.client().Discovery().ServerVersion()
	g.Expect(err).To(MatchError(cut))

	g.Expect(l.rack.Balance(map[netip.AddrPort][]netip.AddrPort{l.endpoint: {netip.AddrPortFrom(m.Address, 6443)}})).To(Succeed())
	g.Eventually(func() string { return l.console(m) }).WithTimeout(patience).Should(ContainSubstring("boot finished"))
	version, err := l.client().Discovery().ServerVersion()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.HasPrefix(version.GitVersion, "v1.")).To(BeTrue())
}
