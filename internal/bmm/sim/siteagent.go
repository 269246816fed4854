package sim

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// SiteState is whether a site can be worked with.
type SiteState string

const (
	// SiteOnline is how sites are at first.
	SiteOnline SiteState = "Online"
	// SiteAgentDown is a site that isn't known to be down: writes there block for Times.SiteTimeout, then fail.
	SiteAgentDown SiteState = "AgentDown"
	// SiteOffline is a site that is known to be down: its status is Error, and nothing new is begun there.
	SiteOffline SiteState = "Offline"
)

// siteState is that of a site. Server.mu is held.
func (s *Server) siteState(siteID string) SiteState {
	if state, known := s.state.sites[siteID]; known {
		return state
	}
	return SiteOnline
}

// SetSite changes the state of a site.
func (s *Server) SetSite(siteID string, state SiteState) error {
	if _, err := s.site(siteID); err != nil {
		return err
	}
	switch state {
	case SiteOnline, SiteAgentDown, SiteOffline:
	default:
		return fmt.Errorf("unknown state of a site %q", state)
	}
	s.view(func(time.Time) { s.state.sites[siteID] = state })
	return nil
}

// workflow lets the site do its part of a create. It ends early when the client leaves, unless the service commits then.
func (s *Server) workflow(ctx context.Context, siteID string) error {
	if err := s.reach(siteID); err != nil {
		return err
	}
	if s.config.Abandoned == AbandonedCommitted {
		ctx = context.WithoutCancel(ctx)
	}
	return s.WaitFor(ctx, s.config.Times.Create.Duration)
}

// reach fails, after a long time, if the site can't be reached. What was begun is rolled back.
func (s *Server) reach(siteID string) error {
	var state SiteState
	s.view(func(time.Time) { state = s.siteState(siteID) })
	if state == SiteOnline {
		return nil
	}
	if err := s.Wait(s.config.Times.SiteTimeout.Duration); err != nil {
		return err
	}
	return refuse(http.StatusInternalServerError,
		"Failed to execute sync workflow on Site: timeout occurred executing workflow on Site")
}

// registered is the site of a request for something new. Server.mu is held.
func (s *Server) registered(siteID string) (Site, error) {
	site, err := s.site(siteID)
	if err != nil {
		return site, bad("Could not find Site with ID specified in request data")
	}
	if s.siteState(siteID) == SiteOffline {
		return site, bad("Site specified in request data is not in Registered state, cannot perform operation")
	}
	return site, nil
}
