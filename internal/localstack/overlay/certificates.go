package overlay

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/bedplate/bedplate/internal/localstack/pki"
)

// ManagerName is what agents know the manager by.
const ManagerName = "hydrazine-manager"

// Identity is the files of a program that speaks mTLS.
type Identity struct {
	Certificate, Key, Authorities string
}

func (i Identity) flags() []string {
	return []string{"--tls-cert-file=" + i.Certificate, "--tls-private-key-file=" + i.Key, "--tls-ca-file=" + i.Authorities}
}

// issuer is the CA of all programs, and of the proxy's clients.
type issuer struct {
	dir       string
	authority *pki.Authority
}

func newIssuer(dir string) (*issuer, error) {
	authority, err := pki.NewAuthority("hydrazine")
	if err != nil {
		return nil, err
	}
	return &issuer{dir, authority}, nil
}

// CertifyTenant writes a client's certificate for an organization, which is what the proxy knows tenants by, and operators.
func (o *Overlay) CertifyTenant(organization string) (Identity, error) {
	return o.sign("client-"+organization, pki.Leaf{
		CommonName: organization, Organizations: []string{organization}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// Certify writes a certificate for a name, which is a server's if it has addresses, into files of that name. Those that were
// there are replaced, and programs that have them open continue with the new ones.
func (o *Overlay) Certify(name string, addresses ...netip.Addr) (Identity, error) {
	leaf := pki.Leaf{CommonName: name, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, address := range addresses {
		leaf.IPs, leaf.Usages = append(leaf.IPs, address.AsSlice()), []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	return o.sign(name, leaf)
}

func (o *Overlay) sign(name string, leaf pki.Leaf) (Identity, error) {
	pair, err := o.issuer.authority.Sign(leaf)
	if err != nil {
		return Identity{}, err
	}
	dir := filepath.Join(o.issuer.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Identity{}, fmt.Errorf("make the certificates' folder: %w", err)
	}
	i := Identity{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
	for path, data := range map[string][]byte{
		i.Certificate: pair.Cert, i.Key: pair.Key, i.Authorities: o.issuer.authority.CertPEM(),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return Identity{}, fmt.Errorf("write a certificate: %w", err)
		}
	}
	return i, nil
}
