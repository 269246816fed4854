package im

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// State is one of an infrastructure or of a virtual machine.
type State string

// The states. Configured is the one to wait for. A machine that is Unconfigured makes its whole infrastructure so: Ansible has failed, or
// something else in it, such as a public IP that never came, even long after it was Configured.
const (
	Pending      State = "pending"
	Running      State = "running"
	Configured   State = "configured"
	Unconfigured State = "unconfigured"
	Stopped      State = "stopped"
	Off          State = "off"
	Failed       State = "failed"
	Unknown      State = "unknown"
	Deleting     State = "deleting"
)

var states = []State{Pending, Running, Configured, Unconfigured, Stopped, Off, Failed, Unknown, Deleting}

// UnmarshalText takes what isn't one of the states for Unknown: users see states, and a text of another release's may be long.
func (s *State) UnmarshalText(text []byte) error {
	if *s = State(text); *s != "" && !slices.Contains(states, *s) {
		*s = Unknown
	}
	return nil
}

// Infrastructure is the state of one.
type Infrastructure struct {
	State State
	// VMs are the states of its virtual machines by their IDs. An infrastructure that comes back after its deletion has none, and is Pending
	// or Unknown for ever; one that was just created has none either.
	VMs map[string]State `json:"vm_states"`
}

// Estimate is what a template needs in a cloud.
type Estimate struct {
	CloudType     string
	CloudEndpoint string
	// Compute has an item for each virtual machine.
	Compute []struct {
		CPUCores            float64
		MemoryInMegabytes   float64
		DiskSizeInGigabytes float64
	}
}

const (
	// maxLog bounds a log, in bytes.
	maxLog = 8 << 20
	// maxList bounds a list, in bytes: one of 10,000 infrastructures has 1 MB.
	maxList = 4 << 20
)

// Create an infrastructure from a template in TOSCA, and return its ID. IM goes on with it after its answer.
func (c *Client) Create(ctx context.Context, template string) (id string, _ error) {
	const op = "create infrastructure"
	if template == "" {
		return "", &fault.Error{Class: fault.Invalid, Op: op, Err: errNoTemplate}
	}
	err := c.do(ctx, request{
		op: op, method: http.MethodPost, path: []string{infrastructures}, query: url.Values{"async": {"true"}},
		template: template, create: true,
		read: func(b *bounds.Body) (err error) {
			text, err := b.Whole(bounds.MaxOther)
			if err != nil {
				return err
			}
			id, err = created(text)
			return err
		},
	})
	return id, err
}

// created is the ID in an answer: a URL, as JSON or as it is.
func created(text []byte) (string, error) {
	var answer struct{ URI string }
	if json.Unmarshal(text, &answer) != nil {
		answer.URI = strings.TrimSpace(string(text))
	}
	return idOf(answer.URI)
}

// idOf the URL of an infrastructure.
func idOf(uri string) (string, error) {
	found := infrastructureURL.FindStringSubmatch(uri)
	if found == nil {
		return "", errors.New("unexpected answer: not the URL of an infrastructure")
	}
	return found[1], nil
}

// DryRun checks a template, and returns what it would need, by the cloud's ID. It creates nothing. A bad template is an Invalid error.
func (c *Client) DryRun(ctx context.Context, template string) (estimates map[string]Estimate, _ error) {
	const op = "check template"
	if template == "" {
		return nil, &fault.Error{Class: fault.Invalid, Op: op, Err: errNoTemplate}
	}
	err := c.do(ctx, request{
		op: op, method: http.MethodPost, path: []string{infrastructures}, query: url.Values{"dry_run": {"true"}}, template: template, harmless: true,
		read: func(b *bounds.Body) (err error) {
			estimates, err = estimated(b)
			return err
		},
	})
	return estimates, err
}

// estimated is what an answer says in IM's usual form. In another one a template is accepted just the same.
func estimated(b *bounds.Body) (map[string]Estimate, error) {
	answer := map[string]json.RawMessage{}
	if err := b.Decode(&answer); err != nil {
		return nil, err
	}
	estimates := map[string]Estimate{}
	for cloud, text := range answer {
		var estimate Estimate
		if bounds.Unmarshal(text, &estimate) == nil {
			estimates[cloud] = estimate
		}
	}
	return estimates, nil
}

// Update merges a template into that of an infrastructure. Machines are added and deleted where counts differ; a node template that the
// new one doesn't have stays. If no machine comes or goes, all are configured again. IM answers when it has asked the cloud for the machines.
func (c *Client) Update(ctx context.Context, id, template string) error {
	r := infrastructure("update infrastructure", http.MethodPost, id)
	r.create = true
	if r.template = template; template == "" {
		return &fault.Error{Class: fault.Invalid, Op: r.op, Err: errNoTemplate}
	}
	return c.ask(ctx, r)
}

// Reconfigure configures all machines of an infrastructure again.
func (c *Client) Reconfigure(ctx context.Context, id string) error {
	return c.ask(ctx, infrastructure("reconfigure infrastructure", http.MethodPut, id, "reconfigure"))
}

// Delete an infrastructure. IM goes on with it after its answer; a read of its state meanwhile may bring it back as a record that can't be
// deleted. While it is being created this is Busy.
func (c *Client) Delete(ctx context.Context, id string) error {
	r := infrastructure("delete infrastructure", http.MethodDelete, id)
	r.query = url.Values{"async": {"true"}}
	return c.ask(ctx, r)
}

// State of an infrastructure.
func (c *Client) State(ctx context.Context, id string) (*Infrastructure, error) {
	found, err := property[Infrastructure](ctx, c, id, "state")
	if err == nil && found.State == "" {
		err = &fault.Error{Class: fault.Transient, Op: "get state", Err: errors.New("unexpected answer: it has no state")}
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Outputs of an infrastructure's template, as far as they are known and texts.
func (c *Client) Outputs(ctx context.Context, id string) (map[string]string, error) {
	found, err := property[map[string]any](ctx, c, id, "outputs")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name, value := range *found {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts, nil
}

// Tosca is the template of an infrastructure, with all that was merged into it.
func (c *Client) Tosca(ctx context.Context, id string) (string, error) {
	found, err := property[string](ctx, c, id, "tosca")
	if err != nil {
		return "", err
	}
	return *found, nil
}

// ContMsg returns the last lines of an infrastructure's log, without credentials.
func (c *Client) ContMsg(ctx context.Context, id string, lines int) ([]string, error) {
	found, err := property[string](ctx, c, id, "contmsg")
	if err != nil {
		return nil, err
	}
	return c.hidden.lastLines(*found, lines), nil
}

// property reads one of an infrastructure. An answer without it is an error.
func property[T any](ctx context.Context, c *Client, id, name string) (found *T, _ error) {
	r := infrastructure("get "+name, http.MethodGet, id, name)
	r.read = func(b *bounds.Body) error {
		text, err := b.Whole(maxLog)
		if err != nil {
			return err
		}
		if err := bounds.Check(text); err != nil {
			return err
		}
		answer := map[string]json.RawMessage{}
		if err := bounds.Unmarshal(text, &answer); err != nil {
			return err
		}
		if value, ok := answer[name]; !ok || string(value) == "null" {
			return errors.New("unexpected answer: it has no " + name)
		}
		found = new(T)
		return bounds.Unmarshal(answer[name], found)
	}
	if err := c.ask(ctx, r); err != nil {
		return nil, err
	}
	return found, nil
}

// List returns the IDs of all infrastructures of the user whose template contains a text; an empty one is in all. A server that is too old
// for that returns all.
func (c *Client) List(ctx context.Context, containing string) (ids []string, _ error) {
	r := request{op: "list infrastructures", method: http.MethodGet, path: []string{infrastructures}, query: url.Values{}}
	if containing != "" {
		r.query.Set("filter", regexp.QuoteMeta(containing)) // IM takes it for a regular expression
	}
	r.read = func(b *bounds.Body) error {
		text, err := b.Whole(maxList)
		if err != nil {
			return err
		}
		ids, err = listed(text)
		return err
	}
	if err := c.do(ctx, r); err != nil {
		return nil, err
	}
	return ids, nil
}

// listed are the IDs of a list, all of them or none.
func listed(text []byte) ([]string, error) {
	var answer struct {
		List []struct{ URI string } `json:"uri-list"`
	}
	if err := bounds.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	if answer.List == nil {
		return nil, errors.New("unexpected answer: it has no uri-list")
	}
	ids := make([]string, 0, len(answer.List))
	for _, item := range answer.List {
		id, err := idOf(item.URI)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Version of IM. It needs no login.
func (c *Client) Version(ctx context.Context) (string, error) {
	var answer struct{ Version string }
	err := c.do(ctx, request{
		op: "get version", method: http.MethodGet, path: []string{"version"},
		read: func(b *bounds.Body) error {
			err := b.Decode(&answer)
			if err == nil && answer.Version == "" {
				err = errors.New("unexpected answer: it has no version")
			}
			return err
		},
	})
	return answer.Version, err
}
