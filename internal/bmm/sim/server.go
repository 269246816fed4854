// Package sim simulates the NVIDIA BMM REST API: stateful, strict, with the delays, races and errors of the real
// service. It knows nothing about Kubernetes. Its own endpoints, under /simulator/, are described in admin.go.
package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
	"github.com/bedplate/bedplate/internal/simulator"
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
	*simulator.Service

	config Config
	booter Booter

	api        *http.ServeMux
	admin      *simulator.Admin
	operations operations

	connections simulator.Pool
	locks       simulator.Locks[lock]
	tokens      simulator.Tokens[[]Role]

	mu    sync.Mutex
	state state
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
		Service: simulator.New(config.Speed, log),
		config:  config, booter: booter, api: http.NewServeMux(), connections: simulator.NewPool(config.Connections),
	}
	s.SetTokens(config.Tokens)
	s.state = newState(config, s.Now())
	for _, object := range config.Objects {
		if _, err := s.Make(object); err != nil {
			s.Close()
			return nil, fmt.Errorf("configure simulator: make %s: %w", object.Kind, err)
		}
	}
	base := "/v2/org/{org}/" + config.APIName
	s.operations = operationsOf(document, base, s.dialect())
	s.Known = s.operations.check
	strict := gen.NewStrictHandlerWithOptions(s, []gen.StrictMiddlewareFunc{s.connect, s.inject},
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
	s.Service.Close()
	s.stopTimers()
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
	s.Count(operation.id)
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

// inject is around every operation: a fault or chaos takes its place.
func (s *Server) inject(work gen.StrictHandlerFunc, operation string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (answer any, _ error) {
		err := s.Inject(ctx, operation, func(ctx context.Context) (err error) {
			answer, err = work(ctx, w, r, request)
			return err
		})
		return answer, err
	}
}
