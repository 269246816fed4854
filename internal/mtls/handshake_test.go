package mtls_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/credentials"

	"github.com/bedplate/bedplate/internal/mtls"
)

// anybody is a gate that lets every client with a certificate pass.
type anybody struct{}

func (anybody) Admit(_ net.Conn, info credentials.AuthInfo) (credentials.AuthInfo, func(), error) {
	return info, func() {}, nil
}
func (anybody) Refused(error) {}

// A client that has shown no certificate yet may be unauthorized: it gets no more of the server's memory than a few certificates need.
func TestPending_aHandshakeIsSmall(t *testing.T) {
	t.Parallel()
	g, ca := NewWithT(t), authority(t, "ca")
	s, c := newSide(t, ca, server), newSide(t, ca, client)
	creds, err := s.files.Server(s.context(), mtls.Named("controller"))
	g.Expect(err).NotTo(HaveOccurred())
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	pending := mtls.NewPending(10)
	listener, shake := pending.Listen(tcp), pending.Credentials(creds, anybody{})
	defer listener.Close()
	authorities, err := os.ReadFile(s.files.Authorities)
	g.Expect(err).NotTo(HaveOccurred())
	other, _ := pem.Decode(authorities)
	for others, refused := range map[int]string{
		0: "", 9: "",
		10:                             "comes with 10 others",
		(200 << 10) / len(other.Bytes): "more than 32768 bytes",
	} {
		shown, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
		g.Expect(err).NotTo(HaveOccurred())
		for range others {
			shown.Certificate = append(shown.Certificate, other.Bytes)
		}
		config := &tls.Config{Certificates: []tls.Certificate{shown}, RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}}
		config.RootCAs.AppendCertsFromPEM(authorities)
		said := make([]byte, 256<<10) // what is sent later isn't counted
		go func() {
			conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", tcp.Addr().String())
			if err == nil {
				_, _ = conn.Write(said)
				_ = conn.Close()
			}
		}()
		raw, err := listener.Accept()
		g.Expect(err).NotTo(HaveOccurred())
		conn, _, err := shake.ServerHandshake(raw)
		if refused != "" {
			g.Expect(err).To(MatchError(ContainSubstring(refused)), "%d", others)
			_ = raw.Close() // if the handshake hasn't
			continue
		}
		g.Expect(err).NotTo(HaveOccurred(), "%d", others)
		heard, err := io.ReadAll(conn)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(heard).To(HaveLen(len(said)))
		_ = conn.Close() // the client has done so
	}
}
