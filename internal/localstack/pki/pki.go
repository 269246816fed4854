// Package pki makes the certificates of a local Kubernetes, in the files where kubeadm puts them.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is that of kubeadm's leaf certificates. backdate allows for clocks that differ.
const (
	validity = 365 * 24 * time.Hour
	backdate = 5 * time.Minute
)

// Authority is a certificate authority that can sign.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// Leaf describes a certificate to sign.
type Leaf struct {
	CommonName    string
	Organizations []string // Kubernetes reads them as groups
	DNSNames      []string
	IPs           []net.IP
	Usages        []x509.ExtKeyUsage
	Validity      time.Duration // from now on, a year without it; negative: it has expired already
}

// KeyPair is a PEM-encoded certificate with its private key.
type KeyPair struct {
	Cert, Key []byte
}

// NewAuthority makes a self-signed certificate authority.
func NewAuthority(commonName string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	crt, err := cert.NewSelfSignedCACert(cert.Config{CommonName: commonName}, key)
	if err != nil {
		return nil, fmt.Errorf("sign CA %q: %w", commonName, err)
	}
	return &Authority{cert: crt, key: key}, nil
}

// ParseAuthority reads a PEM-encoded CA. It fails when either part is damaged, when they don't belong together, when the
// certificate is not a CA's, or when its own signature doesn't hold.
func ParseAuthority(pair KeyPair) (*Authority, error) {
	both, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	key, ok := both.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("key of type %T can't sign", both.PrivateKey)
	}
	crt := both.Leaf
	if !crt.IsCA {
		return nil, fmt.Errorf("certificate %q is not a CA", crt.Subject.CommonName)
	}
	if err := crt.CheckSignatureFrom(crt); err != nil {
		return nil, fmt.Errorf("self-signature of CA %q: %w", crt.Subject.CommonName, err)
	}
	if now := time.Now(); now.Before(crt.NotBefore) || now.After(crt.NotAfter) {
		return nil, fmt.Errorf("CA %q is valid only from %s to %s", crt.Subject.CommonName,
			crt.NotBefore.Format(time.RFC3339), crt.NotAfter.Format(time.RFC3339))
	}
	return &Authority{cert: crt, key: key}, nil
}

// CertPEM returns the authority's own certificate.
func (a *Authority) CertPEM() []byte { return encodeCert(a.cert.Raw) }

// KeyPair returns the authority's certificate and key.
func (a *Authority) KeyPair() (KeyPair, error) {
	key, err := keyutil.MarshalPrivateKeyToPEM(a.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode key of CA %q: %w", a.cert.Subject.CommonName, err)
	}
	return KeyPair{Cert: a.CertPEM(), Key: key}, nil
}

// Sign makes a key and a certificate for it.
func (a *Authority) Sign(leaf Leaf) (KeyPair, error) {
	key, err := newKey()
	if err != nil {
		return KeyPair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return KeyPair{}, fmt.Errorf("choose a serial number: %w", err)
	}
	now, lasts := time.Now(), leaf.Validity
	if lasts == 0 {
		lasts = validity
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Organizations},
		DNSNames:     leaf.DNSNames,
		IPAddresses:  leaf.IPs,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(lasts),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  leaf.Usages,
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("sign certificate %q: %w", leaf.CommonName, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode key of %q: %w", leaf.CommonName, err)
	}
	return KeyPair{Cert: encodeCert(der), Key: keyPEM}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return key, nil
}

func publicPEM(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
