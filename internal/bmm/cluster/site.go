package cluster

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// +kubebuilder:rbac:groups=forge.nvidia.io,resources=sites,verbs=get

// siteObject is the kind of NVIDIA's site manager.
var siteObject = schema.GroupVersionKind{Group: "forge.nvidia.io", Version: "v1", Kind: "Site"}

func siteKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.Site] {
	return &graph.Kind[bmm.Site]{
		Name: kindSite, Service: service,
		ID:    func(s *bmm.Site) string { return s.ID },
		Get:   func(ctx context.Context, id string, _ graph.Scope) (*bmm.Site, error) { return api.Site(ctx, id) },
		Phase: sitePhase,
	}
}

func sitePhase(s *bmm.Site) phases.Phase {
	switch {
	case s.Status != bmm.SiteRegistered:
		return phases.Waiting("site %s is %s: its operator has to register it", s.Name, s.Status).Because("SiteNotRegistered")
	case !s.IsOnline:
		return phases.Waiting("site %s is offline: nothing can be made there until it is back", s.Name).Because("SiteOffline")
	}
	return phases.Ready()
}

// wantSite looks the site up again when the tenant changes, whose credentials have to be those of the Secret. An older ledger doesn't say for
// which tenant it was found, and keeps it.
func (n *networks) wantSite() *graph.Handle[bmm.Site] {
	by := cmp.Or(n.object.Spec.SiteRef.ID, n.object.Spec.SiteRef.Name)
	if n.graph.Title(siteKey) != by {
		by += " of tenant " + n.object.Spec.TenantID
	}
	return graph.Add(n.graph, n.kinds.Site, graph.Want[bmm.Site]{
		Key: siteKey, Condition: infrav1.ReferencesResolvedCondition, Claim: graph.UseFound(by, n.findSite),
	})
}

// findSite returns the ID of the site that the spec names: by its ID, by the name of a Site object, or by its own name. In
// an organisation that hasn't been used yet none is found before TenantIs has asked the BMM API who we are.
func (n *networks) findSite(ctx context.Context) (string, error) {
	ref := n.object.Spec.SiteRef
	if err := n.api.TenantIs(ctx, n.object.Spec.TenantID); err != nil {
		return "", err
	}
	if ref.ID != "" {
		return ref.ID, nil
	}
	id, err := n.siteOfObject(ctx, ref.Name)
	if err != nil || id != "" {
		return id, err
	}
	site, err := n.api.SiteByName(ctx, ref.Name)
	if err != nil {
		return "", fault.Correct("spec.siteRef", fmt.Errorf("site %q: %w", ref.Name, err))
	}
	return site.ID, nil
}

// siteOfObject is empty if there is no Site object of this name, or the cluster doesn't know the kind.
func (n *networks) siteOfObject(ctx context.Context, name string) (string, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(siteObject)
	err := n.live.Get(ctx, client.ObjectKey{Namespace: n.object.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Site %s: %w", name, err)
	}
	id, _, _ := unstructured.NestedString(object.Object, "spec", "uuid")
	if id == "" {
		return "", &fault.Error{Class: fault.Invalid, Op: "resolve spec.siteRef", Err: fmt.Errorf(
			"object Site %s has no spec.uuid: name the site by its ID in spec.siteRef.id", name)}
	}
	return id, nil
}
