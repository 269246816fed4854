// Package orphans says what may be an orphan at an infrastructure manager, and which Clusters have something there.
package orphans

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/orphans"
)

// callTimeout bounds a call of an infrastructure manager.
const callTimeout = 30 * time.Second

// System is Krake.
var System = orphans.System{
	Help: `the infrastructures of Clusters, recognised by the mark in their templates.
The Secret is that of an InfrastructureProvider or a GlobalInfrastructureProvider. A site is a cloud: NAMESPACE/NAME of a
Cloud, or the name of a GlobalCloud. Without the ledger of its Cluster an infrastructure is only deleted if the cloud is named.`,
	Owners: []*orphans.OwnerKind{{
		Name: kindCluster, List: clusters, MayHave: func(orphans.Stage) bool { return true },
		Logins: 1, // the others are those of clouds
	}},
	Connect: connect,
}

const kindCluster = "Cluster"

func clusters(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
	list := &krakev1.ClusterList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *krakev1.Cluster) (orphans.Holder, bool) {
		return orphans.Holder{Owner: o, Spec: o.Spec, Secret: all.Login(all.Of(kindCluster, o))}, true
	}), err
}

func connect(a orphans.Access) func(*corev1.Secret) (orphans.Account, error) {
	change := func(c *im.Config) { c.Timeout, c.Egress = callTimeout, a.Egress }
	clients := cluster.NewClients(a, nil, clock.RealClock{}, change)
	return func(secret *corev1.Secret) (orphans.Account, error) {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		url, err := urlOf(ctx, a, secret)
		if err != nil {
			return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		api, err := im.Connect(url, nil, change)(secret)
		if err != nil {
			return nil, err
		}
		return account{Client: api, access: a, clients: clients}, nil
	}
}

// urlOf the only infrastructure manager that a Secret is a login of.
func urlOf(ctx context.Context, a orphans.Access, secret *corev1.Secret) (string, error) {
	var own krakev1.InfrastructureProviderList
	if err := a.List(ctx, &own, client.InNamespace(secret.Namespace)); err != nil {
		return "", fmt.Errorf("list the InfrastructureProviders: %w", err)
	}
	var urls []string
	for _, p := range own.Items {
		if p.Spec.IM.SecretRef.Name == secret.Name {
			urls = append(urls, p.Spec.IM.URL)
		}
	}
	if secret.Namespace == a.GlobalNamespace {
		var global krakev1.GlobalInfrastructureProviderList
		if err := a.List(ctx, &global); err != nil {
			return "", fmt.Errorf("list the GlobalInfrastructureProviders: %w", err)
		}
		for _, p := range global.Items {
			if p.Spec.IM.SecretRef.Name == secret.Name {
				urls = append(urls, p.Spec.IM.URL)
			}
		}
	}
	slices.Sort(urls)
	if urls = slices.Compact(urls); len(urls) != 1 {
		return "", fault.Invalidf("it is the login of %d infrastructure managers: let InfrastructureProviders of exactly one URL name it", len(urls))
	}
	return urls[0], nil
}

// account is what a login sees.
type account struct {
	*im.Client
	access  orphans.Access
	clients *cluster.Clients
}

// String is another one for another password: to IM that is another user. It is never shown.
func (a account) String() string { return fmt.Sprintf("%x", a.Account()) }

// ID is that of ledgers.
func (a account) ID() string { return cluster.Account(a.Client) }

// SiteID of a cloud that exists.
func (a account) SiteID(ctx context.Context, site string) (string, error) {
	namespace, cloud := cloudOf(site)
	_, err := a.places().Of(ctx, namespace, cloud)
	return site, err
}

func (a account) places() cluster.Places {
	return cluster.Places{Reader: a.access, GlobalNamespace: a.access.GlobalNamespace}
}

// siteOf a cloud that a Cluster in a namespace is bound to.
func siteOf(namespace string, cloud krakev1.CloudReference) string {
	if cloud.Kind == krakev1.KindGlobalCloud {
		return cloud.Name
	}
	return namespace + "/" + cloud.Name
}

func cloudOf(site string) (namespace string, cloud krakev1.CloudReference) {
	namespace, name, namespaced := strings.Cut(site, "/")
	if namespaced {
		return namespace, krakev1.CloudReference{Kind: krakev1.KindCloud, Name: name}
	}
	return "", krakev1.CloudReference{Kind: krakev1.KindGlobalCloud, Name: site}
}
