package sim

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// State is everything that exists, deleted objects included until they are gone.
type State struct {
	VPCs      []api.VPC      `json:"vpcs"`
	Subnets   []api.Subnet   `json:"subnets"`
	Instances []api.Instance `json:"instances"`
}

// adminHandler serves what is not part of the API, to loopback clients only:
//
//	GET    /simulator/state   everything that exists (State)
//	GET    /simulator/calls   number of calls by operation ID, refused ones included
//	POST   /simulator/faults  let calls go wrong (Fault)
//	DELETE /simulator/faults  clear the faults and end the calls that hang
//	POST   /simulator/tokens  replace the valid tokens (a JSON array of strings)
func (s *Server) adminHandler() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern string, handler http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !fromLoopback(r) {
				writeError(w, r, refuse(http.StatusForbidden, "only for loopback clients"))
				return
			}
			handler(w, r)
		})
	}
	handle("GET /simulator/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.State()) })
	handle("GET /simulator/calls", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Calls()) })
	handle("POST /simulator/faults", func(w http.ResponseWriter, r *http.Request) {
		var fault Fault
		if readJSON(w, r, &fault) {
			if err := s.AddFault(fault); err != nil {
				writeError(w, r, refuse(http.StatusBadRequest, "%s", err))
				return
			}
			w.WriteHeader(http.StatusNoContent)
		}
	})
	handle("DELETE /simulator/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	handle("POST /simulator/tokens", func(w http.ResponseWriter, r *http.Request) {
		var tokens []string
		if readJSON(w, r, &tokens) {
			s.SetTokens(tokens)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	return mux
}

// State returns everything that exists.
func (s *Server) State() State {
	state := State{VPCs: []api.VPC{}, Subnets: []api.Subnet{}, Instances: []api.Instance{}}
	s.view(func(now time.Time) {
		for _, v := range s.state.vpcs {
			state.VPCs = append(state.VPCs, s.vpcView(v, now))
		}
		for _, n := range s.state.subnets {
			state.Subnets = append(state.Subnets, n.view(now))
		}
		for _, i := range s.state.instances {
			state.Instances = append(state.Instances, s.instanceView(i, now))
		}
	})
	return state
}

// Empty reports whether nothing exists any more.
func (s State) Empty() bool { return len(s.VPCs)+len(s.Subnets)+len(s.Instances) == 0 }

// Calls returns the number of calls by operation ID, refused ones included.
func (s *Server) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// AddFault lets calls go wrong.
func (s *Server) AddFault(fault Fault) error {
	if err := fault.validate(); err != nil {
		return err
	}
	if !s.operations.has(fault.Operation) {
		return refuse(http.StatusBadRequest, "unknown operation %q", fault.Operation)
	}
	s.faults.add(fault)
	return nil
}

// ClearFaults ends all faults. Calls that hang are answered with an error.
func (s *Server) ClearFaults() { s.faults.clear() }

// SetTokens replaces the valid tokens.
func (s *Server) SetTokens(tokens []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = tokens
}

func fromLoopback(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

func readJSON(w http.ResponseWriter, r *http.Request, value any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		writeError(w, r, refuse(http.StatusBadRequest, "not the expected JSON: %s", err))
		return false
	}
	return true
}
