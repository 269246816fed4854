package mtls_test

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bedplate/bedplate/internal/mtls"
)

// under returns a stream on a connection from before, and what fails unless that connection still carries messages.
func (s *side) under(address string) (alive func()) {
	s.t.Helper()
	c := s.connect(address)
	stream, err := c.Watch(s.t.Context(), &grpc_health_v1.HealthCheckRequest{})
	s.Expect(err).NotTo(HaveOccurred())
	_, err = stream.Recv()
	s.Expect(err).NotTo(HaveOccurred())
	ended := make(chan error, 1)
	go func() {
		_, err := stream.Recv()
		ended <- err
	}()
	return func() {
		s.t.Helper()
		_, err := c.Check(s.t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(false))
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(ended).NotTo(Receive())
	}
}

func TestRotation_ofCertificates(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	s, c := newSide(t, ca, server), newSide(t, ca, client)
	address := s.serve()
	alive := c.under(address)
	s.Expect(c.shown(address)).To(Equal("agent"))
	renewed := server
	renewed.CommonName = "agent again"
	s.issue(ca, renewed)
	s.Expect(c.shown(address)).To(Equal("agent again"))
	alive()

	// The client's, with the same credentials: first to one that is refused, so that one sees that it is shown.
	creds, err := c.files.Client(c.context(), nil)
	s.Expect(err).NotTo(HaveOccurred())
	try := func() error {
		connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
		s.Expect(err).NotTo(HaveOccurred())
		defer connection.Close()
		_, err = grpc_health_v1.NewHealthClient(connection).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		return err
	}
	s.Expect(try()).To(Succeed())
	expired := client
	expired.Validity = -time.Minute
	c.issue(ca, expired)
	s.Expect(try()).To(MatchError(ContainSubstring("expired certificate")))
	c.issue(ca, client)
	s.Expect(try()).To(Succeed())
	alive()
}

// A CA is replaced in three steps: all trust both, all get certificates of the new one, none trusts the old one.
func TestRotation_ofTheAuthority(t *testing.T) {
	t.Parallel()
	before, after := authority(t, "before"), authority(t, "after")
	s, c := newSide(t, before, server), newSide(t, before, client)
	address := s.serve()
	alive := c.under(address)
	works := func(what string) {
		t.Helper()
		_, err := c.shown(address)
		s.Expect(err).NotTo(HaveOccurred(), what)
	}
	s.trust(before, after)
	c.trust(before, after)
	works("both are trusted")
	s.issue(after, server)
	works("the server has the new one's")
	c.issue(after, client)
	works("the client has the new one's")
	s.trust(after)
	c.trust(after)
	works("only the new one is trusted")
	alive()

	c.issue(before, client)
	_, err := c.shown(address)
	s.Expect(err).To(MatchError(ContainSubstring("unknown certificate authority")))
	s.issue(before, server)
	_, err = c.shown(address)
	s.Expect(err).To(MatchError(ContainSubstring("signed by unknown authority")))
}

func TestRotation_toBrokenFilesWaits(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	s, c := newSide(t, ca, server), newSide(t, ca, client)
	address := s.serve()
	renewed, after := server, newSide(t, ca, server)
	renewed.CommonName = "renewed"
	after.issue(ca, renewed)
	for what, spoil := range map[string]func(){
		"half replaced": func() { s.write(s.files.Key, after.key()) },
		"empty":         func() { s.write(s.files.Certificate, nil) },
		"gone":          func() { s.Expect(os.Remove(s.files.Authorities)).To(Succeed()) },
	} {
		spoil()
		for range 2 {
			s.Expect(c.shown(address)).To(Equal("agent"), what)
		}
	}
	s.Expect(strings.Count(s.log.String(), "Going on with the certificate from before")).To(BeNumerically("<=", 3), "each once")
	s.Expect(s.log.String()).To(And(ContainSubstring("ca.crt: no such file"), ContainSubstring("level=ERROR")))
	s.issue(ca, renewed)
	s.trust(ca)
	s.Expect(c.shown(address)).To(Equal("renewed"))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	soon := client
	soon.Validity = time.Hour
	c := newSide(t, ca, soon)
	expiry, err := c.files.Expiry(c.context())
	c.Expect(err).NotTo(HaveOccurred())
	remaining := func() float64 {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(expiry)
		families, err := registry.Gather()
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(families).To(HaveLen(1))
		c.Expect(families[0].GetName()).To(Equal("bedplate_tls_certificate_remaining_seconds"))
		return families[0].GetMetric()[0].GetGauge().GetValue()
	}
	c.Expect(remaining()).To(BeNumerically("~", 3600, 60))
	soon.Validity = 2 * time.Hour
	c.issue(ca, soon)
	c.Expect(remaining()).To(BeNumerically("~", 7200, 60))
	soon.Validity = -time.Minute
	c.issue(ca, soon)
	c.Expect(remaining()).To(BeNumerically("~", -60, 60))

	expiry, err = (&mtls.Files{Insecure: true}).Expiry(t.Context())
	c.Expect(err).NotTo(HaveOccurred())
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(expiry)
	c.Expect(registry.Gather()).To(BeEmpty())
}
