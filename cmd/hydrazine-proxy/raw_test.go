package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"

	"github.com/bedplate/bedplate/internal/hydrazine/hostiletest"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
)

// tenant is the configuration of a client of an organization.
func (p *program) tenant(organization string) *tls.Config {
	p.t.Helper()
	files := p.certificate(organization)
	certificate, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	p.Expect(err).NotTo(HaveOccurred())
	config := &tls.Config{RootCAs: x509.NewCertPool(), NextProtos: []string{"h2"}, Certificates: []tls.Certificate{certificate}}
	config.RootCAs.AppendCertsFromPEM(p.ca.CertPEM())
	return config
}

// raw connects, and takes answers as settings say.
func (p *program) raw(ctx context.Context, config *tls.Config, settings ...http2.Setting) (*hostiletest.Raw, error) {
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	return hostiletest.NewRaw(ctx, conn, settings...)
}

// peak of the program's resident memory, in MB, since it has begun or forget was called.
func (p *program) peak() float64 {
	p.t.Helper()
	_, peak := processtest.Memory(p.t, p.cmd.Process.Pid)
	return peak
}

// forget what the peak was.
func (p *program) forget() {
	p.t.Helper()
	p.Expect(os.WriteFile("/proc/"+p.pid()+"/clear_refs", []byte("5"), 0o600)).To(Succeed())
}
