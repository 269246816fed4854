package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// infrastructure as the manager has it.
type infrastructure struct {
	id string
	// applied is its template, with all that was merged into it, and its mark.
	applied *tosca.Template
	im.Infrastructure
	// log has its last lines, if something has failed.
	log []string
}

// logLines of a failed infrastructure are in messages. The status has more.
const logLines = 3

// infrastructureKind are infrastructures. The template carries the tag: its owner, and no key, since an owner has one.
func (n *node) infrastructureKind(engine *graph.Engine) *graph.Kind[infrastructure] {
	return &graph.Kind[infrastructure]{
		Name: krakev1.KindInfrastructure, GoneAfter: engine.Settle,
		Service: &graph.Service{Endpoint: n.api.Endpoint(), Account: func(context.Context) (string, error) { return Account(n.api), nil }},
		ID:      func(i *infrastructure) string { return i.id },
		Tag:     func(i *infrastructure) graph.Tag { return TagOf(i.applied) },
		Get:     func(ctx context.Context, id string, _ graph.Scope) (*infrastructure, error) { return n.get(ctx, id) },
		Find:    func(ctx context.Context, key graph.Key) ([]infrastructure, error) { return n.find(ctx, key) },
		Phase:   phaseOf,
		Delete:  func(ctx context.Context, id string, _ graph.Scope) error { return n.api.Delete(ctx, id) },
	}
}

// TagOf an infrastructure by its template.
func TagOf(template *tosca.Template) graph.Tag {
	tag := graph.Tag{Owner: template.Mark().Owner}
	if tag.Owner != "" {
		tag.Key = infrastructureKey
	}
	return tag
}

// maxAccount is how long the name of an account may be.
const maxAccount = 128

// Account that infrastructures belong to. Passwords are no part of it, because ledgers have it.
func Account(api Manager) string {
	text := api.User() + " at " + api.Endpoint()
	if len(text) <= maxAccount {
		return text
	}
	sum := fmt.Sprintf("… %x", sha256.Sum256([]byte(text))) // so that it is another one's all the same
	return strings.ToValidUTF8(text[:maxAccount-len(sum)], "") + sum
}

// get an infrastructure: first its template, because a read of the state of one that was just deleted brings its record back. If its
// owner is being deleted, that is all.
func (n *node) get(ctx context.Context, id string) (*infrastructure, error) {
	found, err := n.describe(ctx, id)
	if err != nil || !n.object.DeletionTimestamp.IsZero() {
		return found, err
	}
	state, err := n.api.State(ctx, id)
	if err != nil {
		return nil, err
	}
	found.Infrastructure = *state
	if state.State == im.Failed || state.State == im.Unconfigured {
		if found.log, err = n.api.ContMsg(ctx, id, krakev1.MaxLog); err != nil { // it is for people, and holds up no repair
			found.log = []string{bounds.Shorten("the log can't be read: " + err.Error())}
		}
	}
	return found, nil
}

// errUnreadable is a template without our mark.
var errUnreadable = errors.New("a template that can't be read")

func (n *node) describe(ctx context.Context, id string) (*infrastructure, error) {
	text, err := n.api.Tosca(ctx, id)
	if err != nil {
		return nil, err
	}
	applied, err := tosca.Read(text)
	if err != nil {
		return nil, fault.Invalidf("infrastructure %s has %w: %w", id, errUnreadable, err)
	}
	return &infrastructure{id: id, applied: applied}, nil
}

// find those that carry an owner's mark. A list may have more, also of those that are gone, or that were made of something else. It lacks
// what was made with another password: to IM, that is another user. So after an attempt with another login, none isn't an answer.
func (n *node) find(ctx context.Context, key graph.Key) (found []infrastructure, _ error) {
	owner := key.Owner
	ids, err := n.api.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		i, err := n.describe(ctx, id)
		switch {
		case fault.IsNotFound(err) || im.NoTOSCA(err) || errors.Is(err, errUnreadable): // it isn't ours
		case err != nil:
			return nil, err
		case i.applied.Mark().Owner == owner:
			found = append(found, *i)
		}
	}
	if with := key.Params[loginParam]; len(found) == 0 && n.graph.ID(infrastructureKey) == "" && with != "" && with != n.on.written {
		return nil, &fault.Error{Class: fault.Credentials, Err: fmt.Errorf(
			"secret %s has changed since an infrastructure was asked for, and only the login that it had can see whether that was made: put it back; "+
				"or delete the Cluster with the annotation %s, and look for the infrastructure yourself", n.on.Login, krakev1.AbandonAnnotation)}
	}
	return found, nil
}

// takeOver what was made with another Secret, which is kept as long as the ledger names it: to IM, a user of the same name with another
// password is another one, and sees nothing of it. Then the ledger stays as it is.
func (n *node) takeOver(ctx context.Context) error {
	ledger, err := ledgers.Of(ctx, n.Client, n.Scheme(), n.object)
	if err != nil || ledger == nil || slices.Index(ledger.Spec.Credentials, n.on.Login.String()) == 0 || ledger.Spec.Account != Account(n.api) {
		return err
	}
	for _, e := range owned(ledger) {
		if e.ID != "" {
			_, err = n.api.Tosca(ctx, e.ID)
		} else {
			_, err = n.find(ctx, graph.Key{Owner: ledger.Spec.OwnerID, Params: e.Params})
		}
		if err != nil && !fault.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// phaseOf an infrastructure: Failed is what may be repaired.
func phaseOf(i *infrastructure) phases.Phase {
	switch i.State {
	case im.Configured:
		return phases.Ready()
	case im.Deleting:
		return phases.Deleting()
	case im.Unconfigured, im.Failed:
		return phases.Failed("infrastructure %s is %s%s%s", i.id, i.State, i.machines(), i.said())
	case im.Stopped, im.Off:
		return phases.Waiting("infrastructure %s was stopped (it is %s): start it, or have it made again", i.id, i.State)
	case "":
		return phases.Waiting("infrastructure %s wasn't looked at closely", i.id)
	}
	return phases.Waiting("infrastructure %s is %s%s", i.id, i.State, i.machines())
}

// machines are how many there are in each state.
func (i *infrastructure) machines() string {
	counts := map[im.State]int{}
	for _, state := range i.VMs {
		counts[state]++
	}
	var all []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[state], state))
	}
	if len(all) == 0 {
		return ""
	}
	return " (machines: " + strings.Join(all, ", ") + ")"
}

func (i *infrastructure) said() string {
	if len(i.log) == 0 {
		return ""
	}
	return fmt.Sprintf("; its log ends with: %s", strings.Join(i.log[max(0, len(i.log)-logLines):], " | "))
}
