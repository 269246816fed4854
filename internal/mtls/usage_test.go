package mtls_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

// raw connects with a certificate that this package wouldn't show, or with none, and an old protocol if that is wanted.
func (s *side) raw(address string, config *tls.Config) error {
	authorities, err := os.ReadFile(s.files.Authorities)
	s.Expect(err).NotTo(HaveOccurred())
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(authorities)
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	s.Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	_, err = grpc_health_v1.NewHealthClient(connection).Check(s.t.Context(), &grpc_health_v1.HealthCheckRequest{})
	return err
}

func TestServer_refusesOtherClients(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ca := authority(t, "ca")
	s := newSide(t, ca, server)
	address := s.serve()
	shows := func(leaf pki.Leaf) []tls.Certificate {
		pair, err := ca.Sign(leaf)
		g.Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
		g.Expect(err).NotTo(HaveOccurred())
		return []tls.Certificate{certificate}
	}
	g.Expect(s.raw(address, &tls.Config{Certificates: shows(client)})).To(Succeed())
	// With TLS 1.3 a client may send before it hears that it is refused, and then it may not hear why.
	refused := func(why string, config *tls.Config) {
		t.Helper()
		g.Eventually(func() error { return s.raw(address, config.Clone()) }, patience).Should(MatchError(ContainSubstring(why)))
	}
	refused("certificate required", &tls.Config{})
	refused("bad certificate", &tls.Config{Certificates: shows(pki.Leaf{CommonName: "controller", Usages: server.Usages})})
	g.Eventually(s.log.String, patience).Should(ContainSubstring("incompatible key usage"))
	// Go's verification takes a certificate without any extended key usage for each of them.
	refused("bad certificate", &tls.Config{Certificates: shows(pki.Leaf{CommonName: "controller"})})
	g.Eventually(s.log.String, patience).Should(ContainSubstring("the certificate of controller lacks clientAuth"))
	g.Expect(s.raw(address, &tls.Config{Certificates: shows(client), MaxVersion: tls.VersionTLS12})).
		To(MatchError(ContainSubstring("protocol version")))
}

func TestClient_refusesAServerWithoutKeyUsage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ca := authority(t, "ca")
	pair, err := ca.Sign(pki.Leaf{CommonName: "agent", IPs: server.IPs})
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	g.Expect(err).NotTo(HaveOccurred())
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for connection, err := listener.Accept(); err == nil; connection, err = listener.Accept() {
			_ = connection.(*tls.Conn).Handshake()
		}
	}()
	s := newSide(t, ca, client)
	_, err = s.connect(listener.Addr().String()).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	g.Expect(err).To(MatchError(ContainSubstring("the certificate of agent lacks serverAuth")))
}

// A client that connects in a loop fills no disk.
func TestServer_logsFewOfMany(t *testing.T) {
	t.Parallel()
	s := newSide(t, authority(t, "ca"), server)
	address := s.serve()
	said := func() int { return strings.Count(s.log.String(), "Refused a connection") }
	began := time.Now()
	for range 100 {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		s.Expect(err).NotTo(HaveOccurred())
		_, err = connection.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		s.Expect(err).NotTo(HaveOccurred())
		_, _ = connection.Read(make([]byte, 1))
		_ = connection.Close()
	}
	s.Expect(said()).To(And(BeNumerically(">=", 10), BeNumerically("<=", 11+time.Since(began).Seconds())), "the first ones, and then one a second")
	before := said()
	s.Eventually(func() int {
		s.Expect(s.raw(address, &tls.Config{})).NotTo(Succeed())
		return said()
	}, patience).Should(BeNumerically(">", before), "those of later are")
	s.Expect(s.log.String()).To(MatchRegexp(`others=\d\d`))
}
