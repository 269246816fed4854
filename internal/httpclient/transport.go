package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	// idleConnections are kept for each host: about as many as there are reconciles at the same time.
	idleConnections = 32
	// idleTimeout is shorter than those of most services, such as two minutes, so that a request seldom meets a connection that is just
	// being closed.
	idleTimeout = 90 * time.Second
	// pingAfter is how long an HTTP/2 connection may be silent until it has to prove that it is alive.
	pingAfter = 15 * time.Second
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// What an HTTP/2 connection keeps of answers that weren't read yet, all and each, in bytes.
	maxUnread       = 1 << 20
	maxUnreadAnswer = 256 << 10
	maxFrame        = 64 << 10
)

// sender sends the requests. It follows no redirect: the token is for this server.
func (c Config) sender() (*http.Client, error) {
	sender := http.Client{}
	switch {
	case c.HTTP == nil:
		transport, err := newTransport(c.CABundle)
		if err != nil {
			return nil, err
		}
		sender.Transport = c.Egress.Transport(transport, dialTimeout)
	case len(c.CABundle) > 0:
		return nil, errors.New("there are both a CA bundle and an HTTP client of its own: leave one")
	default:
		sender = *c.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &sender, nil
}

// newTransport returns a transport with its own connections, so that none outlives the credentials for long. Proxies are
// those of the environment. An answer has no time of its own: a create may take nearly as long as the call's timeout.
func newTransport(caBundle []byte) (*http.Transport, error) {
	roots, err := rootsWith(caBundle)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: pingAfter, PingTimeout: pingAfter,
			MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnreadAnswer,
			MaxReadFrameSize: maxFrame,
		},
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  time.Second,
	}, nil
}

// rootsWith returns the system's roots and those of the bundle, because API and login may be certified by different
// authorities, one of them a public one. Without a bundle it returns nil, which means the system's.
func rootsWith(caBundle []byte) (*x509.CertPool, error) {
	if len(caBundle) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's CA certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(caBundle) {
		return nil, errors.New(KeyCA + " contains no certificate in PEM")
	}
	return roots, nil
}
