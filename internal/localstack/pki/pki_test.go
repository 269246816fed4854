package pki_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

func authority(t *testing.T) (*pki.Authority, pki.KeyPair) {
	t.Helper()
	g := NewWithT(t)
	ca, err := pki.NewAuthority("kubernetes")
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := ca.KeyPair()
	g.Expect(err).NotTo(HaveOccurred())
	return ca, pair
}

func parse(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	g := NewWithT(t)
	block, _ := pem.Decode(data)
	g.Expect(block).NotTo(BeNil())
	crt, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return crt
}

func TestSign_makesCertificatesThatVerify(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	ca, _ := authority(t)
	pair, err := ca.Sign(pki.Leaf{
		CommonName: "system:node:one", Organizations: []string{"system:nodes"}, DNSNames: []string{"one"},
		IPs: []net.IP{net.IPv4(127, 1, 2, 3)}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	leaf := parse(t, pair.Cert)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(leaf.VerifyHostname("127.1.2.3")).To(Succeed())
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	g.Expect(err).To(HaveOccurred())
}

func TestParseAuthority_detectsAnyChangedByte(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	_, pair := authority(t)
	_, err := pki.ParseAuthority(pair)
	g.Expect(err).NotTo(HaveOccurred())

	block, _ := pem.Decode(pair.Cert)
	for i := range block.Bytes {
		damaged := bytes.Clone(block.Bytes)
		damaged[i] ^= 1
		_, err := pki.ParseAuthority(pki.KeyPair{Key: pair.Key,
			Cert: pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: damaged})})
		g.Expect(err).To(HaveOccurred(), "byte %d", i)
	}
}

func TestParseAuthority_refuses(t *testing.T) {
	t.Parallel()

	ca, pair := authority(t)
	_, other := authority(t)
	leaf, err := ca.Sign(pki.Leaf{CommonName: "leaf"})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, test := range map[string]struct {
		pair pki.KeyPair
		want string
	}{
		"the key of another":   {pki.KeyPair{Cert: pair.Cert, Key: other.Key}, "private key does not match"},
		"a leaf":               {leaf, "is not a CA"},
		"an empty certificate": {pki.KeyPair{Key: pair.Key}, "failed to find any PEM data"},
		"a key that is no key": {pki.KeyPair{Cert: pair.Cert, Key: []byte("hello")}, "failed to find any PEM data"},
		"a certificate as key": {pki.KeyPair{Cert: pair.Cert, Key: pair.Cert}, "found a certificate rather than a key"},
		"a key as certificate": {pki.KeyPair{Cert: pair.Key, Key: pair.Key}, "did find a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pki.ParseAuthority(test.pair)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestCreateAuthorities_writesWhatKubeadmWouldForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	dir := pki.Dir(t.TempDir())
	g.Expect(dir.CreateAuthorities()).To(Succeed())
	for _, name := range []string{pki.ClusterCA, pki.EtcdCA, pki.FrontProxyCA} {
		_, err := dir.Authority(name)
		g.Expect(err).NotTo(HaveOccurred())
	}
	for _, path := range []string{dir.Key("ca"), dir.ServiceAccountKey(), dir.ServiceAccountPub()} {
		info, err := os.Stat(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	}
}
