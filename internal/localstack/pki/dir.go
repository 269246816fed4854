package pki

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"
)

// The authorities of a Kubernetes cluster: paths below its pki folder, without ".crt" and ".key".
const (
	ClusterCA    = "ca"
	EtcdCA       = "etcd/ca"
	FrontProxyCA = "front-proxy-ca"
)

// Dir is a folder laid out as kubeadm's /etc/kubernetes/pki.
type Dir string

// Cert returns the path of a certificate, such as "etcd/ca".
func (d Dir) Cert(name string) string { return filepath.Join(string(d), name+".crt") }

// Key returns the path of a private key.
func (d Dir) Key(name string) string { return filepath.Join(string(d), name+".key") }

// ServiceAccountKey returns the path of the private key that signs service account tokens.
func (d Dir) ServiceAccountKey() string { return d.Key("sa") }

// ServiceAccountPub returns the path of the public key that verifies service account tokens.
func (d Dir) ServiceAccountPub() string { return filepath.Join(string(d), "sa.pub") }

// Authority reads one of the CAs; see ParseAuthority for what is checked.
func (d Dir) Authority(name string) (*Authority, error) {
	crt, err := os.ReadFile(d.Cert(name))
	if err != nil {
		return nil, fmt.Errorf("read CA %s: %w", name, err)
	}
	key, err := os.ReadFile(d.Key(name))
	if err != nil {
		return nil, fmt.Errorf("read CA %s: %w", name, err)
	}
	authority, err := ParseAuthority(KeyPair{Cert: crt, Key: key})
	if err != nil {
		return nil, fmt.Errorf("read CA %s: %w", name, err)
	}
	return authority, nil
}

// CreateAuthorities fills the folder with new CAs and a new service account key.
func (d Dir) CreateAuthorities() error {
	for name, commonName := range map[string]string{
		ClusterCA: "kubernetes", EtcdCA: "etcd-ca", FrontProxyCA: "front-proxy-ca",
	} {
		authority, err := NewAuthority(commonName)
		if err != nil {
			return err
		}
		pair, err := authority.KeyPair()
		if err != nil {
			return err
		}
		if err := d.Write(name, pair); err != nil {
			return err
		}
	}
	return d.createServiceAccountKey()
}

func (d Dir) createServiceAccountKey() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("encode service account key: %w", err)
	}
	public, err := publicPEM(key.Public())
	if err != nil {
		return fmt.Errorf("encode service account key: %w", err)
	}
	if err := writeFile(d.ServiceAccountKey(), private); err != nil {
		return err
	}
	return writeFile(d.ServiceAccountPub(), public)
}

// Write writes a certificate and its key, readable only by the owner.
func (d Dir) Write(name string, pair KeyPair) error {
	if err := writeFile(d.Cert(name), pair.Cert); err != nil {
		return err
	}
	return writeFile(d.Key(name), pair.Key)
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write PKI file: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write PKI file: %w", err)
	}
	return nil
}
