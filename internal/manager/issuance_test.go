package manager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/testenv"
)

// issuance issues the certificates of a folder's manifests as cert-manager does.
type issuance struct {
	*WithT
	hooks        *admissionregistrationv1.ValidatingWebhookConfiguration
	leaf         string // name of the Certificate whose CA the webhooks' configuration gets
	certificates map[string]*certificate
	issuers      map[string]issuer
	secrets      map[string]secret // by the Certificate's name
}

type certificate struct {
	Spec struct {
		IsCA       bool
		CommonName string
		Subject    struct{ Organizations []string }
		SecretName string
		DNSNames   []string
		Duration   metav1.Duration
		PrivateKey struct{ RotationPolicy string }
		IssuerRef  struct{ Name string }
	}
}

// issuer is one with a CA, or else of certificates that sign themselves.
type issuer struct {
	Spec struct {
		CA *struct{ SecretName string }
	}
}

// secret is that of a Certificate: tls.crt, tls.key and ca.crt.
type secret struct {
	certificate, key, authority []byte
	parsed                      *x509.Certificate
	signer                      *ecdsa.PrivateKey
}

func newIssuance(t *testing.T, folder string) *issuance {
	t.Helper()
	i := &issuance{
		WithT: NewWithT(t), certificates: map[string]*certificate{}, issuers: map[string]issuer{}, secrets: map[string]secret{},
		hooks: &admissionregistrationv1.ValidatingWebhookConfiguration{},
	}
	for document := range strings.SplitSeq(testenv.Render(t, folder), "\n---\n") {
		var object metav1.PartialObjectMetadata
		i.Expect(yaml.Unmarshal([]byte(document), &object)).To(Succeed())
		switch object.Kind {
		case "ValidatingWebhookConfiguration":
			i.Expect(yaml.Unmarshal([]byte(document), i.hooks)).To(Succeed())
		case "Certificate":
			i.certificates[object.Name] = &certificate{}
			i.Expect(yaml.Unmarshal([]byte(document), i.certificates[object.Name])).To(Succeed())
		case "Issuer":
			var found issuer
			i.Expect(yaml.Unmarshal([]byte(document), &found)).To(Succeed())
			i.issuers[object.Name] = found
		}
	}
	_, i.leaf, _ = strings.Cut(i.hooks.Annotations["cert-manager.io/inject-ca-from"], "/")
	i.Expect(i.certificates).To(HaveKey(i.leaf))
	return i
}

// authority is the Certificate of the CA that signs the leaf, "" if it signs itself.
func (i *issuance) authority() string {
	if ca := i.issuers[i.certificates[i.leaf].Spec.IssuerRef.Name].Spec.CA; ca != nil {
		for name, c := range i.certificates {
			if c.Spec.SecretName == ca.SecretName {
				return name
			}
		}
	}
	return ""
}

// issueAuthority renews the CA, if there is one.
func (i *issuance) issueAuthority() {
	if name := i.authority(); name != "" {
		i.issue(name)
	}
}

// issue a certificate, with the key from before only where that is to stay.
func (i *issuance) issue(name string) {
	c, now := i.certificates[name].Spec, time.Now()
	s := secret{signer: i.secrets[name].signer}
	var err error
	if s.signer == nil || c.PrivateKey.RotationPolicy != "Never" { // since cert-manager 1.18 without a policy too
		s.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		i.Expect(err).NotTo(HaveOccurred())
	}
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	i.Expect(err).NotTo(HaveOccurred())
	usages := x509.KeyUsageDigitalSignature
	if c.IsCA {
		usages |= x509.KeyUsageCertSign
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: c.CommonName, Organization: c.Subject.Organizations},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(max(c.Duration.Duration, 90*24*time.Hour)),
		IsCA: c.IsCA, BasicConstraintsValid: true, KeyUsage: usages,
		DNSNames: c.DNSNames, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, // there is no network of Services here
	}
	parent, signer := template, s.signer
	if ca := i.issuers[c.IssuerRef.Name].Spec.CA; ca != nil {
		by := i.secrets[i.authority()]
		parent, signer, s.authority = by.parsed, by.signer, by.certificate
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, s.signer.Public(), signer)
	i.Expect(err).NotTo(HaveOccurred())
	s.parsed, err = x509.ParseCertificate(der)
	i.Expect(err).NotTo(HaveOccurred())
	s.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if s.authority == nil {
		s.authority = s.certificate
	}
	private, err := x509.MarshalECPrivateKey(s.signer)
	i.Expect(err).NotTo(HaveOccurred())
	s.key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	i.secrets[name] = s
}
