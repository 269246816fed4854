package mtls_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/bedplate/bedplate/internal/mtls"
)

// serial is the number of this side's certificate, as openssl prints it.
func (s *side) serial() string {
	s.t.Helper()
	data, err := os.ReadFile(s.files.Certificate)
	s.Expect(err).NotTo(HaveOccurred())
	block, _ := pem.Decode(data)
	c, err := x509.ParseCertificate(block.Bytes)
	s.Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%032X", c.SerialNumber)
}

// deny lets a side refuse certificates.
func (s *side) deny(lines ...string) {
	s.t.Helper()
	if s.files.Denied == "" {
		s.files.Denied = filepath.Join(filepath.Dir(s.files.Certificate), "denied")
	}
	s.write(s.files.Denied, []byte(strings.Join(lines, "\n")))
}

// streams returns a stream on a connection of its own, which says how it ends.
func (s *side) streams(address string) (ended chan error) {
	s.t.Helper()
	stream, err := s.connect(address).Watch(s.t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	s.Expect(err).NotTo(HaveOccurred())
	_, err = stream.Recv()
	s.Expect(err).NotTo(HaveOccurred())
	ended = make(chan error, 1)
	go func() {
		_, err := stream.Recv()
		ended <- err
	}()
	return ended
}

func TestDenied_isACertificateWhoseSerialIsInTheFile(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	s, stolen, other := newSide(t, ca, server), newSide(t, ca, client), newSide(t, ca, client)
	s.deny("# none")
	address := s.serve()
	streams, others := stolen.streams(address), other.streams(address)

	colons := strings.ToLower(stolen.serial()[:2] + ":" + stolen.serial()[2:])
	s.deny("", "0AbC # of another client", colons+"  # stolen from blue", "")
	s.Eventually(streams, patience).Should(Receive(HaveOccurred()), "a connection from before is closed")
	_, err := stolen.shown(address)
	s.Expect(err).To(MatchError(ContainSubstring("tls: bad certificate")))
	s.Eventually(s.log.String, patience).Should(And(ContainSubstring("Closed a connection"), ContainSubstring("Refused a connection"),
		ContainSubstring("certificate of controller with the serial number "+strings.TrimLeft(strings.ToLower(stolen.serial()), "0")+" is denied by "+s.files.Denied)))
	s.Expect(other.shown(address)).To(Equal("agent"))
	s.Expect(others).NotTo(Receive())

	s.deny("0abc")
	s.Expect(stolen.shown(address)).To(Equal("agent"), "it was taken out again")
}

// What can't be read may be what has just been added.
func TestDenied_refusesAllWhileTheFileIsBroken(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	s, c, stolen := newSide(t, ca, server), newSide(t, ca, client), newSide(t, ca, client)
	s.deny("")
	address := s.serve()
	streams, stolens := c.streams(address), stolen.streams(address)
	for name, spoil := range map[string]func(){
		"line 2 is no serial number in hex": func() { s.deny(stolen.serial(), "hello") },
		"no such file":                      func() { s.Expect(os.Remove(s.files.Denied)).To(Succeed()) },
	} {
		spoil()
		_, err := c.shown(address)
		s.Expect(err).To(MatchError(ContainSubstring("tls: bad certificate")))
		s.Eventually(s.log.String, patience).Should(And(ContainSubstring(name),
			ContainSubstring("no certificate is accepted until that file is corrected")))
		s.deny(stolen.serial())
		s.Expect(c.shown(address)).To(Equal("agent"))
	}
	s.Eventually(stolens, patience).Should(Receive(HaveOccurred()))
	s.Expect(streams).NotTo(Receive(), "who was let in before goes on")
}

func TestDenied_isAServerToo(t *testing.T) {
	t.Parallel()
	ca := authority(t, "ca")
	s, c := newSide(t, ca, server), newSide(t, ca, client)
	c.deny("")
	address := s.serve()
	streams := c.streams(address)
	c.deny(s.serial())
	s.Eventually(streams, patience).Should(Receive(HaveOccurred()))
	_, err := c.shown(address)
	s.Expect(err).To(MatchError(ContainSubstring("certificate of agent with the serial number")))
}

func TestDenied_fileThatIsBrokenAtTheStart(t *testing.T) {
	t.Parallel()
	s := newSide(t, authority(t, "ca"), server)
	s.deny("12", "-3", "0x4")
	_, err := s.files.Server(s.context(), mtls.Named("controller"))
	s.Expect(err).To(MatchError(And(ContainSubstring("read the deny file "+s.files.Denied),
		ContainSubstring("line 2 is no serial number in hex"), ContainSubstring("line 3 is"))))
}
