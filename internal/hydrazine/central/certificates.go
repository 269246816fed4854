package central

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
)

// Files of a central, readable for their owner only.
const (
	authorityCertificate = "ca.crt"
	authorityKey         = "ca.key"
	serverCertificate    = "southbound.crt"
	serverKey            = "southbound.key"
)

// ensureAuthority returns a group's authority, and makes one if there is none that can be used. The DPUs then get new
// certificates.
func ensureAuthority(ctx context.Context, dir, group string) (*Authority, error) {
	certificate, key, err := readPair(dir, authorityCertificate, authorityKey)
	if err != nil {
		return nil, err
	}
	if a := UsableAuthority(ctx, certificate, key); a != nil {
		return a, nil
	}
	a, err := NewAuthority(group)
	if err != nil {
		return nil, err
	}
	if key, err = a.KeyPEM(); err != nil {
		return nil, err
	}
	return a, writePair(dir, authorityCertificate, a.PEM(), authorityKey, key)
}

// ensureServer makes sure that the southbound database has a certificate. A server that runs serves a new one from its next
// connection on, once it sees that the key has changed: so the key is written last.
func (a *Authority) ensureServer(dir string, at netip.Addr) error {
	certificate, key, err := readPair(dir, serverCertificate, serverKey)
	if err != nil || a.Serves(certificate, key, at) {
		return err
	}
	if certificate, key, err = a.Serve(at); err != nil {
		return err
	}
	return writePair(dir, serverCertificate, certificate, serverKey, key)
}

// readPair reads a certificate and its key. Missing files are empty.
func readPair(dir, certificateFile, keyFile string) (certificate, key []byte, err error) {
	if certificate, err = os.ReadFile(filepath.Join(dir, certificateFile)); err == nil || errors.Is(err, fs.ErrNotExist) {
		key, err = os.ReadFile(filepath.Join(dir, keyFile))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read the central's certificates: %w", err)
	}
	return certificate, key, nil
}

func writePair(dir, certificateFile string, certificate []byte, keyFile string, key []byte) error {
	for _, file := range []struct {
		name string
		data []byte
	}{{certificateFile, certificate}, {keyFile, key}} {
		if err := replaceFile(filepath.Join(dir, file.name), file.data); err != nil {
			return fmt.Errorf("write the central's certificates: %w", err)
		}
	}
	return nil
}

// replaceFile writes a file atomically, for its owner only.
func replaceFile(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
