package main

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/mtls"
)

// certified has files with a certificate for a name, and for an address if it is a server's.
func (d *dpu) certified(ca *pki.Authority, leaf pki.Leaf) mtls.Files {
	d.Helper()
	dir := d.TempDir()
	files := mtls.Files{
		Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), Authorities: filepath.Join(dir, "ca.crt"),
	}
	d.Expect(os.WriteFile(files.Authorities, ca.CertPEM(), 0o600)).To(Succeed())
	d.issue(files, ca, leaf)
	return files
}

func (d *dpu) issue(files mtls.Files, ca *pki.Authority, leaf pki.Leaf) {
	d.Helper()
	leaf.Usages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	pair, err := ca.Sign(leaf)
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(os.WriteFile(files.Certificate, pair.Cert, 0o600)).To(Succeed())
	d.Expect(os.WriteFile(files.Key, pair.Key, 0o600)).To(Succeed())
}

// as dials the agent with a certificate.
func (d *dpu) as(files mtls.Files) agentv1.AgentClient {
	d.Helper()
	creds, err := files.Client(d.Context(), nil)
	d.Expect(err).NotTo(HaveOccurred())
	connection, err := grpc.NewClient("passthrough:///"+d.ip+":9660", grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(d.dialIn))
	d.Expect(err).NotTo(HaveOccurred())
	d.Cleanup(func() { connection.Close() })
	return agentv1.NewAgentClient(connection)
}

// hear the first report, and from whom it is.
func (d *dpu) hear(client agentv1.AgentClient) (agentv1.Agent_WatchClient, string, error) {
	watch, err := client.Watch(d.Context(), &agentv1.WatchRequest{Heartbeat: durationpb.New(time.Second)})
	if err == nil {
		_, err = watch.Recv()
	}
	if err != nil {
		return nil, "", err
	}
	from, _ := peer.FromContext(watch.Context())
	return watch, from.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].Subject.CommonName, nil
}

// leaf is the certificate of the DPU's agent.
func (d *dpu) leaf() pki.Leaf { return pki.Leaf{CommonName: "dpu1", IPs: []net.IP{net.ParseIP(d.ip)}} }

// secured is a DPU whose agent is driven over TLS, by a client with the manager's certificate.
func secured(t *testing.T) (d *dpu, ca *pki.Authority, own, manager mtls.Files) {
	t.Helper()
	d = newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
	ca, err := pki.NewAuthority("ca")
	d.Expect(err).NotTo(HaveOccurred())
	own, manager = d.certified(ca, d.leaf()), d.certified(ca, pki.Leaf{CommonName: "hydrazine-manager"})
	d.launchAgent("--insecure=false", "--tls-cert-file="+own.Certificate, "--tls-private-key-file="+own.Key, "--tls-ca-file="+own.Authorities)
	d.client = d.as(manager)
	d.Eventually(func() []string { return d.report().GetUplink().GetAddresses() }).WithTimeout(patience).ShouldNot(BeEmpty())
	return d, ca, own, manager
}

func TestTLS_controllerOnly(t *testing.T) {
	t.Parallel()
	d, ca, own, files := secured(t)
	other, err := pki.NewAuthority("other")
	d.Expect(err).NotTo(HaveOccurred())
	watch, _, err := d.hear(d.client)
	d.Expect(err).NotTo(HaveOccurred())

	refused := func(who mtls.Files, why string) {
		t.Helper()
		d.Eventually(func() error { // or its write is refused before it has read the alert
			_, _, err := d.hear(d.as(who))
			d.Expect(grpcstatus.Code(err)).To(Equal(codes.Unavailable))
			return err
		}).Should(MatchError(ContainSubstring(why)))
	}
	refused(d.certified(ca, pki.Leaf{CommonName: "hydrazine-proxy"}), "tls: bad certificate")
	refused(d.certified(ca, d.leaf()), "tls: bad certificate") // another agent's
	stranger := d.certified(other, pki.Leaf{CommonName: "hydrazine-manager"})
	d.Expect(os.WriteFile(stranger.Authorities, ca.CertPEM(), 0o600)).To(Succeed())
	refused(stranger, "tls: unknown certificate authority")
	refused(d.certified(ca, pki.Leaf{CommonName: "hydrazine-manager", Validity: -time.Minute}), "tls: expired certificate")
	d.dial()
	d.Expect(d.report()).To(BeNil(), "in plaintext")

	d.Eventually(func() string { _, body := d.get("/metrics"); return body }).WithTimeout(patience).Should(
		MatchRegexp(`(?m)^bedplate_tls_certificate_remaining_seconds [1-9]`))

	// A renewed certificate is what the next connection is shown; that of the stream continues.
	leaf := d.leaf()
	leaf.CommonName = "renewed"
	d.issue(own, ca, leaf)
	_, shown, err := d.hear(d.as(files))
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(shown).To(Equal("renewed"))
	for range 2 {
		_, err := watch.Recv()
		d.Expect(err).NotTo(HaveOccurred())
	}
}

func TestTLS_isChosenOrRefused(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
	d.launchAgent("--insecure=false", "--tls-cert-file=somewhere")
	d.Eventually(d.agent.Done()).WithTimeout(patience).Should(BeClosed())
	said, err := os.ReadFile(d.dir + "/agent.log")
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(string(said)).To(ContainSubstring("TLS needs --tls-private-key-file, --tls-ca-file too, or choose --insecure"))
}
