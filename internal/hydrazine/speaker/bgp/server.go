package bgp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/server"
)

// Server speaks BGP. It keeps all routes itself, and gives them to GoBGP as soon as there is a configuration.
type Server struct {
	log     logr.Logger
	changed func()

	mu        sync.Mutex
	known     bool // there has been a configuration, be it one without neighbors
	identity  identity
	gobgp     *server.BgpServer // nil without neighbors
	unwatch   context.CancelFunc
	routes    map[netip.Prefix]netip.Addr
	neighbors map[netip.Addr]*neighbor
	forgotten time.Time // when removed neighbors have certainly forgotten all routes
}

// New returns a server without neighbors. Changed is called when a session has changed, and must not block.
func New(log logr.Logger, changed func()) *Server {
	return &Server{
		log: log, changed: changed,
		routes: map[netip.Prefix]netip.Addr{}, neighbors: map[netip.Addr]*neighbor{},
	}
}

// Announce a prefix with the next hop to all neighbors, instead of the next hop announced before.
func (s *Server) Announce(prefix netip.Prefix, nextHop netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gobgp != nil {
		if err := announce(s.gobgp, prefix, nextHop); err != nil {
			return err
		}
	}
	s.routes[prefix] = nextHop
	return nil
}

// Withdraw a prefix. One that wasn't announced is no error.
func (s *Server) Withdraw(prefix netip.Prefix) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	nextHop, announced := s.routes[prefix]
	if !announced {
		return nil
	}
	if s.gobgp != nil {
		path, err := pathOf(prefix, nextHop)
		if err == nil {
			err = s.gobgp.DeletePath(apiutil.DeletePathRequest{Paths: []*apiutil.Path{path}})
		}
		if err != nil {
			return fmt.Errorf("withdraw %s: %w", prefix, err)
		}
	}
	delete(s.routes, prefix)
	return nil
}

// Configure makes sessions with the neighbors of a configuration, and with no others. Sessions that stay as they are aren't
// touched. If a change concerns all of them they are closed without a NOTIFICATION and opened again, which a neighbor takes
// for a graceful restart.
func (s *Server) Configure(config Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gobgp != nil && (len(config.Neighbors) == 0 || config.identity() != s.identity) {
		if err := s.stop(len(config.Neighbors) > 0); err != nil {
			return err
		}
	}
	if s.gobgp == nil && len(config.Neighbors) > 0 {
		if err := s.start(config.identity()); err != nil {
			return err
		}
	}
	s.known = true
	return s.setNeighbors(config.Neighbors)
}

// Close ends all sessions as a crash would: neighbors keep the routes for the restart time.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gobgp == nil {
		return nil
	}
	return s.stop(true)
}

func (s *Server) start(as identity) error {
	gobgp := server.NewBgpServer(server.LoggerOption(newLogger(s.log, s.heard), nil))
	go gobgp.Serve()
	ctx := context.Background()
	err := gobgp.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: as.asn, RouterId: as.routerID.String(), ListenPort: -1,
	}})
	if err == nil {
		err = keepToOurselves(ctx, gobgp)
	}
	for prefix, nextHop := range s.routes {
		err = errors.Join(err, announce(gobgp, prefix, nextHop))
	}
	if err == nil {
		ctx, s.unwatch = context.WithCancel(ctx)
		err = gobgp.WatchEvent(ctx, server.WatchEventMessageCallbacks{OnPeerUpdate: s.peerChanged}, server.WatchPeer())
	}
	if err != nil {
		gobgp.Stop()
		return fmt.Errorf("start BGP: %w", err)
	}
	s.gobgp, s.identity = gobgp, as
	return nil
}

// stop closes all sessions, with or without a NOTIFICATION.
func (s *Server) stop(graceful bool) error {
	s.unwatch()
	if err := s.gobgp.StopBgp(context.Background(), &api.StopBgpRequest{AllowGracefulRestart: graceful}); err != nil {
		return fmt.Errorf("stop BGP: %w", err)
	}
	s.gobgp = nil
	now := time.Now()
	for _, n := range s.neighbors {
		n.closed(now, s.identity.restartTime, !graceful)
	}
	return nil
}

// keepToOurselves discards all routes that aren't ours.
func keepToOurselves(ctx context.Context, gobgp *server.BgpServer) error {
	ours := &api.Policy{Name: "ours", Statements: []*api.Statement{{
		Name:       "ours",
		Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_LOCAL},
		Actions:    &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT},
	}}}
	if err := gobgp.AddPolicy(ctx, &api.AddPolicyRequest{Policy: ours}); err != nil {
		return err
	}
	return gobgp.SetPolicyAssignment(ctx, &api.SetPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
		Name: "global", Direction: api.PolicyDirection_POLICY_DIRECTION_IMPORT,
		Policies: []*api.Policy{ours}, DefaultAction: api.RouteAction_ROUTE_ACTION_REJECT,
	}})
}
