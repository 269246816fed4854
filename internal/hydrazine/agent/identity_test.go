package agent

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/central"
)

func TestIdentity_isKeptAndNeverShown(t *testing.T) {
	t.Parallel()
	g, dir := NewWithT(t), t.TempDir()
	i, err := loadIdentity(dir)
	g.Expect(err).NotTo(HaveOccurred())
	request, err := i.request("dpu1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(i.request("dpu1")).To(Equal(request))
	g.Expect(i.request("dpu2")).NotTo(Equal(request))
	g.Expect(i.file(keyFile)).NotTo(BeAnExistingFile(), "it isn't signed yet")

	blue, err := central.NewAuthority("blue")
	g.Expect(err).NotTo(HaveOccurred())
	network := func(a *central.Authority, southbound string) ledger.Network {
		certificate, err := a.Sign([]byte(request), "dpu1", time.Hour)
		g.Expect(err).NotTo(HaveOccurred())
		return ledger.Network{Southbound: southbound, Certificate: string(certificate), Authorities: string(a.PEM())}
	}
	first := network(blue, "ssl:127.0.0.1:16640")
	g.Expect(i.check(first)).To(Succeed())
	g.Expect(i.write(first)).To(Succeed())
	read := func(name string) string {
		data, err := os.ReadFile(i.file(name))
		g.Expect(err).NotTo(HaveOccurred())
		info, err := os.Stat(i.file(name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), name)
		return string(data)
	}
	g.Expect(read(certificateFile)).To(Equal(first.Certificate))
	g.Expect(read(authoritiesFile)).To(Equal(first.Authorities))
	g.Expect(read(keyFile)).NotTo(BeEmpty())

	// ovn-controller takes up a new certificate when the key's file is another one.
	before, err := os.Stat(i.file(keyFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(i.write(first)).To(Succeed())
	same, err := os.Stat(i.file(keyFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.SameFile(before, same)).To(BeTrue(), "nothing is new")
	second := network(blue, "ssl:127.0.0.1:16640")
	g.Expect(i.write(second)).To(Succeed())
	after, err := os.Stat(i.file(keyFile))
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := os.Stat(i.file(certificateFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.SameFile(before, after)).To(BeFalse())
	g.Expect(after.ModTime()).To(BeTemporally(">=", certificate.ModTime()))
	g.Expect(read(certificateFile)).To(Equal(second.Certificate))

	// Removed files come back.
	for _, name := range []string{authoritiesFile, certificateFile, keyFile} {
		g.Expect(os.Remove(i.file(name))).To(Succeed())
		g.Expect(i.write(second)).To(Succeed())
		g.Expect(i.file(name)).To(BeAnExistingFile())
	}

	// The next agent continues with the key. One that is damaged makes way for another, whose certificates aren't
	// these.
	next, err := loadIdentity(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(next.check(second)).To(Succeed())
	g.Expect(os.WriteFile(i.file(keyFile), []byte("hello"), 0o600)).To(Succeed())
	other, err := loadIdentity(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.check(second)).To(MatchError(ContainSubstring("isn't for the key")))
}

func TestIdentity_checks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i, err := loadIdentity(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	request, err := i.request("dpu1")
	g.Expect(err).NotTo(HaveOccurred())
	block, _ := pem.Decode([]byte(request))
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed.Subject.String()).To(Equal("CN=dpu1"))
	a, err := central.NewAuthority("blue")
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := a.Sign([]byte(request), "dpu1", time.Hour)
	g.Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		network ledger.Network
		says    string
	}{
		"plaintext": {ledger.Network{Southbound: "tcp:127.0.0.1:1"}, ""},
		"plaintext with a certificate": {
			ledger.Network{Southbound: "tcp:127.0.0.1:1", Certificate: string(certificate), Authorities: string(a.PEM())}, "southbound is tcp:"},
		"TLS without a certificate": {ledger.Network{Southbound: "ssl:127.0.0.1:1"}, "southbound_tls goes with ssl:"},
		"without authorities":       {ledger.Network{Southbound: "ssl:127.0.0.1:1", Certificate: string(certificate)}, "authorities has no certificate"},
		"garbage":                   {ledger.Network{Southbound: "ssl:127.0.0.1:1", Certificate: "hello"}, "isn't for the key"},
		"another's":                 {ledger.Network{Southbound: "ssl:127.0.0.1:1", Certificate: string(a.PEM())}, "isn't for the key"},
	} {
		if err := i.check(c.network); c.says == "" {
			g.Expect(err).NotTo(HaveOccurred(), name)
		} else {
			g.Expect(err).To(MatchError(ContainSubstring(c.says)), name)
		}
	}
}
