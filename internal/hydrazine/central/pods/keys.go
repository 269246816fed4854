package pods

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
)

// The certificates of a central are of two authorities, so that those of DPUs are only accepted at the port for DPUs. Each
// has two entries in the Secret: with .crt, and with .key.
const (
	forDPUs         = "dpus"
	administration  = "administration"
	authoritySuffix = "-ca"
	ownName         = "manager" // this program's certificate for the administration's ports
)

// ownLife is that of this program's own certificate. Half of it is always left.
const ownLife = 365 * 24 * time.Hour

// everyServer is the address in all servers' certificates. That of a Pod isn't known before it runs; a server is known by its
// authority, which is its group's own.
var everyServer = netip.IPv6Loopback()

// keys of a central, as this program needs them.
type keys struct {
	version   string // of the Secret
	authority *central.Authority
	tls       *tls.Config
}

// keys returns those of a group, and makes what is missing or expires too soon. The servers reload what is replaced.
func (r *Runtime) keys(ctx context.Context, group string) (*keys, error) {
	secret := &corev1.Secret{}
	there, err := r.find(ctx, group, secret)
	if err != nil {
		return nil, err
	}
	if !there {
		secret.ObjectMeta = r.meta(group)
	}
	data, err := renewed(ctx, secret.Data, group)
	if err != nil {
		return nil, err
	}
	if !equality.Semantic.DeepEqual(data, secret.Data) {
		secret.Data = data
		if there { // and is unchanged since it was read
			err = r.client.Update(ctx, secret)
		} else {
			err = r.client.Create(ctx, secret)
		}
		if apierrors.IsConflict(err) { // the cache is stale
			err = central.ErrOnItsWay
		}
		if err != nil {
			return nil, fmt.Errorf("write the keys of the central: %w", err)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if k := r.known[group]; k != nil && k.version == secret.ResourceVersion {
		return k, nil // the same configuration, so that no client has to reconnect
	}
	k, err := parse(secret)
	if err == nil {
		r.known[group] = k
	}
	return k, err
}

// renewed are the keys, with new ones for those that are missing, damaged, or expire too soon. Others stay.
func renewed(ctx context.Context, found map[string][]byte, group string) (map[string][]byte, error) {
	data := maps.Clone(found)
	if data == nil {
		data = map[string][]byte{}
	}
	for _, side := range []string{forDPUs, administration} {
		a, err := renewedAuthority(ctx, data, side, group)
		if err != nil {
			return nil, err
		}
		if !a.Serves(data[side+".crt"], data[side+".key"], everyServer) {
			if data[side+".crt"], data[side+".key"], err = a.Serve(everyServer); err != nil {
				return nil, err
			}
		}
		if side == administration {
			if err := renewOwn(data, a); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

func renewedAuthority(ctx context.Context, data map[string][]byte, side, group string) (*central.Authority, error) {
	certificate, key := side+authoritySuffix+".crt", side+authoritySuffix+".key"
	if a := central.UsableAuthority(ctx, data[certificate], data[key]); a != nil {
		return a, nil
	}
	a, err := central.NewAuthority(group + " " + side)
	if err != nil {
		return nil, err
	}
	data[certificate] = a.PEM()
	data[key], err = a.KeyPEM()
	return a, err
}

// renewOwn renews this program's own certificate.
func renewOwn(data map[string][]byte, a *central.Authority) error {
	if own, err := tls.X509KeyPair(data[ownName+".crt"], data[ownName+".key"]); err == nil {
		if request, err := requestFor(own.PrivateKey); err == nil && a.Good(data[ownName+".crt"], request, ownName) {
			return nil
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the manager's key: %w", err)
	}
	request, err := requestFor(key)
	if err != nil {
		return err
	}
	if data[ownName+".crt"], err = a.Sign(request, ownName, ownLife); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the manager's key: %w", err)
	}
	data[ownName+".key"] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return nil
}

func requestFor(key any) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("request the manager's certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

func parse(secret *corev1.Secret) (*keys, error) {
	own, err := tls.X509KeyPair(secret.Data[ownName+".crt"], secret.Data[ownName+".key"])
	if err != nil {
		return nil, fmt.Errorf("the manager's certificate: %w", err)
	}
	group, err := central.ParseAuthority(secret.Data[forDPUs+authoritySuffix+".crt"], secret.Data[forDPUs+authoritySuffix+".key"])
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data[administration+authoritySuffix+".crt"])
	return &keys{version: secret.ResourceVersion, authority: group, tls: &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: everyServer.String(), RootCAs: roots, Certificates: []tls.Certificate{own},
	}}, nil
}
