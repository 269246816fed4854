package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// A connection outlives the certificate that it was made with.
func TestConnected_endsWithTheCertificate(t *testing.T) {
	t.Parallel()
	g, tenancy := NewWithT(t), &Tenancy{}
	for left, expected := range map[time.Duration]codes.Code{time.Minute: codes.OK, -time.Second: codes.Unauthenticated} {
		leaf := &x509.Certificate{Subject: pkix.Name{Organization: []string{"blue"}}, NotAfter: time.Now().Add(left)}
		_, _, err := tenancy.connected(peer.NewContext(t.Context(), &peer.Peer{AuthInfo: &session{AuthInfo: credentials.TLSInfo{
			State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}},
		}}}))
		g.Expect(status.Code(err)).To(Equal(expected))
	}
	_, _, err := tenancy.connected(peer.NewContext(t.Context(), &peer.Peer{}))
	g.Expect(status.Code(err)).To(Equal(codes.Unauthenticated), "no certificate")
}

func certificate(organizations ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "operators", Organization: organizations}, NotAfter: time.Now().Add(time.Minute),
	}
}

// strangers are organizations of certificates that give no access, without a prefix and with one.
var strangers = map[string][]string{
	"no organization": nil, "two": {"blue", "red"}, "two of operators": {"operators", "blue"}, "empty": {""}, "no label": {"Blue"},
	"a path": {"../red"}, "everyone": {"-"}, "with a dot": {"blue.red"}, "Kubernetes' own": {"kube-system"},
	"too long": {strings.Repeat("x", 64)},
}

// A client without access doesn't pass the handshake, nor, if it did, any further check.
func TestStrangers_areRefusedTwice(t *testing.T) {
	t.Parallel()
	g, tenancy := NewWithT(t), &Tenancy{Operators: []string{"operators"}}
	for name, organizations := range strangers {
		g.Expect(tenancy.Authorize(certificate(organizations...))).NotTo(Succeed(), name)
		g.Expect(passes(tenancy, certificate(organizations...))).To(BeFalse(), name)
	}
	for _, known := range []string{"operators", "blue"} {
		g.Expect(tenancy.Authorize(certificate(known))).To(Succeed())
		g.Expect(passes(tenancy, certificate(known))).To(BeTrue())
	}
	tenancy.NamespacePrefix = "tenant-"
	g.Expect(tenancy.Authorize(certificate(strings.Repeat("x", 57)))).NotTo(Succeed(), "too long with the prefix")
	g.Expect(tenancy.Authorize(certificate("kube-system"))).To(Succeed(), "with the prefix it is a name as others")
}

// passes reports whether a client whom the handshake has let through may stay connected.
func passes(tenancy *Tenancy, c *x509.Certificate) bool {
	g := &gate{tenancy: tenancy, limits: newLimits(&Config{Connections: 1, TenantConnections: 1}), metrics: NewMetrics()}
	_, _, err := g.Admit(nil, credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}})
	return err == nil
}

func TestTenant_isWhoseNamespaceItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, namespace, tenant string }{
		{"", "blue", "blue"}, {"", "kube-system", ""}, {"", "", ""},
		{"site-", "site-blue", "blue"}, {"site-", "blue", ""}, {"site-", "site-", ""}, {"site-", "site--x", ""},
	} {
		NewWithT(t).Expect((&Tenancy{NamespacePrefix: c.prefix}).tenant(c.namespace)).To(Equal(c.tenant), c.prefix+c.namespace)
	}
}
