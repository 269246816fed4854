// Package mtls makes gRPC speak TLS 1.3 with certificates on both sides. They come from files, which may be replaced at any
// time: connections that there are continue, new ones use what is in the files then.
package mtls

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Names of the flags.
const (
	flagCertificate = "tls-cert-file"
	flagKey         = "tls-private-key-file"
	flagAuthorities = "tls-ca-file"
	flagDenied      = "tls-deny-file"
	flagInsecure    = "insecure"
)

// Files are where this program's certificate is, and whom it trusts. All are PEM.
type Files struct {
	// Certificate is this program's own, followed by intermediate ones where there are any.
	Certificate string
	// Key is the certificate's private key.
	Key string
	// Authorities are the CAs that the other side's certificate may be signed by. Two of them at a time let a CA be replaced.
	Authorities string
	// Denied has the serial numbers of certificates that aren't accepted from others any more, one in each line; "" is none.
	Denied string
	// Insecure means plaintext without authentication, instead.
	Insecure bool
}

// AddFlags adds the files to a command line.
func (f *Files) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.Certificate, flagCertificate, "", "PEM file with the certificate of this program. This file and the "+
		"next two may be replaced at any time.")
	flags.StringVar(&f.Key, flagKey, "", "PEM file with the private key of the certificate.")
	flags.StringVar(&f.Authorities, flagAuthorities, "", "PEM file with the CA certificates that the certificates of others are verified with.")
	flags.StringVar(&f.Denied, flagDenied, "", "File with the serial numbers of certificates to refuse even if they are valid, "+
		"one per line, in hex. It may be changed at any time; existing connections with them are closed within a second.")
	flags.BoolVar(&f.Insecure, flagInsecure, false, "Use plaintext without authentication. For tests only.")
}

// Validate says what is missing.
func (f *Files) Validate() error {
	var missing, given []string
	for _, flag := range []struct{ name, value string }{
		{flagCertificate, f.Certificate}, {flagKey, f.Key}, {flagAuthorities, f.Authorities},
	} {
		if flag.value == "" {
			missing = append(missing, "--"+flag.name)
		} else {
			given = append(given, "--"+flag.name)
		}
	}
	if f.Denied != "" {
		given = append(given, "--"+flagDenied)
	}
	switch {
	case f.Insecure && len(given) > 0:
		return fmt.Errorf("--%s contradicts %s: choose one", flagInsecure, strings.Join(given, ", "))
	case !f.Insecure && len(missing) > 0:
		return fmt.Errorf("TLS needs %s too, or choose --%s for a trial in plaintext", strings.Join(missing, ", "), flagInsecure)
	}
	return nil
}

// Server returns the credentials of a gRPC server, which also check its clients. Of those with valid certificates, authorize
// says which may connect. It isn't called with Insecure. Refused clients are in the log of ctx.
func (f *Files) Server(ctx context.Context, authorize func(*x509.Certificate) error) (credentials.TransportCredentials, error) {
	return f.credentials(ctx, x509.ExtKeyUsageServerAuth, authorize)
}

// Client returns what a gRPC client shows servers, and checks theirs by: the certificate has to be valid for the host that
// is called, and authorize, which may be nil, has to agree. Errors have a text that stays the same from one attempt to the
// next.
func (f *Files) Client(ctx context.Context, authorize func(*x509.Certificate) error) (credentials.TransportCredentials, error) {
	return f.credentials(ctx, x509.ExtKeyUsageClientAuth, authorize)
}

func (f *Files) credentials(
	ctx context.Context, usage x509.ExtKeyUsage, authorize func(*x509.Certificate) error,
) (credentials.TransportCredentials, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if f.Insecure {
		return insecure.NewCredentials(), nil
	}
	source, err := newSource(ctx, *f, usage)
	if err != nil {
		return nil, err
	}
	denied, err := newDenied(ctx, f.Denied, source.log)
	if err != nil {
		return nil, err
	}
	return &transport{source: source, denied: denied, authorize: authorize}, nil
}

// Named authorizes certificates with a name as a DNS name or as the subject's common name.
func Named(name string) func(*x509.Certificate) error {
	return func(c *x509.Certificate) error {
		if c.Subject.CommonName == name || slices.Contains(c.DNSNames, name) {
			return nil
		}
		return errors.New("certificate is for " + subject(c) + ", not for " + name)
	}
}

// subject is whom a certificate is for, in words.
func subject(c *x509.Certificate) string {
	if names := append([]string{c.Subject.CommonName}, c.DNSNames...); strings.Join(names, "") != "" {
		return strings.Join(slices.Compact(slices.DeleteFunc(names, func(n string) bool { return n == "" })), ", ")
	}
	return fmt.Sprintf("%q", c.Subject.String())
}
