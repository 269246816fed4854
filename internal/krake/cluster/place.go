package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/im"
)

// Place is where an infrastructure is made: a cloud, a provider that makes it there, and what both are logged in to with.
type Place struct {
	Cloud krakev1.AnyCloud
	// Provider is an InfrastructureProvider or a GlobalInfrastructureProvider. One that doesn't exist has its name only.
	Provider client.Object
	// Login is the Secret of the provider, and CloudLogin that of the cloud.
	Login, CloudLogin types.NamespacedName
	url               string
	// written tells versions apart of a login by a password, each of which is another user, without saying anything about it.
	written string
	// given tells versions apart of all that an infrastructure is made with.
	given int64
}

func (p *Place) note(loginWritten string, login, cloud *corev1.Secret) {
	p.written = loginWritten
	also := ""
	if loginWritten != "" { // the next token of a user is nothing new
		also = written(login)
	}
	hash := fnv.New64a()
	for _, of := range []metav1.Object{p.Cloud, p.Provider} {
		_, _ = fmt.Fprintln(hash, of.GetUID(), of.GetGeneration()) // can't fail
	}
	_, _ = fmt.Fprintln(hash, also, written(cloud))
	p.given = int64(hash.Sum64() >> 2) // so that it fits
}

// Places finds them.
type Places struct {
	client.Reader
	// GlobalNamespace has the Secrets of Global kinds (--global-namespace). If it is empty, these aren't used.
	GlobalNamespace string
}

// NoGlobal says why Global kinds aren't used, and the remedy.
const NoGlobal = "this manager uses no Global kinds (--global-namespace is empty): write one of this namespace"

// Of a Cluster in a namespace that is bound to a cloud. What is missing is an Invalid error that names it.
func (p Places) Of(ctx context.Context, namespace string, bound krakev1.CloudReference) (*Place, error) {
	place := &Place{}
	secrets := p.GlobalNamespace
	if bound.Kind == krakev1.KindCloud {
		cloud := &krakev1.Cloud{}
		place.Cloud, secrets = cloud, namespace
		if err := p.find(ctx, cloud, bound.Kind, client.ObjectKey{Namespace: namespace, Name: bound.Name}); err != nil {
			return nil, err
		}
	} else {
		cloud := &krakev1.GlobalCloud{}
		place.Cloud = cloud
		if err := p.findGlobal(ctx, cloud, bound.Kind, bound.Name); err != nil {
			return nil, err
		}
	}
	spec := place.Cloud.Described()
	place.CloudLogin = types.NamespacedName{Namespace: secrets, Name: spec.SecretRef().Name}
	return place, p.provide(ctx, place, spec.Use().InfrastructureProvider)
}

// provide a place with what a provider says.
func (p Places) provide(ctx context.Context, place *Place, named krakev1.ProviderReference) error {
	meta := metav1.ObjectMeta{Name: named.Name}
	if namespace := place.Cloud.GetNamespace(); named.Namespaced && namespace != "" {
		meta.Namespace = namespace
		provider := &krakev1.InfrastructureProvider{ObjectMeta: meta}
		err := p.find(ctx, provider, "InfrastructureProvider", client.ObjectKeyFromObject(provider))
		place.reach(provider, provider.Spec.IM, namespace)
		return err
	}
	provider := &krakev1.GlobalInfrastructureProvider{ObjectMeta: meta}
	err := p.findGlobal(ctx, provider, "GlobalInfrastructureProvider", named.Name)
	place.reach(provider, provider.Spec.IM, p.GlobalNamespace)
	return err
}

func (p *Place) reach(provider client.Object, im krakev1.IMProvider, secrets string) {
	p.Provider, p.url = provider, im.URL
	p.Login = types.NamespacedName{Namespace: secrets, Name: im.SecretRef.Name}
}

func (p Places) findGlobal(ctx context.Context, object client.Object, kind, name string) error {
	if p.GlobalNamespace == "" {
		return fault.Invalidf("%s %s: %s", kind, name, NoGlobal)
	}
	return p.find(ctx, object, kind, client.ObjectKey{Name: name})
}

func (p Places) find(ctx context.Context, object client.Object, kind string, key client.ObjectKey) error {
	err := p.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return fault.Invalidf("%s %s doesn't exist: create it", kind, strings.TrimPrefix(key.String(), "/"))
	}
	if err != nil {
		return fmt.Errorf("get %s %s: %w", kind, key, err)
	}
	return nil
}

// credential is what IM logs in to a cloud with.
func credential(cloud *krakev1.CloudSpec, secret *corev1.Secret) (im.Credential, error) {
	if cloud.OpenStack == nil {
		return im.Cloud(secret)
	}
	return openStack(cloud).Credential(secret)
}

// openStack is the cloud of that type, if it is one.
func openStack(cloud *krakev1.CloudSpec) im.OpenStack {
	if cloud.OpenStack == nil {
		return im.OpenStack{}
	}
	password := cloud.OpenStack.Auth.Password
	return im.OpenStack{
		URL: cloud.OpenStack.URL, Version: password.Version, Project: password.Project.Name, DomainID: password.Project.DomainID,
	}
}
