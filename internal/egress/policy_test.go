package egress_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/egress"
)

// policy of a command line.
func policy(g Gomega, args ...string) egress.Policy {
	var flags egress.Flags
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Add(set)
	g.Expect(set.Parse(args)).To(Succeed())
	p, err := flags.Policy()
	g.Expect(err).NotTo(HaveOccurred())
	return p
}

func check(g Gomega, p egress.Policy, text string) error {
	u, err := url.Parse(text)
	g.Expect(err).NotTo(HaveOccurred())
	return p.CheckURL(u)
}

func TestPolicy_refusesWhatIsInside(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := policy(g)
	p.Cluster = []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00:10:96::/112")}
	for _, host := range []string{
		"127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]",
		"[2002:7f00:1::]", "[2001:0:1::1]", "0.0.0.0", "0.1.2.3", "[::]", "[::ffff:0.0.0.0]",
		"169.254.1.1", "[fe80::1]", "[fe80::1%25eth0]", "[::1%25lo]", "[fec0::1]",
		"169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "[fd20:ce::254]", "100.100.100.200",
		"168.63.129.16", "192.0.0.192", "224.0.0.1", "239.1.1.1", "[ff02::1]", "255.255.255.255", "240.0.0.1",
		"10.96.0.1", "10.111.255.255", "[::ffff:10.96.0.1]", "[64:ff9b::a60:1]", "[fd00:10:96::1]",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "kubernetes", "kubernetes.default.svc", "kubernetes.default.svc.",
		"a.b.svc.cluster.local", "Kubernetes.Default.SVC",
		"127.1", "2130706433", "0x7f.1", "0177.0.0.1", "1.2.3.4.5", "a.0x7f000001", "127.0.0.1.", "１２７.0.0.1", "bücher.example.com", "a..b", "-a.example.com",
	} {
		g.Expect(check(g, p, "https://"+host+":8443/v2")).To(MatchError(And(
			ContainSubstring(" isn't allowed by the manager's policy: ask its operator (--allowed-endpoints)"), ContainSubstring(":8443"))), host)
	}
	for _, host := range []string{
		"bmm.example.com", "BMM.Example.com.", "192.0.2.1", "[2001:db8::1]", "10.0.0.1", "10.112.0.1", "192.168.1.1", "172.16.0.1",
		"[fd00:10:97::1]", "[64:ff9b::c000:201]", "svc.example.com", "localhost.example.com", "1.2.3.4.example.com", "bmm_1.example.com",
	} {
		g.Expect(check(g, p, "https://"+host)).To(Succeed(), host)
	}
}

func TestPolicy_refusesPlainHTTP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, text := range []string{"http://bmm.example.com", "http://127.0.0.1", "http://localhost", "ftp://bmm.example.com", "unix:///run/x"} {
		g.Expect(check(g, policy(g), text)).To(MatchError(HavePrefix("must use https")), text)
	}
	lab := policy(g, "--insecure-loopback-endpoints")
	for _, text := range []string{"http://127.9.0.1:8080", "https://127.9.0.1", "http://localhost", "http://[::1]:1", "https://bmm.example.com"} {
		g.Expect(check(g, lab, text)).To(Succeed(), text)
	}
	for _, text := range []string{"http://bmm.example.com", "http://192.0.2.1", "http://a.localhost", "https://169.254.169.254", "https://0.0.0.0"} {
		g.Expect(check(g, lab, text)).NotTo(Succeed(), text)
	}
}

func TestPolicy_allowsWhatItsListSaysAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		list             string
		allowed, refused []string
	}{
		{"bmm.example.com", []string{"bmm.example.com", "BMM.EXAMPLE.COM.", "bmm.example.com:8443"},
			[]string{"login.example.com", "a.bmm.example.com", "example.com", "xbmm.example.com", "192.0.2.1", "127.0.0.1", "localhost"}},
		{"bmm.example.com:8443", []string{"bmm.example.com:8443"}, []string{"bmm.example.com", "bmm.example.com:443"}},
		{"bmm.example.com:443", []string{"bmm.example.com", "bmm.example.com:443"}, []string{"bmm.example.com:8443"}},
		{"BMM.example.com.", []string{"bmm.example.com"}, []string{"example.com"}},
		{"*.example.com", []string{"bmm.example.com", "a.b.example.com"}, []string{"example.com", "badexample.com", "example.com.evil.org", "192.0.2.1"}},
		{"192.0.2.0/24", []string{"192.0.2.1", "[::ffff:192.0.2.1]", "[64:ff9b::c000:201]", "192.0.2.1:8443"}, []string{"192.0.3.1", "127.0.0.1", "[2001:db8::1]"}},
		{"192.0.2.0/24:8443", []string{"192.0.2.1:8443"}, []string{"192.0.2.1"}},
		{"192.0.2.7", []string{"192.0.2.7"}, []string{"192.0.2.8"}},
		{"[2001:db8::/32]:8443,2001:db9::1", []string{"[2001:db8::5]:8443", "[2001:db9::1]"}, []string{"[2001:db8::5]", "[2001:db9::2]"}},
		{"bmm.example.com,10.0.0.0/8", []string{"bmm.example.com", "10.96.0.1"}, []string{"192.0.2.1"}},
		{"carbide.nico.svc", []string{"carbide.nico.svc"}, []string{"other.nico.svc"}},
		{"127.0.0.2", []string{"127.0.0.2"}, []string{"127.0.0.1", "[::1]"}},
		{"0.0.0.0/0", []string{"192.0.2.1", "bmm.example.com"}, []string{"[2001:db8::1]"}},
	} {
		t.Run(row.list, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := policy(g, "--allowed-endpoints="+row.list)
			for _, host := range row.allowed {
				g.Expect(check(g, p, "https://"+host)).To(Succeed(), host)
			}
			for _, host := range row.refused {
				g.Expect(check(g, p, "https://"+host)).To(MatchError(ContainSubstring("isn't allowed")), host)
			}
		})
	}
}

func TestFlags_refuseWhatIsNoDestination(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"*", "*.", "*.*.example.com", "a.*.com", "https://bmm.example.com", "bmm.example.com/v2", "bmm.example.com:", "bmm.example.com:0",
		"bmm.example.com:65536", "bmm.example.com:https", "10.1.2.3/8", "10.0.0.0/33", "::ffff:10.0.0.0/104", "fe80::1%eth0", "127.1",
		"[2001:db8::1]", "two words", "bücher.example.com", "-x",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var flags egress.Flags
			set := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.Add(set)
			g.Expect(set.Parse([]string{"--allowed-endpoints", text})).To(Succeed())
			_, err := flags.Policy()
			g.Expect(err).To(MatchError(MatchRegexp(`^--allowed-endpoints=".*": must be a name, `)))
		})
	}
}

// Whatever is written in a Secret, and whatever an operator allows: an address of this host is refused unless a range of
// addresses has it, and a name is allowed by the list only where it is the one meant or below it.
func FuzzPolicy(f *testing.F) {
	for _, seed := range [][2]string{
		{"127.0.0.1", ""}, {"[::ffff:127.0.0.1]", "*.example.com"}, {"a.example.com", "*.example.com"}, {"LOCALHOST.", "example.com:443"},
		{"[64:ff9b::7f00:1]", "10.0.0.0/8"}, {"[fe80::1%25lo]", "bmm.example.com"}, {"0x7f.1", "x"}, {"１２７.0.0.1", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, host, entry string) {
		u, err := url.Parse("https://" + host)
		if err != nil {
			return
		}
		d, ok := egress.ParseDestination(entry)
		if entry != "" && !ok {
			return
		}
		p := egress.Policy{}
		if entry != "" {
			p.Allowed = []egress.Destination{d}
		}
		if p.CheckURL(u) != nil {
			return
		}
		name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		isRange := entry != "" && strings.Trim(entry, "0123456789abcdefABCDEF.:/[]") == ""
		if addr, err := netip.ParseAddr(name); err == nil {
			addr = addr.WithZone("").Unmap()
			if !isRange && (addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified()) {
				t.Fatalf("%q is allowed by %q", host, entry)
			}
			return
		}
		if name == "localhost" && entry == "" || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }) {
			t.Fatalf("%q is allowed by %q", host, entry)
		}
		if domain, wild := strings.CutPrefix(entry, "*."); wild && !strings.Contains(domain, ":") &&
			!strings.HasSuffix(name, "."+strings.ToLower(strings.TrimSuffix(domain, "."))) {
			t.Fatalf("%q is allowed by %q", host, entry)
		}
	})
}
