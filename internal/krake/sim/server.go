// Package sim simulates the REST API of GRyCAP's Infrastructure Manager (IM): stateful and strict, with the delays and the faults of the
// real one, and without a cloud. It knows nothing about Kubernetes. What it has in common with other simulators is in package simulator;
// its own endpoints are described in admin.go.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bedplate/bedplate/internal/simulator"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 8 << 20

// Server is the simulated service.
type Server struct {
	*simulator.Service
	// Kubeconfig makes that of a cluster whose outputs are read, once it is configured; default one of an address where nothing is. It has to
	// be set before the first call.
	Kubeconfig func(Cluster) (string, error)

	config     Config
	api        *http.ServeMux
	admin      *simulator.Admin
	operations []string

	// mu protects all that exists.
	mu       sync.Mutex
	users    map[string]string
	all      simulator.Store[*infrastructure]
	outcomes []Outcome
}

// New returns a simulator.
func New(config Config, log *slog.Logger) (*Server, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("configure simulator: %w", err)
	}
	s := &Server{
		Service: simulator.New(config.Speed, log), Kubeconfig: defaultKubeconfig, config: config, api: http.NewServeMux(),
		users: maps.Clone(config.Users),
	}
	if config.Kubeconfig != "" {
		s.Kubeconfig = func(Cluster) (string, error) { return config.Kubeconfig, nil }
	}
	s.Known = s.check
	s.admin = s.adminHandler()
	s.routes()
	log.Info("IM simulator ready", "version", config.Version, "speed", config.Speed)
	return s, nil
}

func (s *Server) routes() {
	s.api.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		s.Count("getVersion")
		answer := reply{media: textPlain, field: "version", value: s.config.Version}
		s.finish(w, r, answer, s.Inject(r.Context(), "getVersion", func(context.Context) error { return nil }))
	})
	s.operations = append(s.operations, "getVersion", "getEstimate")
	s.serve("createInfrastructure", "POST /infrastructures", s.create)
	s.serve("listInfrastructures", "GET /infrastructures", s.list)
	s.serve("getInfrastructure", "GET /infrastructures/{id}", s.found(machinesOf))
	s.serve("updateInfrastructure", "POST /infrastructures/{id}", s.found(s.update))
	s.serve("deleteInfrastructure", "DELETE /infrastructures/{id}", s.found(s.remove))
	s.serve("reconfigureInfrastructure", "PUT /infrastructures/{id}/reconfigure", s.found(s.reconfigure))
	s.serve("startInfrastructure", "PUT /infrastructures/{id}/start", s.found(s.start))
	s.serve("stopInfrastructure", "PUT /infrastructures/{id}/stop", s.found(s.stop))
	s.serve("deleteVM", "DELETE /infrastructures/{id}/vms/{vm}", s.found(s.removeMachine))
	s.serve("getState", "GET /infrastructures/{id}/state", s.state)
	s.serve("getOutputs", "GET /infrastructures/{id}/outputs", s.outputs)
	s.serve("getTosca", "GET /infrastructures/{id}/tosca", s.found(tosca))
	s.serve("getRADL", "GET /infrastructures/{id}/radl", s.found(radl))
	s.serve("getContMsg", "GET /infrastructures/{id}/contmsg", s.found(contMsg))
	s.serve("getData", "GET /infrastructures/{id}/data", s.found(data))
	s.serve("getOther", "GET /infrastructures/{id}/{property}", func(*call) (reply, error) {
		return reply{}, refuse(http.StatusNotFound, "Incorrect infrastructure property")
	})
}

// ServeHTTP answers a call of the API or of the simulator's own endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, own := s.admin.Handler(r); own != "" {
		s.admin.ServeHTTP(w, r)
		return
	}
	s.api.ServeHTTP(w, r) // a wrong path is 404 in other words than IM's
}

// call is a request that has been read: a fault may do the work when its client has gone.
type call struct {
	*http.Request
	who  login
	body []byte
	now  time.Time
}

// serve an operation: it is counted, its login is checked, and faults and chaos may take its place.
func (s *Server) serve(operation, pattern string, work func(*call) (reply, error)) {
	s.operations = append(s.operations, operation)
	s.api.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		operation := operation
		if r.URL.Query().Has("dry_run") && operation == "createInfrastructure" {
			operation = "getEstimate" // it changes nothing
		}
		s.Count(operation)
		who, err := s.authenticate(r)
		if err != nil {
			s.finish(w, r, reply{}, err)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			s.finish(w, r, reply{}, refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large"))
			return
		}
		var answer reply
		err = s.Inject(r.Context(), operation, func(context.Context) (err error) {
			answer, err = work(&call{Request: r, who: who, body: body, now: s.Now()})
			return err
		})
		s.finish(w, r, answer, err)
	})
}

// check that operations exist.
func (s *Server) check(operations ...string) error {
	for _, o := range operations {
		if !slices.ContainsFunc(s.operations, func(known string) bool { return strings.EqualFold(known, o) }) {
			return errors.New("there is no operation " + o)
		}
	}
	return nil
}

// view runs work under the lock, on a state from which everything that is gone has been dropped.
func (s *Server) view(now time.Time, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Forget(now)
	return work()
}

// find an infrastructure of the caller's. s.mu is held.
func (s *Server) find(c *call) (*infrastructure, error) {
	i, ok := s.all.Find(func(i *infrastructure) bool { return i.id == c.PathValue("id") })
	switch {
	case !ok:
		return nil, refuse(http.StatusNotFound, "Invalid infrastructure ID or access not granted.")
	case i.user != c.who.user:
		return nil, refuse(http.StatusForbidden, "Access to this infrastructure not granted.")
	}
	return i, nil
}

// found is work on an infrastructure. What is being deleted can only be read, and a record not even that.
func (s *Server) found(work func(*call, *infrastructure) (reply, error)) func(*call) (reply, error) {
	return func(c *call) (answer reply, _ error) {
		err := s.view(c.now, func() error {
			i, err := s.find(c)
			if err == nil && !i.deleted.IsZero() && (i.record || c.Method != http.MethodGet) {
				err = refuse(http.StatusNotFound, "Deleted infrastructure.")
			}
			if err == nil {
				answer, err = work(c, i)
			}
			return err
		})
		return answer, err
	}
}
