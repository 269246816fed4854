package agent

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
)

// Files in the state's folder that ovn-controller reaches the southbound database with.
const (
	keyFile         = "southbound.key"
	certificateFile = "southbound.crt"
	authoritiesFile = "southbound-ca.crt"
)

// identity is the DPU's identity for southbound databases. Its key never leaves the DPU: each group signs a certificate for
// it.
type identity struct {
	dir    string
	key    *ecdsa.PrivateKey
	keyPEM []byte

	mutex     sync.Mutex
	chassis   string // that requested is for
	requested string
}

// loadIdentity reads the key, or makes another one, which is written with its first certificate.
func loadIdentity(dir string) (*identity, error) {
	i := &identity{dir: dir}
	data, _ := os.ReadFile(i.file(keyFile))
	if block, _ := pem.Decode(data); block != nil {
		if i.key, _ = x509.ParseECPrivateKey(block.Bytes); i.key != nil {
			i.keyPEM = data
			return i, nil
		}
	}
	var err error
	if i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(i.key)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	i.keyPEM = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return i, nil
}

func (i *identity) file(name string) string { return filepath.Join(i.dir, name) }

// request for a certificate. It stays the same: otherwise each report would differ from the last.
func (i *identity) request(chassis string) (string, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.requested != "" && i.chassis == chassis {
		return i.requested, nil
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: chassis}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, i.key)
	if err != nil {
		return "", fmt.Errorf("make a request for a certificate: %w", err)
	}
	i.chassis, i.requested = chassis, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	return i.requested, nil
}

// check that a network can be reached with its certificate.
func (i *identity) check(n ledger.Network) error {
	secure := strings.HasPrefix(n.Southbound, "ssl:")
	if !secure && n.Certificate == "" {
		return nil
	}
	if !secure || n.Certificate == "" {
		return fmt.Errorf("southbound_tls goes with ssl:, and southbound is %s", n.Southbound)
	}
	if _, err := tls.X509KeyPair([]byte(n.Certificate), i.keyPEM); err != nil {
		return fmt.Errorf("southbound_tls: the certificate isn't for the key of southbound_request: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(n.Authorities)) {
		return errors.New("southbound_tls: authorities has no certificate")
	}
	return nil
}

// write the files for a network. An ovn-controller that runs uses them from its next connection on, so there is no need to end
// the one that it has. It reads the certificate only when it sees that the key is newer, so the key is written last.
func (i *identity) write(n ledger.Network) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if n.Certificate == "" {
		return nil
	}
	files := []file{{authoritiesFile, []byte(n.Authorities)}, {certificateFile, []byte(n.Certificate)}, {keyFile, i.keyPEM}}
	if !slices.ContainsFunc(files, i.differs) {
		return nil
	}
	for _, f := range files {
		if err := ledger.Replace(i.file(f.name), f.data); err != nil {
			return fmt.Errorf("write what the southbound database is reached with: %w", err)
		}
	}
	return nil
}

type file struct {
	name string
	data []byte
}

// differs reports whether a file isn't as it should be, such as one that was removed.
func (i *identity) differs(f file) bool {
	found, err := os.ReadFile(i.file(f.name))
	return err != nil || !bytes.Equal(found, f.data)
}
