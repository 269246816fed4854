package mtls

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
)

// source has what was in the files when they made sense last.
type source struct {
	files Files
	usage x509.ExtKeyUsage // that the own certificate is needed for; ExtKeyUsageAny for none
	log   logr.Logger

	mutex   sync.Mutex
	read    [3][]byte // the files then
	good    material
	failure string // since then; it is logged once

	refusals rate.Sometimes
	unsaid   atomic.Int64 // refusals since the last that was logged
}

// material is what is in the files.
type material struct {
	certificate tls.Certificate
	authorities *x509.CertPool
}

func newSource(ctx context.Context, files Files, usage x509.ExtKeyUsage) (*source, error) {
	log, err := logr.FromContext(ctx)
	if err != nil {
		log = logr.FromSlogHandler(slog.Default().Handler())
	}
	s := &source{files: files, usage: usage, log: log, refusals: rate.Sometimes{First: 10, Interval: time.Second}}
	return s, s.refresh()
}

// refused logs a refusal, but after the first ones only once a second: a client that connects in a loop fills no disk.
func (s *source) refused(from string, because error) {
	s.unsaid.Add(1)
	s.refusals.Do(func() {
		s.log.Info("Refused a connection", "from", from, "because", because.Error(), "others", s.unsaid.Swap(0)-1)
	})
}

// current reads the files: replacing them needs no signal. While they are inconsistent, such as when not all of them are
// replaced yet, it continues with the last good ones.
func (s *source) current() material {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	err := s.refresh()
	if err != nil && err.Error() != s.failure {
		s.log.Error(err, "Going on with the certificate from before")
	}
	s.failure = ""
	if err != nil {
		s.failure = err.Error()
	}
	return s.good
}

func (s *source) refresh() error {
	var read [3][]byte
	for i, name := range []string{s.files.Certificate, s.files.Key, s.files.Authorities} {
		var err error
		if read[i], err = os.ReadFile(name); err != nil {
			return fmt.Errorf("read the TLS files: %w", err)
		}
	}
	if s.good.authorities != nil && slices.EqualFunc(read[:], s.read[:], bytes.Equal) {
		return nil
	}
	good, err := s.parse(read)
	if err != nil {
		return err
	}
	s.read, s.good = read, good
	leaf := good.certificate.Leaf
	s.log.Info("Using a certificate", "file", s.files.Certificate, "subject", subject(leaf), "expires", leaf.NotAfter)
	if now := time.Now(); now.After(leaf.NotAfter) {
		s.log.Error(errors.New("the certificate has expired"), "Others will refuse it", "file", s.files.Certificate)
	}
	return nil
}

func (s *source) parse(read [3][]byte) (material, error) {
	certificate, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return material{}, fmt.Errorf("read %s with %s: %w", s.files.Certificate, s.files.Key, err)
	}
	if s.usage != x509.ExtKeyUsageAny {
		if err := usable(certificate.Leaf, s.usage); err != nil {
			return material{}, fmt.Errorf("read %s: %w", s.files.Certificate, err)
		}
	}
	pool, err := authorities(read[2])
	if err != nil {
		return material{}, fmt.Errorf("read %s: %w", s.files.Authorities, err)
	}
	return material{certificate, pool}, nil
}

// usable reports whether a certificate names what it is used for. Go accepts one that names nothing for anything, so that any
// certificate of the authority could be used on either side.
func usable(certificate *x509.Certificate, as x509.ExtKeyUsage) error {
	uses := certificate.ExtKeyUsage
	if slices.Contains(uses, as) || slices.Contains(uses, x509.ExtKeyUsageAny) {
		return nil
	}
	return fmt.Errorf("the extended key usage of the certificate of %s lacks %s", subject(certificate),
		map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "serverAuth", x509.ExtKeyUsageClientAuth: "clientAuth"}[as])
}

// authorities fails where a pool would pass over what it can't read.
func authorities(data []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for n := 1; ; n++ {
		block, rest := pem.Decode(data)
		if block == nil {
			if n == 1 {
				return nil, errors.New("it has no certificate in PEM")
			}
			return pool, nil
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("its block %d is no certificate: %w", n, errors.Join(err, errors.New(block.Type)))
		}
		pool.AddCert(c)
		data = rest
	}
}
