package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
)

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=bgpconfigurations,verbs=get;list;watch
// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=bgpconfigurations/status,verbs=patch
// +kubebuilder:rbac:groups="",namespace=bedplate-hydrazine-speaker,resources=secrets,resourceNames=hydrazine-bgp,verbs=get

const (
	// passwordKey of a Secret with a password.
	passwordKey = "password"
	// longestPassword is Linux's limit for TCP's MD5 signatures, in bytes.
	longestPassword = 80
)

// configurations makes the sessions of the BGPConfiguration, and reports them in its status.
type configurations struct {
	client.Client
	live      client.Reader
	clock     clock.PassiveClock
	name      string // of this speaker
	namespace string
	routerID  netip.Addr
	addresses []netip.Addr
	bgp       BGP
	table     *table
	poll      time.Duration
	resumed   <-chan struct{}
}

// Reconcile makes the sessions as they are wanted. Secrets and Leases are polled: no event says when they change.
func (r *configurations) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	select {
	case <-r.resumed:
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	configuration := &networkfabricv1.BGPConfiguration{}
	if err := r.Get(ctx, request.NamespacedName, configuration); err != nil {
		if apierrors.IsNotFound(err) {
			err = r.bgp.Configure(bgp.Config{})
			count(r.bgp.Sessions())
		}
		return reconcile.Result{}, err
	}
	config, err := r.config(ctx, configuration.Spec)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.bgp.Configure(config); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.report(ctx, configuration); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.bury(ctx, configuration); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.poll}, nil
}

// config is a BGPConfiguration as this speaker has it.
func (r *configurations) config(ctx context.Context, spec networkfabricv1.BGPConfigurationSpec) (bgp.Config, error) {
	config := bgp.Config{ASN: uint32(spec.ASN), RouterID: r.routerID} //nolint:gosec // the API server has validated it
	if spec.RestartTime != nil {
		config.RestartTime = spec.RestartTime.Duration
	}
	for _, n := range spec.Neighbors {
		address, err := netip.ParseAddr(string(n.Address))
		if err != nil {
			return config, fmt.Errorf("spec.neighbors: %w", err)
		}
		neighbor := bgp.Neighbor{
			Address: address, ASN: uint32(n.ASN), Port: uint16(n.Port), Hops: uint8(n.Hops), //nolint:gosec // as above
			TTLSecurity: n.TTLSecurity, MaxPrefixes: uint32(n.MaxPrefixes), //nolint:gosec // as above
		}
		if n.HoldTime != nil {
			neighbor.HoldTime = n.HoldTime.Duration
		}
		neighbor.Password, neighbor.Problem, err = r.password(ctx, n.PasswordSecret)
		if err != nil {
			return config, err
		}
		config.Neighbors = append(config.Neighbors, neighbor)
	}
	return config, nil
}

// password of a Secret, or what is wrong with it. Neither logs nor errors say what it is.
func (r *configurations) password(ctx context.Context, name string) (password, problem string, err error) {
	if name == "" {
		return "", "", nil
	}
	secret := &corev1.Secret{}
	err = r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Sprintf("there is no Secret %s in namespace %s: create it, with the key %s", name, r.namespace, passwordKey), nil
	case apierrors.IsForbidden(err):
		return "", fmt.Sprintf("this speaker may not read Secret %s in namespace %s: name it in the speakers' Role", name, r.namespace), nil
	case err != nil:
		return "", "", fmt.Errorf("read Secret %s: %w", name, err)
	}
	value := secret.Data[passwordKey]
	if len(value) == 0 || len(value) > longestPassword {
		return "", fmt.Sprintf("Secret %s: the key %s must have 1 to %d bytes", name, passwordKey, longestPassword), nil
	}
	return string(value), "", nil
}
