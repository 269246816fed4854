package mtls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// transport shakes hands as credentials.NewTLS does, each time with what is in the files then.
type transport struct {
	source    *source
	denied    *denied // nil for none
	authorize func(*x509.Certificate) error
}

// maxChain is how many certificates the other side may show: they are in memory as long as the connection is.
const maxChain = 10

// config of one connection. The other side's certificate has to be for what it is there. There are no session tickets: a session that
// continues would be one whose certificate isn't checked again.
func (t *transport) config(other x509.ExtKeyUsage) *tls.Config {
	now := t.source.current()
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		Certificates:           []tls.Certificate{now.certificate},
		RootCAs:                now.authorities,
		ClientCAs:              now.authorities,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		// An authority that the server doesn't name would keep a client from showing its certificate; refused, it hears why.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &now.certificate, nil },
		VerifyConnection: func(state tls.ConnectionState) error {
			its := state.PeerCertificates[0]
			if n := len(state.PeerCertificates); n > maxChain {
				return fmt.Errorf("the certificate of %s comes with %d others", subject(its), n-1)
			}
			if err := usable(its, other); err != nil {
				return err
			}
			if err := t.denied.check(its); err != nil || t.authorize == nil {
				return err
			}
			return t.authorize(its)
		},
	}
}

// ClientHandshake implements credentials.TransportCredentials.
func (t *transport) ClientHandshake(ctx context.Context, host string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := credentials.NewTLS(t.config(x509.ExtKeyUsageServerAuth)).ClientHandshake(ctx, host, raw)
	if err != nil {
		return nil, nil, fmt.Errorf("tls: %w", explained(err))
	}
	return t.denied.keep(clientConn{conn}, raw, info), info, nil
}

// clientConn is a connection whose server may still refuse it: in TLS 1.3 a client's handshake ends before the server has seen
// its certificate. What the server said then is a better error than that nothing can be written any more.
type clientConn struct{ net.Conn }

// Write implements net.Conn.
func (c clientConn) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data)
	if err == nil {
		return n, nil
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Second)) // of what has arrived before
	_, last := c.Read(make([]byte, 1))
	if alert := (*net.OpError)(nil); errors.As(last, &alert) && alert.Op == "remote error" {
		return n, last
	}
	return n, err
}

// ServerHandshake implements credentials.TransportCredentials.
func (t *transport) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := credentials.NewTLS(t.config(x509.ExtKeyUsageClientAuth)).ServerHandshake(raw)
	if err != nil {
		err = explained(err)
		if !errors.Is(err, io.EOF) { // as from a probe of the port
			t.source.refused(raw.RemoteAddr().String(), err)
		}
		return nil, nil, err
	}
	return t.denied.keep(conn, raw, info), info, nil
}

// explained is an error whose text has no clock in it, so that it equals that of the next attempt.
func explained(err error) error {
	if refused := (*tls.CertificateVerificationError)(nil); errors.As(err, &refused) {
		err = refused.Err
	}
	invalid := x509.CertificateInvalidError{}
	if !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
		return err
	}
	if time.Now().Before(invalid.Cert.NotBefore) {
		return fmt.Errorf("certificate of %s is valid only from %s on", subject(invalid.Cert), invalid.Cert.NotBefore.Format(time.RFC3339))
	}
	return fmt.Errorf("certificate of %s expired at %s", subject(invalid.Cert), invalid.Cert.NotAfter.Format(time.RFC3339))
}

// Info implements credentials.TransportCredentials.
func (t *transport) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials. There is nothing in it that changes.
func (t *transport) Clone() credentials.TransportCredentials { return t }

// OverrideServerName implements credentials.TransportCredentials.
func (t *transport) OverrideServerName(string) error {
	return errors.New("the server's name is the host that is called")
}
