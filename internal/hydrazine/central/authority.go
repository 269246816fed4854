package central

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"

	"k8s.io/klog/v2"
)

const (
	// authorityLife is that of a group's authority. When authorityRest is left, a new one takes its place, and what the old one
	// has signed ends with it: DPUs get certificates of the new one, and keep their flows until then.
	authorityLife = 10 * 365 * 24 * time.Hour
	authorityRest = 365 * 24 * time.Hour
	// serverLife is that of a southbound database's certificate. Half of it is always left.
	serverLife = 365 * 24 * time.Hour
	// backdate allows for clocks that differ.
	backdate = 5 * time.Minute
)

// Authority signs the certificates of one group: those of its DPUs for its southbound database, and that database's own.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	now         func() time.Time
}

// NewAuthority makes one for a group.
func NewAuthority(group string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	a := &Authority{key: key, now: time.Now}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: group}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := a.issue(template, template, key.Public(), authorityLife)
	if err == nil {
		a.certificate, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	return a, nil
}

// ParseAuthority reads what PEM and KeyPEM have written. One that will expire soon, or isn't valid yet, is an error.
func ParseAuthority(certificate, key []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read an authority: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("read an authority: it can't sign")
	}
	if time.Until(pair.Leaf.NotBefore) > 0 { // it was made by a clock that was ahead: no peer accepts what it signs
		return nil, fmt.Errorf("read an authority: it begins at %s", pair.Leaf.NotBefore.Format(time.RFC3339))
	}
	if time.Until(pair.Leaf.NotAfter) < authorityRest {
		return nil, fmt.Errorf("read an authority: it ends at %s", pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &Authority{certificate: pair.Leaf, key: signer, now: time.Now}, nil
}

// UsableAuthority reads what PEM and KeyPEM have written. It returns nil if there is nothing, or it can't be used: then it
// logs why, since all certificates of the group will be replaced.
func UsableAuthority(ctx context.Context, certificate, key []byte) *Authority {
	if len(certificate) == 0 && len(key) == 0 {
		return nil
	}
	a, err := ParseAuthority(certificate, key)
	if err != nil {
		klog.FromContext(ctx).Info("Another authority takes the place of one that can't be used", "reason", err.Error())
		return nil
	}
	return a
}

// PEM is the certificate that all others of the group are verified by.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// KeyPEM is secret: its holder can impersonate any DPU of the group.
func (a *Authority) KeyPEM() ([]byte, error) { return keyPEM(a.key) }

func keyPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Sign returns a certificate (PEM) for a request (PKCS #10, PEM): by it the southbound database knows the DPU of that name.
// Nothing but the key is taken from the request. An error says what is wrong with it.
func (a *Authority) Sign(request []byte, name string, life time.Duration) ([]byte, error) {
	key, err := requested(request)
	if err != nil {
		return nil, err
	}
	der, err := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.certificate, key, life)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	return encode("CERTIFICATE", der), nil
}

// requested is the key that a request was signed with.
func requested(request []byte) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("the request for a certificate isn't PEM")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the request for a certificate: %w", err)
	}
	key, ok := parsed.PublicKey.(*ecdsa.PublicKey)
	if !ok { // checked first: a signature by a large RSA key takes seconds to verify
		return nil, fmt.Errorf("the key of the request for a certificate is %T: only ECDSA is taken", parsed.PublicKey)
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the signature of the request for a certificate: %w", err)
	}
	return key, nil
}

// Good reports whether a certificate was signed by Sign for this request's key and this name, and more than half of its
// life is left.
func (a *Authority) Good(certificate, request []byte, name string) bool {
	block, _ := pem.Decode(certificate)
	key, err := requested(request)
	if err != nil || block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && c.Subject.CommonName == name && key.Equal(c.PublicKey) && c.CheckSignatureFrom(a.certificate) == nil &&
		a.fresh(c)
}

// fresh reports whether a certificate is valid, and more than half of its life is left. It isn't valid yet if it was signed by a clock that
// was ahead.
func (a *Authority) fresh(c *x509.Certificate) bool {
	return !a.now().Before(c.NotBefore) && a.now().Before(c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore)/2))
}

// Serve returns a certificate and its key (PEM) for a southbound database at an address.
func (a *Authority) Serve(at netip.Addr) (certificate, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the key of a southbound database: %w", err)
	}
	der, err := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "southbound"}, BasicConstraintsValid: true, IPAddresses: []net.IP{at.AsSlice()},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, own.Public(), serverLife)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of a southbound database: %w", err)
	}
	key, err = keyPEM(own)
	return encode("CERTIFICATE", der), key, err
}

// Serves reports whether a southbound database at an address can continue with a certificate and its key.
func (a *Authority) Serves(certificate, key []byte, at netip.Addr) bool {
	pair, err := tls.X509KeyPair(certificate, key)
	return err == nil && pair.Leaf.VerifyHostname(at.String()) == nil && a.fresh(pair.Leaf) &&
		pair.Leaf.CheckSignatureFrom(a.certificate) == nil
}

func (a *Authority) issue(c, parent *x509.Certificate, key crypto.PublicKey, life time.Duration) ([]byte, error) {
	var err error
	if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	c.NotBefore, c.NotAfter = a.now().Add(-backdate), a.now().Add(life)
	return x509.CreateCertificate(rand.Reader, c, parent, key, a.key)
}
