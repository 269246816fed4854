package sim

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// adminHandler serves what is not part of the API, to loopback clients only:
//
//	GET    /simulator/state    everything that exists (State)
//	GET    /simulator/calls    number of calls by operation ID, refused ones included
//	POST   /simulator/faults   let calls go wrong (Fault)
//	DELETE /simulator/faults   clear the faults and end the calls that hang
//	POST   /simulator/chaos    let calls go wrong at random (Chaos)
//	DELETE /simulator/chaos    end that
//	POST   /simulator/status   change the status of an object or a machine (Status)
//	POST   /simulator/vanish   remove an object behind everybody's back ({"id"})
//	POST   /simulator/objects  make an object that no client makes (Object); answers {"id"}
//	POST   /simulator/sites    change the state of a site ({"id", "state"}: SiteState)
//	POST   /simulator/tokens   replace the valid tokens (a JSON array of strings)
//	DELETE /simulator/tokens   let all tokens expire
//	POST   /simulator/oauth2/token, and Keycloak's path: the token endpoint (OAuth)
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
	handle("POST /simulator/faults", accept(s.AddFault))
	handle("DELETE /simulator/faults", do(s.ClearFaults))
	handle("POST /simulator/chaos", accept(s.StartChaos))
	handle("DELETE /simulator/chaos", do(s.StopChaos))
	handle("POST /simulator/status", accept(s.SetStatus))
	handle("POST /simulator/vanish", accept(func(o struct{ ID string }) error { return s.Vanish(o.ID) }))
	handle("POST /simulator/objects", func(w http.ResponseWriter, r *http.Request) {
		var object Object
		if readJSON(w, r, &object) {
			id, err := s.Make(object)
			if err != nil {
				writeError(w, r, bad("%s", err))
				return
			}
			writeJSON(w, map[string]string{"id": id})
		}
	})
	handle("POST /simulator/sites", accept(func(o struct {
		ID    string
		State SiteState
	},
	) error {
		return s.SetSite(o.ID, o.State)
	}))
	handle("POST /simulator/tokens", accept(func(tokens []string) error { s.SetTokens(tokens); return nil }))
	handle("DELETE /simulator/tokens", do(s.ExpireTokens))
	handle("POST /simulator/oauth2/token", s.issueToken)
	handle("POST "+tokenPath, s.issueToken)
	return mux
}

// accept does what the body of a request says.
func accept[T any](do func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if !readJSON(w, r, &body) {
			return
		}
		if err := do(body); err != nil {
			writeError(w, r, bad("%s", err))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func do(work func()) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		work()
		w.WriteHeader(http.StatusNoContent)
	}
}

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
	if err := s.operations.check(fault.Operation); err != nil {
		return err
	}
	s.faults.add(fault)
	return nil
}

// ClearFaults ends all faults. Calls that hang are answered with an error.
func (s *Server) ClearFaults() { s.faults.clear() }

// StartChaos lets calls go wrong at random, instead of any chaos that there was. Faults come first.
func (s *Server) StartChaos(c Chaos) error {
	c, err := c.complete()
	if err == nil {
		err = s.operations.check(c.Operations...)
	}
	if err != nil {
		return err
	}
	s.log.Info("chaos", "seed", c.Seed, "rate", c.Rate, "kinds", c.Kinds, "operations", c.Operations)
	s.chaos.start(c)
	return nil
}

// StopChaos ends the chaos. Calls that hang are answered with an error.
func (s *Server) StopChaos() { s.chaos.stop() }

// SetTokens replaces all tokens.
func (s *Server) SetTokens(tokens []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setTokens(tokens)
}

// ExpireTokens lets all tokens expire that there are. The token endpoint issues new ones.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.tokens {
		s.tokens[i].expires = time.Now()
	}
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
		writeError(w, r, bad("not the expected JSON: %s", err))
		return false
	}
	return true
}
