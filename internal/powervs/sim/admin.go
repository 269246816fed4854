package sim

import (
	"net/http"

	"github.com/bedplate/bedplate/internal/simulator"
)

// Admin serves what is not part of any service, to loopback clients only: what simulator.Service.Admin has, and
//
//	GET    /simulator/state     everything that exists (State)
//	POST   /simulator/status    change the status of something (Status)
//	POST   /simulator/vanish    remove something without the API ({"id"})
//	POST   /simulator/outcomes  let the next object of a kind fail (Outcome)
//	POST   /simulator/apikeys   disable an API key, or enable it again ({"value", "disabled"})
//	DELETE /simulator/tokens    let all tokens expire
func (c *Cloud) Admin() http.Handler { return c.admin }

func (c *Cloud) adminHandler() *simulator.Admin {
	a := c.Service.Admin(func(w http.ResponseWriter, _ *http.Request, err error) { failWithList(w, failureOf(err)) })
	a.Serve("GET /simulator/state", func(w http.ResponseWriter, _ *http.Request) { simulator.WriteJSON(w, c.State()) })
	a.Serve("POST /simulator/status", simulator.Accept(a, c.SetStatus))
	a.Serve("POST /simulator/vanish", simulator.Accept(a, func(o struct{ ID string }) error { return c.Vanish(o.ID) }))
	a.Serve("POST /simulator/outcomes", simulator.Accept(a, c.SetOutcome))
	a.Serve("POST /simulator/apikeys", simulator.Accept(a, func(o struct {
		Value    string
		Disabled bool
	},
	) error {
		return c.DisableKey(o.Value, o.Disabled)
	}))
	a.Serve("DELETE /simulator/tokens", simulator.Do(c.ExpireTokens))
	return a
}

// ExpireTokens lets all tokens expire that there are. IAM issues new ones.
func (c *Cloud) ExpireTokens() { c.tokens.Expire() }
