package agents_test

import (
	"crypto/x509"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/mtls"
)

const (
	patience  = 30 * time.Second
	agentHost = "127.81.0.1"
)

// party has a certificate for a name, and for an address if it is an agent.
func party(t *testing.T, ca *pki.Authority, leaf pki.Leaf) mtls.Files {
	t.Helper()
	dir := t.TempDir()
	files := mtls.Files{
		Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), Authorities: filepath.Join(dir, "ca.crt"),
	}
	NewWithT(t).Expect(os.WriteFile(files.Authorities, ca.CertPEM(), 0o600)).To(Succeed())
	issue(t, files, ca, leaf)
	return files
}

func issue(t *testing.T, files mtls.Files, ca *pki.Authority, leaf pki.Leaf) {
	t.Helper()
	g := NewWithT(t)
	leaf.Usages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if leaf.IPs != nil {
		leaf.Usages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	pair, err := ca.Sign(leaf)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(files.Certificate, pair.Cert, 0o600)).To(Succeed())
	g.Expect(os.WriteFile(files.Key, pair.Key, 0o600)).To(Succeed())
}

func pool(t *testing.T, port uint16, files mtls.Files) *agents.Pool {
	t.Helper()
	creds, err := files.Client(t.Context(), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return agents.NewPool(t.Context(), agents.Config{Port: port, Heartbeat: 5 * time.Second, Credentials: creds})
}

func TestPool_saysWhyCertificatesAreRefused(t *testing.T) {
	t.Parallel()
	ca, err := pki.NewAuthority("ca")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	other, err := pki.NewAuthority("other")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	agent, manager := pki.Leaf{CommonName: "dpu1", IPs: []net.IP{net.ParseIP(agentHost)}}, pki.Leaf{CommonName: "hydrazine-manager"}
	elsewhere, expired := agent, agent
	elsewhere.IPs, expired.Validity = []net.IP{net.IPv4(127, 81, 0, 2)}, -time.Minute
	stale := manager
	stale.Validity = -time.Minute
	for i, c := range []struct {
		agent, manager mtls.Files
		says           string
	}{
		{party(t, ca, agent), party(t, ca, manager), ""},
		{party(t, ca, elsewhere), party(t, ca, manager), "certificate is valid for 127.81.0.2, not 127.81.0.1"},
		{party(t, ca, expired), party(t, ca, manager), "certificate of dpu1 expired at 20"},
		{party(t, other, agent), party(t, ca, manager), "certificate signed by unknown authority"},
		{party(t, ca, agent), party(t, ca, pki.Leaf{CommonName: "hydrazine-proxy"}), "it refuses this controller's certificate: bad certificate"},
		{party(t, ca, agent), party(t, ca, stale), "it refuses this controller's certificate: expired certificate"},
	} {
		g, port := NewWithT(t), uint16(19900+i)
		creds, err := c.agent.Server(t.Context(), mtls.Named("hydrazine-manager"))
		g.Expect(err).NotTo(HaveOccurred())
		agentstest.Start(t, agentHost, port, agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1"), grpc.Creds(creds))
		p := pool(t, port, c.manager)
		heard := func() error { _, err := p.Report(agentHost); return err }
		if c.says == "" {
			g.Eventually(heard, patience).Should(Succeed())
		} else {
			g.Eventually(heard, patience).Should(And(MatchError(agents.ErrUnreachable), MatchError(ContainSubstring(c.says))))
		}
	}
}

func TestPool_connectsAgainWithARenewedCertificate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ca, err := pki.NewAuthority("ca")
	g.Expect(err).NotTo(HaveOccurred())
	manager := pki.Leaf{CommonName: "hydrazine-manager"}
	own, at := party(t, ca, manager), party(t, ca, pki.Leaf{CommonName: "dpu1", IPs: []net.IP{net.ParseIP(agentHost)}})
	creds, err := at.Server(t.Context(), mtls.Named("hydrazine-manager"))
	g.Expect(err).NotTo(HaveOccurred())
	a := agentstest.Start(t, agentHost, 19910, agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1"), grpc.Creds(creds))
	p := pool(t, 19910, own)
	heard := func() error { _, err := p.Report(agentHost); return err }
	g.Eventually(heard, patience).Should(Succeed())

	// What is on the disk counts when a connection begins, and harms none that there is.
	stale := manager
	stale.Validity = -time.Minute
	issue(t, own, ca, stale)
	g.Consistently(heard, "1.5s").Should(Succeed())
	a.Stop()
	g.Eventually(heard, patience).Should(MatchError(agents.ErrUnreachable))
	a.Restart()
	g.Eventually(heard, patience).Should(MatchError(ContainSubstring("expired certificate")))
	issue(t, own, ca, manager)
	g.Eventually(heard, patience).Should(Succeed())
}

// An agent may report any addresses of its DPU. Its certificate is from the operator.
func TestReport_believesTheCertificateOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ca, err := pki.NewAuthority("ca")
	g.Expect(err).NotTo(HaveOccurred())
	leaf := pki.Leaf{CommonName: "dpu1", IPs: []net.IP{net.ParseIP("fd18::5"), net.ParseIP(agentHost), net.ParseIP("172.18.0.5"), net.ParseIP("fe80::5")}}
	creds, err := func() (credentials.TransportCredentials, error) {
		files := party(t, ca, leaf)
		return files.Server(t.Context(), mtls.Named("hydrazine-manager"))
	}()
	g.Expect(err).NotTo(HaveOccurred())
	said := agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1")
	said.Uplink.Addresses = append(said.Uplink.Addresses, "172.19.0.9/16", "fe80::5/64")
	said.Uplink.OtherAddresses = []string{"10.200.0.2", "127.0.0.1", "fe80::7"} // of a loopback interface, say
	agentstest.Start(t, agentHost, 19911, said, grpc.Creds(creds))
	agentstest.Start(t, agentHost, 19912, said)
	own := party(t, ca, pki.Leaf{CommonName: "hydrazine-manager"})
	texts := func(all []netip.Addr) (texts []string) {
		for _, a := range all {
			texts = append(texts, a.String())
		}
		return texts
	}
	var report agents.Report
	p := pool(t, 19911, own)
	g.Eventually(func() (err error) { report, err = p.Report(agentHost); return err }, patience).Should(Succeed())
	g.Expect(texts(report.Addresses())).To(Equal([]string{"172.18.0.5", "fd18::5"}), "not those that only the DPU itself can call")
	g.Expect(texts(report.Unproven())).To(Equal([]string{"10.200.0.2", "172.19.0.9"}))

	p = pool(t, 19912, mtls.Files{Insecure: true})
	g.Eventually(func() (err error) { report, err = p.Report(agentHost); return err }, patience).Should(Succeed())
	g.Expect(texts(report.Addresses())).To(Equal([]string{"10.200.0.2", "172.18.0.5", "172.19.0.9"}), "in a trial there is nothing else")
	g.Expect(report.Unproven()).To(BeEmpty())
}
