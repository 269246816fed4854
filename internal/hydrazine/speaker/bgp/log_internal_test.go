package bgp

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
)

// A neighbor that sends what is wrong as fast as it can fills no disk, and hides no warning of another one.
func TestLogger_saysFewOfMany(t *testing.T) {
	t.Parallel()
	g, lines := NewWithT(t), []string{}
	all := newLogger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}), func(netip.Addr, entry) {})
	flood := all.With(slog.String("Topic", "Peer"), slog.String("Key", "172.18.0.2"))
	for range 10_000 {
		flood.Warn("the received Update message was treated as withdraw", slog.String("Error", "malformed"))
	}
	g.Expect(len(lines)).To(And(BeNumerically(">=", 1), BeNumerically("<", 100)))
	all.With(slog.String("Key", "172.18.0.3")).Warn("hold timer expired")
	g.Expect(lines[len(lines)-1]).To(And(ContainSubstring("hold timer expired"), ContainSubstring("172.18.0.3")))
	said := len(lines)
	flood.Debug("Send message")
	g.Expect(lines).To(HaveLen(said))
	g.Expect(strings.Join(lines, "\n")).To(ContainSubstring("malformed"))
}
