package mtls_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/mtls"
)

const patience = time.Minute

var (
	server = pki.Leaf{CommonName: "agent", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	client = pki.Leaf{CommonName: "controller", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
)

// side is one of the two, with its files and its log.
type side struct {
	*WithT
	t     *testing.T
	files mtls.Files
	log   *log
}

func newSide(t *testing.T, ca *pki.Authority, leaf pki.Leaf, trusted ...*pki.Authority) *side {
	t.Helper()
	dir := t.TempDir()
	s := &side{WithT: NewWithT(t), t: t, log: &log{}, files: mtls.Files{
		Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), Authorities: filepath.Join(dir, "ca.crt"),
	}}
	s.issue(ca, leaf)
	s.trust(append(trusted, ca)...)
	return s
}

func (s *side) issue(ca *pki.Authority, leaf pki.Leaf) {
	s.t.Helper()
	pair, err := ca.Sign(leaf)
	s.Expect(err).NotTo(HaveOccurred())
	s.write(s.files.Certificate, pair.Cert)
	s.write(s.files.Key, pair.Key)
}

func (s *side) trust(authorities ...*pki.Authority) {
	s.t.Helper()
	var all []byte
	for _, ca := range authorities {
		all = append(all, ca.CertPEM()...)
	}
	s.write(s.files.Authorities, all)
}

func (s *side) write(name string, data []byte) {
	s.t.Helper()
	s.Expect(os.WriteFile(name+".new", data, 0o600)).To(Succeed())
	s.Expect(os.Rename(name+".new", name)).To(Succeed())
}

func (s *side) context() context.Context {
	return logr.NewContext(s.t.Context(), logr.FromSlogHandler(slog.NewTextHandler(s.log, nil)))
}

// log is what a side says.
type log struct {
	mutex sync.Mutex
	said  bytes.Buffer
}

func (l *log) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.said.Write(data)
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.said.String()
}

func authority(t *testing.T, name string) *pki.Authority {
	t.Helper()
	ca, err := pki.NewAuthority(name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return ca
}

// serve answers at the address that it returns.
func (s *side) serve() string {
	s.t.Helper()
	creds, err := s.files.Server(s.context(), mtls.Named("controller"))
	s.Expect(err).NotTo(HaveOccurred())
	listener, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	s.Expect(err).NotTo(HaveOccurred())
	g := grpc.NewServer(grpc.Creds(creds))
	grpc_health_v1.RegisterHealthServer(g, health.NewServer())
	go func() { _ = g.Serve(listener) }()
	s.t.Cleanup(g.Stop)
	return listener.Addr().String()
}

// connect returns a client that has a connection of its own.
func (s *side) connect(address string) grpc_health_v1.HealthClient {
	s.t.Helper()
	creds, err := s.files.Client(s.context(), nil)
	s.Expect(err).NotTo(HaveOccurred())
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Cleanup(func() { _ = connection.Close() })
	return grpc_health_v1.NewHealthClient(connection)
}

// shown is the name in the certificate that a server shows to a new connection.
func (s *side) shown(address string) (string, error) {
	s.t.Helper()
	from := &peer.Peer{}
	if _, err := s.connect(address).Check(s.t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.Peer(from)); err != nil {
		return "", err
	}
	return from.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].Subject.CommonName, nil
}

func TestFlags_areAllOrNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "TLS needs --tls-cert-file, --tls-private-key-file, --tls-ca-file too, or choose --insecure"},
		{[]string{"--tls-cert-file=a", "--tls-ca-file=b"}, "TLS needs --tls-private-key-file too"},
		{[]string{"--insecure"}, ""},
		{[]string{"--insecure", "--tls-ca-file=b"}, "--insecure contradicts --tls-ca-file"},
		{[]string{"--insecure", "--tls-deny-file=d"}, "--insecure contradicts --tls-deny-file"},
		{[]string{"--tls-cert-file=a", "--tls-private-key-file=c", "--tls-ca-file=b"}, ""},
	} {
		g := NewWithT(t)
		flags, files := pflag.NewFlagSet("", pflag.ContinueOnError), mtls.Files{}
		files.AddFlags(flags)
		g.Expect(flags.Parse(c.args)).To(Succeed())
		if c.says == "" {
			g.Expect(files.Validate()).To(Succeed())
			continue
		}
		g.Expect(files.Validate()).To(MatchError(HavePrefix(c.says)))
		_, err := files.Server(t.Context(), mtls.Named("controller"))
		g.Expect(err).To(MatchError(HavePrefix(c.says)))
	}
}

func TestInsecure_isPlaintext(t *testing.T) {
	t.Parallel()
	files := mtls.Files{Insecure: true}
	creds, err := files.Client(t.Context(), nil)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(creds.Info().SecurityProtocol).To(Equal("insecure"))
}

func TestFiles_thatAreBrokenAtTheStart(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	for name, c := range map[string]struct {
		spoil func(*side)
		says  string
	}{
		"no key":          {func(s *side) { s.Expect(os.Remove(s.files.Key)).To(Succeed()) }, `tls.key: no such file`},
		"another's key":   {func(s *side) { s.write(s.files.Key, newSide(s.t, ca, server).key()) }, "private key does not match"},
		"no certificate":  {func(s *side) { s.write(s.files.Certificate, []byte("hello")) }, "failed to find any PEM data"},
		"no CA":           {func(s *side) { s.write(s.files.Authorities, []byte("hello")) }, "ca.crt: it has no certificate in PEM"},
		"a key as the CA": {func(s *side) { s.write(s.files.Authorities, s.key()) }, "ca.crt: its block 1 is no certificate"},
		"a CA cut off": {func(s *side) {
			s.write(s.files.Authorities, append(ca.CertPEM(), "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"...))
		}, "ca.crt: its block 2 is no certificate"},
		"for clients only": {func(s *side) { s.issue(ca, client) }, "tls.crt: the extended key usage of the certificate of controller lacks serverAuth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSide(t, ca, server)
			c.spoil(s)
			_, err := s.files.Server(s.context(), mtls.Named("controller"))
			s.Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func (s *side) key() []byte {
	data, err := os.ReadFile(s.files.Key)
	s.Expect(err).NotTo(HaveOccurred())
	return data
}

func TestConnections_areRefused(t *testing.T) {
	t.Parallel()
	ca, other := authority(t, "ca"), authority(t, "other")
	changed := func(leaf pki.Leaf, change func(*pki.Leaf)) pki.Leaf {
		change(&leaf)
		return leaf
	}
	expired := func(l *pki.Leaf) { l.Validity = -time.Minute }
	both := func(l *pki.Leaf) { l.Usages = append(l.Usages, server.Usages[0], client.Usages[0]) }
	for name, c := range map[string]struct {
		server, client             *side
		toTheClient, inTheLog, not string
	}{
		"nobody":            {server: newSide(t, ca, server), client: newSide(t, ca, client)},
		"client's CA":       {newSide(t, ca, server), newSide(t, other, client, ca), "tls: unknown certificate authority", "signed by unknown authority", ""},
		"server's CA":       {newSide(t, other, server, ca), newSide(t, ca, client), "signed by unknown authority", "", ""},
		"expired client":    {newSide(t, ca, server), newSide(t, ca, changed(client, expired)), "tls: expired certificate", "certificate of controller expired at 20", ""},
		"expired server":    {newSide(t, ca, changed(server, expired)), newSide(t, ca, client), "certificate of agent expired at 20", "", "current time"},
		"another host":      {newSide(t, ca, changed(server, func(l *pki.Leaf) { l.IPs = []net.IP{net.IPv4(127, 0, 0, 9)} })), newSide(t, ca, client), "valid for 127.0.0.9, not 127.0.0.1", "", ""},
		"another component": {newSide(t, ca, server), newSide(t, ca, changed(client, func(l *pki.Leaf) { l.CommonName = "proxy" })), "tls: bad certificate", "certificate is for proxy, not for controller", ""},
		"DNS name":          {server: newSide(t, ca, server), client: newSide(t, ca, changed(client, func(l *pki.Leaf) { l.CommonName, l.DNSNames = "", []string{"controller"} }))},
		"any usage":         {server: newSide(t, ca, changed(server, both)), client: newSide(t, ca, changed(client, both))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := c.client.shown(c.server.serve())
			if c.toTheClient == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring("tls: "), ContainSubstring(c.toTheClient))))
			if c.not != "" {
				g.Expect(err.Error()).NotTo(ContainSubstring(c.not))
			}
			if c.inTheLog != "" {
				g.Eventually(c.server.log.String, patience).Should(And(ContainSubstring("Refused a connection"), ContainSubstring(c.inTheLog)))
			}
		})
	}
}
