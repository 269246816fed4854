package sim

import (
	"net/http"

	"github.com/bedplate/bedplate/internal/simulator"
)

// adminHandler serves what is not part of the API, to loopback clients only: what simulator.Service.Admin has, and
//
//	GET    /simulator/state    everything that exists (State)
//	POST   /simulator/status   change the status of an object or a machine (Status)
//	POST   /simulator/vanish   remove an object without the API ({"id"})
//	POST   /simulator/objects  make an object that no client makes (Object); answers {"id"}
//	POST   /simulator/sites    change the state of a site ({"id", "state"}: SiteState)
//	POST   /simulator/tokens   replace the valid tokens (a JSON array of strings)
//	DELETE /simulator/tokens   let all tokens expire
//	POST   /simulator/oauth2/token, and Keycloak's path: the token endpoint (OAuth)
func (s *Server) adminHandler() *simulator.Admin {
	a := s.Admin(writeError)
	a.Serve("GET /simulator/state", func(w http.ResponseWriter, _ *http.Request) { simulator.WriteJSON(w, s.State()) })
	a.Serve("POST /simulator/status", simulator.Accept(a, s.SetStatus))
	a.Serve("POST /simulator/vanish", simulator.Accept(a, func(o struct{ ID string }) error { return s.Vanish(o.ID) }))
	a.Serve("POST /simulator/objects", simulator.Answer(a, func(o Object) (any, error) {
		id, err := s.Make(o)
		return map[string]string{"id": id}, err
	}))
	a.Serve("POST /simulator/sites", simulator.Accept(a, func(o struct {
		ID    string
		State SiteState
	},
	) error {
		return s.SetSite(o.ID, o.State)
	}))
	a.Serve("POST /simulator/tokens", simulator.Accept(a, func(tokens []string) error { s.SetTokens(tokens); return nil }))
	a.Serve("DELETE /simulator/tokens", simulator.Do(s.ExpireTokens))
	issuer := s.issuer()
	a.Serve("POST /simulator/oauth2/token", issuer)
	a.Serve("POST "+tokenPath, issuer)
	return a
}

// SetTokens replaces all tokens.
func (s *Server) SetTokens(tokens []string) {
	grants := map[string][]Role{}
	for _, value := range tokens {
		roles, limited := s.config.TokenRoles[value]
		if !limited {
			roles = allRoles()
		}
		grants[value] = roles
	}
	s.tokens.Replace(grants)
}

// ExpireTokens lets all tokens expire that there are. The token endpoint issues new ones.
func (s *Server) ExpireTokens() { s.tokens.Expire() }
