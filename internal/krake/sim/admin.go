package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/simulator"
)

// adminHandler serves what is not part of IM, to loopback clients only: what simulator.Service.Admin has, and
//
//	GET    /simulator/state        everything that exists (State)
//	GET    /simulator/clusters     the machines that are on (Cluster)
//	POST   /simulator/kubeconfigs  say what the output kubeconfig of an infrastructure is (Kubeconfig)
//	POST   /simulator/status       change the state of an infrastructure (Status)
//	POST   /simulator/vanish       remove one without the API ({"id"})
//	POST   /simulator/outcomes     let the next one that is created go wrong (Outcome)
//	POST   /simulator/users        make a user, or change a password ({"username", "password"})
func (s *Server) adminHandler() *simulator.Admin {
	a := s.Admin(func(w http.ResponseWriter, r *http.Request, err error) { fail(w, r, err) })
	a.Serve("GET /simulator/state", func(w http.ResponseWriter, _ *http.Request) { simulator.WriteJSON(w, s.State()) })
	a.Serve("GET /simulator/clusters", func(w http.ResponseWriter, _ *http.Request) { simulator.WriteJSON(w, s.Clusters()) })
	a.Serve("POST /simulator/kubeconfigs", simulator.Accept(a, s.SetKubeconfig))
	a.Serve("POST /simulator/status", simulator.Accept(a, s.SetStatus))
	a.Serve("POST /simulator/vanish", simulator.Accept(a, func(o struct{ ID string }) error { return s.Vanish(o.ID) }))
	a.Serve("POST /simulator/outcomes", simulator.Accept(a, s.SetOutcome))
	a.Serve("POST /simulator/users", simulator.Accept(a, func(o struct{ Username, Password string }) error {
		return s.SetUser(o.Username, o.Password)
	}))
	return a
}

// Item is an infrastructure that exists.
type Item struct {
	ID string `json:"id"`
	// Name is metadata.infra_name of its template.
	Name string `json:"name,omitempty"`
	// User is the name of who made it; empty where that was a token.
	User string `json:"user,omitempty"`
	// Cloud is the type, the host and the project of what it is in, as far as there are such.
	Cloud string              `json:"cloud,omitempty"`
	State im.State            `json:"state"`
	VMs   map[string]im.State `json:"vms,omitempty"`
	// Record says that it is only a record that has come back after a deletion.
	Record bool `json:"record,omitempty"`
	// Template is its text in IM's own formatting.
	Template string `json:"template,omitempty"`
}

// State is everything that exists.
type State []Item

// Empty reports whether nothing exists any more, but for records.
func (s State) Empty() bool { return !slices.ContainsFunc(s, func(i Item) bool { return !i.Record }) }

// State of the service now.
func (s *Server) State() State {
	state, now := State{}, s.Now()
	_ = s.view(now, func() error { // can't fail
		for _, i := range s.all.Items {
			is := i.state(now)
			item := Item{ID: i.id, Name: i.name, User: i.userName, Cloud: i.cloud, State: is.State, VMs: is.VMs, Record: i.record}
			if i.template != nil {
				item.Template = i.template.text()
			}
			state = append(state, item)
		}
		return nil
	})
	return state
}

// known is an infrastructure that exists. s.mu is held.
func (s *Server) known(id string) (*infrastructure, error) {
	i, ok := s.all.Find(func(i *infrastructure) bool { return i.id == id })
	if !ok {
		return nil, fmt.Errorf("there is no infrastructure %q", id)
	}
	return i, nil
}

// Status is a state that an infrastructure has in spite of the clock, until it is configured again, or, if it is Stopped or Off, started.
// An empty one lets it follow from the clock.
type Status struct {
	ID    string   `json:"id"`
	State im.State `json:"state"`
}

// SetStatus changes the state of all machines of an infrastructure at once. What is being deleted stays so.
func (s *Server) SetStatus(status Status) error {
	if status.State != "" && !slices.Contains(worst, status.State) {
		return fmt.Errorf("there is no state %q", status.State)
	}
	now := s.Now()
	return s.view(now, func() error {
		i, err := s.known(status.ID)
		if err == nil {
			i.forced = status.State
			i.say(now, "The state was set to %q", status.State)
		}
		return err
	})
}

// Kubeconfig of an infrastructure.
type Kubeconfig struct {
	ID string `json:"id"`
	// Kubeconfig is the text of the output.
	Kubeconfig string `json:"kubeconfig"`
}

// SetKubeconfig says what an infrastructure's output kubeconfig is, instead of Server.Kubeconfig. It may be said again.
func (s *Server) SetKubeconfig(k Kubeconfig) error {
	if k.Kubeconfig == "" {
		return fmt.Errorf("infrastructure %s needs a kubeconfig", k.ID)
	}
	return s.view(s.Now(), func() error {
		i, err := s.known(k.ID)
		if err == nil {
			i.kubeconfig = k.Kubeconfig
		}
		return err
	})
}

// Vanish removes an infrastructure without the API.
func (s *Server) Vanish(id string) error {
	now := s.Now()
	return s.view(now, func() error {
		i, err := s.known(id)
		if err == nil {
			i.deleted, i.forgotten, i.record = now, now, false
		}
		return err
	})
}

// SetOutcome says what becomes of the next infrastructure that is created, after those of earlier calls.
func (s *Server) SetOutcome(o Outcome) error {
	if o.State != im.Unconfigured && o.State != im.Failed || o.After < 0 || o.Times < -1 {
		return fmt.Errorf("an outcome needs the state %s or %s, and no negative numbers but times -1", im.Unconfigured, im.Failed)
	}
	return s.view(s.Now(), func() error {
		s.outcomes = append(s.outcomes, o)
		return nil
	})
}

// SetUser makes a user, or changes the password of one. From then on only such users are let in.
func (s *Server) SetUser(username, password string) error {
	if strings.TrimSpace(username) == "" || password == "" {
		return fmt.Errorf("a user needs a name and a password")
	}
	return s.view(s.Now(), func() error {
		if s.users == nil {
			s.users = map[string]string{}
		}
		s.users[username] = password
		return nil
	})
}
