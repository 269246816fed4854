package cluster

import (
	"context"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

func (n *networks) newSiteKind() *graph.Kind[bmm.Site] {
	return &graph.Kind[bmm.Site]{
		Name:  "site",
		ID:    func(s *bmm.Site) string { return s.ID },
		Get:   n.api.Site,
		Phase: sitePhase,
	}
}

func sitePhase(s *bmm.Site) graph.Phase {
	switch {
	case s.Status != bmm.SiteRegistered:
		return graph.Waiting("site %s is %s: its operator has to register it", s.Name, s.Status).Because("SiteNotRegistered")
	case !s.IsOnline:
		return graph.Waiting("site %s is offline: nothing can be made there until it is back", s.Name).Because("SiteOffline")
	}
	return graph.Ready()
}

func (n *networks) wantSite(object *infrav1.NvidiaBMMCluster) *graph.Handle[bmm.Site] {
	ref := object.Spec.SiteRef
	claim := graph.Use(ref.ID)
	if ref.ID == "" {
		claim = graph.UseFound(func(ctx context.Context) (string, error) {
			site, err := n.api.SiteByName(ctx, ref.Name)
			if err != nil {
				return "", err
			}
			return site.ID, nil
		})
	}
	return graph.Add(n.graph, n.siteKind, graph.Want[bmm.Site]{
		Key: siteKey, Condition: infrav1.ReferencesResolvedCondition, Claim: claim,
	})
}
