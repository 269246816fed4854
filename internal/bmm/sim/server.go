// Package sim simulates the NVIDIA BMM REST API: stateful, strict, with the delays, races and errors of the real
// service. It knows nothing about Kubernetes. Its own endpoints, under /simulator/, are described in admin.go.
package sim

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// Machine is what a machine gets to see when it is powered on.
type Machine struct {
	// ID is the ID of the machine, not of the instance.
	ID       string
	Hostname string
	Address  netip.Addr
	UserData []byte
	// Metadata has the keys hostname, sitename, machine-id, instance-id and asn.
	Metadata map[string]string
}

// Booter boots machines. PowerOn returns at once; PowerOff returns when nothing of the machine runs any more.
// For one machine the calls alternate.
type Booter interface {
	PowerOn(Machine) error
	PowerOff(machineID string)
}

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 8 << 20

// Server is the simulated service.
type Server struct {
	config Config
	clock  clock
	booter Booter
	log    *slog.Logger

	api        *http.ServeMux
	admin      *http.ServeMux
	operations operations

	// closing ends everything that waits; background counts what must be waited for.
	closing    context.Context
	close      context.CancelFunc
	background sync.WaitGroup

	connections connections

	faults     faults
	chaos      chaos
	signingKey []byte

	mu     sync.Mutex
	tokens []token
	calls  map[string]int
	state  state
}

// swagger is read once: tests make simulators by the hundred.
var swagger = sync.OnceValues(gen.GetSwagger)

// New returns a simulator of the world that config describes. Without a booter, machines change their state only.
func New(config Config, booter Booter, log *slog.Logger) (*Server, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure simulator: %w", err)
	}
	document, err := swagger()
	if err != nil {
		return nil, fmt.Errorf("load OpenAPI document: %w", err)
	}
	s := &Server{
		config: config,
		clock:  clock{start: time.Now(), speed: config.Speed},
		booter: booter,
		log:    log,
		api:    http.NewServeMux(),
		calls:  map[string]int{},

		connections: newConnections(config.Connections),

		signingKey: []byte(rand.Text()),
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.setTokens(config.Tokens)
	s.state = newState(config, s.clock.now())
	for _, object := range config.Objects {
		if _, err := s.Make(object); err != nil {
			s.Close()
			return nil, fmt.Errorf("configure simulator: make %s: %w", object.Kind, err)
		}
	}
	base := "/v2/org/{org}/" + config.APIName
	s.operations = operationsOf(document, base, s.dialect())
	strict := gen.NewStrictHandlerWithOptions(s, []gen.StrictMiddlewareFunc{s.connect, s.injectFaults},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: badRequest, ResponseErrorHandlerFunc: writeError})
	gen.HandlerWithOptions(strict, gen.StdHTTPServerOptions{
		BaseURL: base, BaseRouter: s.api,
		Middlewares:      []gen.MiddlewareFunc{s.operations.validate},
		ErrorHandlerFunc: badRequest,
	})
	s.admin = s.adminHandler()
	log.Info("BMM simulator ready", "org", config.Org, "apiName", config.APIName, "speed", config.Speed, "seed", config.Seed)
	return s, nil
}

// Close ends all waiting calls, powers all machines off and returns when nothing runs any more.
func (s *Server) Close() {
	s.mu.Lock() // so that run either counts itself in before, or doesn't start
	s.close()
	s.mu.Unlock()
	s.stopTimers()
	s.background.Wait()
	s.powerAllOff()
}

// ServeHTTP answers a call of the API or of the simulator's own endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(s.dialect().in(r.Context()))
	if _, own := s.admin.Handler(r); own != "" {
		s.admin.ServeHTTP(w, r)
		return
	}
	_, pattern := s.api.Handler(r)
	operation, known := s.operations[pattern]
	if !known { // before authentication, like the real service
		writeError(w, r, refuse(http.StatusNotFound, "The requested path could not be found"))
		return
	}
	s.count(operation.id)
	roles, err := s.authenticate(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	if org := strings.Split(r.URL.Path, "/")[3]; org != s.config.Org {
		writeError(w, r, refuse(http.StatusForbidden, "Failed to validate membership for org: %s", org))
		return
	}
	if err := authorize(operation.id, roles); err != nil {
		writeError(w, r, err)
		return
	}
	r = r.WithContext(withRoles(r.Context(), roles))
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if r.Method == http.MethodDelete && r.ContentLength == 0 {
		r.Body = io.NopCloser(strings.NewReader("{}")) // bodies of DELETE are optional
		r.Header.Set("Content-Type", "application/json")
	}
	s.api.ServeHTTP(w, r)
}

func (s *Server) count(operationID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[operationID]++
}

// wait lets a simulated duration pass, and fails if the simulator closes meanwhile.
func (s *Server) wait(simulated time.Duration) error {
	return s.waitFor(context.Background(), simulated)
}

// waitFor is wait for a client: it ends early, without an error, when that leaves.
func (s *Server) waitFor(ctx context.Context, simulated time.Duration) error {
	timer := time.NewTimer(s.clock.real(simulated))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return nil
	case <-s.closing.Done():
		return refuse(http.StatusServiceUnavailable, "The service is shutting down")
	}
}
