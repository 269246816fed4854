package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// ObjectKind is a kind of Object.
type ObjectKind string

// The kinds of objects that can be in a world from the beginning.
const (
	KindVPC                  ObjectKind = "vpc"
	KindSubnet               ObjectKind = "subnet"
	KindVPCPrefix            ObjectKind = "vpcPrefix"
	KindNetworkSecurityGroup ObjectKind = "networkSecurityGroup"
	KindVPCPeering           ObjectKind = "vpcPeering"
	KindInstance             ObjectKind = "instance"
)

// Object is something that no client of the test makes: another tenant's, or the same tenant's own by hand.
type Object struct {
	Kind ObjectKind `json:"kind"`
	// ID is random if empty.
	ID string `json:"id,omitempty"`
	// TenantID is Config.Tenant's if empty.
	TenantID string `json:"tenantId,omitempty"`
	// Request is the body of the call that would make it.
	Request any `json:"request"`
}

// Make makes an object without a call, and returns its ID. It is ready at once. The rules are those of the API, except
// for allocations: none is needed.
func (s *Server) Make(o Object) (string, error) {
	m := maker{tenantID: cmp.Or(o.TenantID, s.config.Tenant.ID), id: o.ID, world: true}
	if !s.config.tenant(m.tenantID) {
		return "", fmt.Errorf("unknown tenant %q", m.tenantID)
	}
	var id string
	err := s.change(func(now time.Time) (err error) {
		switch o.Kind {
		case KindVPC:
			id, err = conjure(&s.state.vpcs, s.draftVPC, m, o.Request, now)
		case KindSubnet:
			id, err = conjure(&s.state.subnets, s.draftSubnet, m, o.Request, now)
		case KindVPCPrefix:
			id, err = conjure(&s.state.prefixes, s.draftPrefix, m, o.Request, now)
		case KindNetworkSecurityGroup:
			id, err = conjure(&s.state.groups, s.draftGroup, m, o.Request, now)
		case KindVPCPeering:
			id, err = conjure(&s.state.peerings, s.draftPeering, m, o.Request, now)
		case KindInstance:
			id, err = conjure(&s.state.instances, s.draftInstance, m, o.Request, now)
		default:
			err = fmt.Errorf("unknown kind of object %q", o.Kind)
		}
		return err
	})
	return id, err
}

// conjure makes an object without waiting for its site. Server.mu is held.
func conjure[Q any, R resource](kind *store[R], drafts drafter[Q, R], m maker, request any, now time.Time) (string, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var body Q
	if err := decoder.Decode(&body); err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	plan, err := drafts(m, body, now)
	if err != nil {
		return "", err
	}
	r, err := plan.commit(now)
	if err != nil {
		return "", err
	}
	kind.Add(r)
	return r.base().id, nil
}

// Status is a status that something has in spite of the clock.
type Status struct {
	// ID of an object of any kind, or of a machine.
	ID string `json:"id"`
	// Status is what it is from now on; empty lets it follow from the clock again.
	Status string `json:"status"`
	// Message is the reason.
	Message string `json:"message,omitempty"`
}

// SetStatus changes the status of something at once. What is being deleted stays so.
func (s *Server) SetStatus(status Status) error {
	return s.change(func(now time.Time) error {
		if m, found := s.machine(status.ID); found {
			m.Force(now, status.Status, status.Message)
			m.alerts = nil
			if status.Message != "" {
				m.alerts = []api.MachineHealthProbeAlert{{
					ID: "Simulated", Message: status.Message, InAlertSince: now.UTC().Format(time.RFC3339),
				}}
			}
			return nil
		}
		r, found := s.state.find(status.ID)
		if !found {
			return fmt.Errorf("nothing has the ID %q", status.ID)
		}
		r.base().Force(now, status.Status, status.Message)
		if i, isInstance := r.(*instance); isInstance {
			i.fresh = now
		}
		return nil
	})
}

// Vanish removes an object behind everybody's back, whatever still needs it. It returns when an instance's machine is off.
func (s *Server) Vanish(id string) error {
	var off *instance
	err := s.change(func(now time.Time) error {
		r, found := s.state.find(id)
		if !found {
			return fmt.Errorf("nothing has the ID %q", id)
		}
		r.base().Deleted, r.base().Forgotten = now, now
		s.dropPeerings(id, now)
		if i, isInstance := r.(*instance); isInstance {
			i.timer.Stop()
			off = i
		}
		return nil
	})
	if off != nil {
		s.powerOff(off)
	}
	return err
}

// find returns the object of any kind that has the ID.
func (s *state) find(id string) (found resource, ok bool) {
	s.each(func(r resource) {
		if r.base().id == id {
			found, ok = r, true
		}
	})
	return found, ok
}
