package proxy

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/validation"
)

// everyone is what operators write for all tenants.
const everyone = "-"

// reserved namespaces begin like this: they are Kubernetes' own.
const reserved = "kube-"

// Tenancy is the authorization: a certificate's organization is a tenant, or one of the operators. A tenant's objects are in
// the namespace of its name, with a prefix.
type Tenancy struct {
	NamespacePrefix string
	Operators       []string
	// Plaintext is without certificates: then everybody is an operator.
	Plaintext bool
}

// caller is the client of a call.
type caller struct {
	organization string
	operator     bool
	expires      time.Time // no call is answered after that; zero is never
}

// caller whose certificate it is.
func (t *Tenancy) caller(c *x509.Certificate) (caller, error) {
	if len(c.Subject.Organization) != 1 {
		return caller{}, fmt.Errorf("certificate has %d organizations, not the one that is a tenant or an operator",
			len(c.Subject.Organization))
	}
	who := caller{organization: c.Subject.Organization[0], expires: c.NotAfter}
	if who.operator = slices.Contains(t.Operators, who.organization); who.operator {
		return who, nil
	}
	_, err := t.namespace(who.organization)
	return who, err
}

// Authorize reports whether a client with a certificate may connect.
func (t *Tenancy) Authorize(c *x509.Certificate) error {
	_, err := t.caller(c)
	return err
}

// connected is the client of the connection of a call.
func (t *Tenancy) connected(ctx context.Context) (*session, caller, error) {
	var s *session
	if from, found := peer.FromContext(ctx); found {
		s, _ = from.AuthInfo.(*session)
	}
	if s == nil {
		return nil, caller{}, status.Error(codes.Unauthenticated, "the client of this connection isn't authenticated")
	}
	who, err := t.identify(s.AuthInfo)
	return s, who, err
}

func (t *Tenancy) identify(info credentials.AuthInfo) (caller, error) {
	secured, found := info.(credentials.TLSInfo)
	switch {
	case t.Plaintext:
		return caller{operator: true}, nil
	case !found || len(secured.State.PeerCertificates) == 0:
		return caller{}, status.Error(codes.Unauthenticated, "a client certificate is required")
	}
	who, err := t.caller(secured.State.PeerCertificates[0])
	if err != nil {
		return who, status.Error(codes.Unauthenticated, err.Error())
	}
	if time.Now().After(who.expires) {
		return who, status.Error(codes.Unauthenticated, "the certificate has expired since you connected: connect again with another one")
	}
	return who, nil
}

// namespace of a tenant.
func (t *Tenancy) namespace(tenant string) (string, error) {
	namespace := t.NamespacePrefix + tenant
	if problems := validation.IsDNS1123Label(tenant); len(problems) > 0 {
		return "", fmt.Errorf("tenant %q: %s", tenant, problems[0])
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return "", fmt.Errorf("tenant %q, whose namespace is %s: %s", tenant, namespace, problems[0])
	}
	if strings.HasPrefix(namespace, reserved) {
		return "", fmt.Errorf("tenant %q: such names are Kubernetes' own", tenant)
	}
	return namespace, nil
}

// tenant whose namespace it is, or "".
func (t *Tenancy) tenant(namespace string) string {
	tenant := strings.TrimPrefix(namespace, t.NamespacePrefix)
	if its, err := t.namespace(tenant); err != nil || its != namespace {
		return ""
	}
	return tenant
}

// scope is whose objects a call is about.
type scope struct {
	caller
	// tenant is "" or "-" only for operators.
	tenant string
}

// scope of a request that names a tenant. It reveals nothing of other tenants.
func (t *Tenancy) scope(who caller, tenant string) (scope, error) {
	switch {
	case !who.operator && (tenant == "" || tenant == who.organization):
		return scope{who, who.organization}, nil
	case !who.operator:
		return scope{}, status.Errorf(codes.PermissionDenied, "you are tenant %s, and can't act for others", who.organization)
	case tenant == "" || tenant == everyone:
		return scope{who, tenant}, nil
	}
	if _, err := t.namespace(tenant); err != nil {
		return scope{}, invalid("tenant", err.Error())
	}
	return scope{who, tenant}, nil
}

type scopeKey struct{}

// scopeOf a call that has been admitted.
func scopeOf(ctx context.Context) scope { return ctx.Value(scopeKey{}).(scope) }
