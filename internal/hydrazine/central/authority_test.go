package central

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
)

// newRequest is what an agent makes. Change makes it another one.
func newRequest(t *testing.T, name string, change ...func(*x509.CertificateRequest)) (key, request []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}
	for _, c := range change {
		c(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, own)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	key, err = keyPEM(own)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return key, encode("CERTIFICATE REQUEST", der)
}

func newAuthority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority("ovn-blue")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return a
}

func parse(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(data)
	g := NewWithT(t)
	g.Expect(block).NotTo(BeNil())
	g.Expect(rest).To(BeEmpty())
	c, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// The manager's clock was a year ahead when it signed, and is right again: no other end takes that for a year, so it is signed again.
func TestAuthority_whoseClockWasAhead(t *testing.T) {
	t.Parallel()
	g, a, at := NewWithT(t), newAuthority(t), netip.MustParseAddr("127.0.0.1")
	_, request := newRequest(t, "dpu1")
	sign := func() (chassis, server, key []byte) {
		chassis, err := a.Sign(request, "dpu1", 30*24*time.Hour)
		g.Expect(err).NotTo(HaveOccurred())
		server, key, err = a.Serve(at)
		g.Expect(err).NotTo(HaveOccurred())
		return chassis, server, key
	}
	a.now = func() time.Time { return time.Now().AddDate(1, 0, 0) }
	chassis, server, key := sign()
	a.now = time.Now
	g.Expect(a.Good(chassis, request, "dpu1")).To(BeFalse())
	g.Expect(a.Serves(server, key, at)).To(BeFalse())
	chassis, server, key = sign()
	g.Expect(a.Good(chassis, request, "dpu1")).To(BeTrue())
	g.Expect(a.Serves(server, key, at)).To(BeTrue())

	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	ahead := &Authority{key: own, now: func() time.Time { return time.Now().AddDate(1, 0, 0) }}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "ovn-blue"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := ahead.issue(template, template, own.Public(), authorityLife)
	g.Expect(err).NotTo(HaveOccurred())
	private, err := keyPEM(own)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = ParseAuthority(encode("CERTIFICATE", der), private)
	g.Expect(err).To(MatchError(ContainSubstring("it begins at")))
}

// The result is a certificate for one name and one use, whatever the request asks for.
func TestSign_givesNothingThatIsAskedFor(t *testing.T) {
	t.Parallel()
	g, a := NewWithT(t), newAuthority(t)
	_, request := newRequest(t, "dpu2", func(r *x509.CertificateRequest) {
		r.Subject.Organization, r.DNSNames = []string{"operators"}, []string{"southbound"}
		r.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}} // a CA
	})
	signed, err := a.Sign(request, "dpu1", time.Hour)
	g.Expect(err).NotTo(HaveOccurred())
	c := parse(t, signed)
	g.Expect(c.Subject.String()).To(Equal("CN=dpu1"))
	g.Expect(c.IsCA).To(BeFalse())
	g.Expect(c.BasicConstraintsValid).To(BeTrue())
	g.Expect(append(c.DNSNames, c.EmailAddresses...)).To(BeEmpty())
	g.Expect(c.IPAddresses).To(BeEmpty())
	g.Expect(c.KeyUsage).To(Equal(x509.KeyUsageDigitalSignature))
	g.Expect(c.ExtKeyUsage).To(HaveExactElements(x509.ExtKeyUsageClientAuth))
	g.Expect(c.NotAfter).To(BeTemporally("~", time.Now().Add(time.Hour), time.Minute))
	g.Expect(c.CheckSignatureFrom(a.certificate)).To(Succeed())
}

func TestSign_refuses(t *testing.T) {
	t.Parallel()
	g, a := NewWithT(t), newAuthority(t)
	_, request := newRequest(t, "dpu1")
	block, _ := pem.Decode(request)
	forged := bytes.Clone(block.Bytes)
	forged[len(forged)-1] ^= 1
	_, other, err := ed25519.GenerateKey(rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	edwards, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, other)
	g.Expect(err).NotTo(HaveOccurred())
	forgedEdwards := bytes.Clone(edwards)
	forgedEdwards[len(forgedEdwards)-1] ^= 1
	for name, c := range map[string]struct {
		request []byte
		says    string
	}{
		"nothing":                        {nil, "isn't PEM"},
		"a certificate":                  {a.PEM(), "isn't PEM"},
		"garbage":                        {encode("CERTIFICATE REQUEST", []byte("hello")), "the request for a certificate: "},
		"a signature that doesn't hold":  {encode("CERTIFICATE REQUEST", forged), "the signature of the request"},
		"another kind of key":            {encode("CERTIFICATE REQUEST", edwards), "only ECDSA is taken"},
		"whose signature isn't verified": {encode("CERTIFICATE REQUEST", forgedEdwards), "only ECDSA is taken"},
	} {
		_, err := a.Sign(c.request, "dpu1", time.Hour)
		g.Expect(err).To(MatchError(ContainSubstring(c.says)), name)
	}
}

func TestGood(t *testing.T) {
	t.Parallel()
	g, a := NewWithT(t), newAuthority(t)
	_, request := newRequest(t, "dpu1")
	_, another := newRequest(t, "dpu1")
	signed, err := a.Sign(request, "dpu1", time.Hour)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Good(signed, request, "dpu1")).To(BeTrue())
	g.Expect(a.Good(signed, request, "dpu2")).To(BeFalse(), "another name")
	g.Expect(a.Good(signed, another, "dpu1")).To(BeFalse(), "another key")
	g.Expect(a.Good(signed, nil, "dpu1")).To(BeFalse(), "no request")
	g.Expect(a.Good(nil, request, "dpu1")).To(BeFalse(), "no certificate")
	g.Expect(newAuthority(t).Good(signed, request, "dpu1")).To(BeFalse(), "another authority")
	for passed, good := range map[time.Duration]bool{20 * time.Minute: true, 40 * time.Minute: false, 2 * time.Hour: false} {
		a.now = func() time.Time { return time.Now().Add(passed) }
		g.Expect(a.Good(signed, request, "dpu1")).To(Equal(good), passed.String())
	}
}

func TestAuthority_isKept(t *testing.T) {
	t.Parallel()
	g, a, dir := NewWithT(t), newAuthority(t), t.TempDir()
	first, err := ensureAuthority(t.Context(), dir, "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ensureAuthority(t.Context(), dir, "blue")).To(HaveField("PEM()", first.PEM()))

	at := netip.MustParseAddr("127.0.0.1")
	serving := func(a *Authority, at netip.Addr) []byte {
		g.Expect(a.ensureServer(dir, at)).To(Succeed())
		certificate, _, err := readPair(dir, serverCertificate, serverKey)
		g.Expect(err).NotTo(HaveOccurred())
		return certificate
	}
	served := serving(first, at)
	g.Expect(serving(first, at)).To(Equal(served))
	g.Expect(parse(t, served).ExtKeyUsage).To(HaveExactElements(x509.ExtKeyUsageServerAuth))
	g.Expect(serving(first, netip.MustParseAddr("127.0.0.2"))).NotTo(Equal(served), "another address")
	served = serving(first, at)
	g.Expect(serving(a, at)).NotTo(Equal(served), "another authority")
	served = serving(first, at)
	first.now = func() time.Time { return time.Now().Add(serverLife * 2 / 3) }
	g.Expect(serving(first, at)).NotTo(Equal(served), "old")

	// One that ends soon, or whose key is lost, makes way for another.
	old := newAuthority(t)
	old.now = func() time.Time { return time.Now().Add(authorityRest - authorityLife - time.Hour) }
	der, err := old.issue(&x509.Certificate{Subject: old.certificate.Subject, IsCA: true, BasicConstraintsValid: true}, old.certificate,
		old.key.Public(), authorityLife)
	g.Expect(err).NotTo(HaveOccurred())
	old.certificate, err = x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	key, err := old.KeyPEM()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writePair(dir, authorityCertificate, old.PEM(), authorityKey, key)).To(Succeed())
	next, err := ensureAuthority(t.Context(), dir, "blue")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(next.PEM()).NotTo(Or(Equal(old.PEM()), Equal(first.PEM())))
	g.Expect(writePair(dir, authorityCertificate, first.PEM(), authorityKey, key)).To(Succeed())
	g.Expect(ensureAuthority(t.Context(), dir, "blue")).NotTo(HaveField("PEM()", first.PEM()))
}

// Another authority means other certificates for all, so the reason is reported.
func TestUsableAuthority_saysWhyItIsnt(t *testing.T) {
	t.Parallel()
	g, a := NewWithT(t), newAuthority(t)
	var said []string
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}))
	key, err := a.KeyPEM()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(UsableAuthority(ctx, nil, nil)).To(BeNil())
	g.Expect(UsableAuthority(ctx, a.PEM(), key)).NotTo(BeNil())
	g.Expect(said).To(BeEmpty())
	other, err := newAuthority(t).KeyPEM()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(UsableAuthority(ctx, a.PEM(), other)).To(BeNil())
	g.Expect(said).To(ConsistOf(And(ContainSubstring("private key does not match"), Not(ContainSubstring("PRIVATE KEY")))))
}
