package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/tag"
)

// KindOf are virtual machines as a client sees them. A machine's own is read from the inventory.
func KindOf(api *ibm.Client) *graph.Kind[ibm.Server] {
	return &graph.Kind[ibm.Server]{
		Name: infrav1.KindVM, Service: serviceOf(api, ibm.ServicePowerVS), Within: []string{infrav1.KindZone, infrav1.KindWorkspace},
		Site: infrav1.KindWorkspace,
		ID:   func(s *ibm.Server) string { return s.ID },
		Tag:  func(s *ibm.Server) graph.Tag { return tag.From(s.UserTags) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.Server, error) {
			return api.Server(ctx, workspaceIn(in), id)
		},
		Phase: phaseOf,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteServer(ctx, workspaceIn(in), id)
		},
	}
}

// serviceOf is a service with a login: its outages and limits are its own.
func serviceOf(api *ibm.Client, service ibm.Service) *graph.Service {
	return &graph.Service{Endpoint: string(service) + " of " + api.String(), Account: api.AccountID}
}

func workspaceIn(in graph.Scope) ibm.Workspace {
	return ibm.Workspace{Zone: in[infrav1.KindZone], ID: in[infrav1.KindWorkspace]}
}

func scopeOf(in ibm.Workspace) graph.Scope {
	if in.ID == "" {
		return nil
	}
	return graph.Scope{infrav1.KindZone: in.Zone, infrav1.KindWorkspace: in.ID}
}

func (n *node) vmKind() *graph.Kind[ibm.Server] {
	kind := KindOf(n.api)
	kind.Scope = func(string) graph.Scope { return scopeOf(n.in) }
	kind.Find, kind.Delete = n.findVM, n.deleteVM
	kind.Get = func(ctx context.Context, id string, in graph.Scope) (*ibm.Server, error) {
		server, err := n.reconciler.VMs.Of(ctx, n.api, workspaceIn(in), id)
		if id == n.graph.ID(vmKey) { // and not another one of that name
			n.got = server
		}
		return server, err
	}
	kind.Phase = func(s *ibm.Server) phases.Phase { return n.announced(phaseOf(s)) }
	return kind
}

// phaseOf is the phase of a virtual machine.
func phaseOf(s *ibm.Server) phases.Phase {
	switch {
	case s.TaskState == "deleting" || s.Status == "DELETING":
		return phases.Deleting()
	case s.Status == inventory.StatusActive:
		return phases.Ready()
	case s.Status == inventory.StatusError:
		return phases.Failed("PowerVS reports virtual machine %s as ERROR: %s: delete the Machine to get another one", s.ID, saidOf(s))
	case s.Status == inventory.StatusShutoff:
		return phases.Failed("virtual machine %s is SHUTOFF: start it, or delete the Machine to get another one", s.ID).Because("ShutOff")
	}
	return phases.Waiting("virtual machine %s is %s", s.ID, s.Status)
}

// saidOf is what PowerVS says is wrong.
func saidOf(s *ibm.Server) string {
	for _, text := range []string{s.Fault.Message, s.Fault.Details, s.Health.Reason} {
		if text != "" {
			return text
		}
	}
	return "it doesn't say why"
}

// maxName is how long the name of a virtual machine may be.
const maxName = 47

// vmName is the machine's name, which the node has, too. What is too long ends with a hash.
func vmName(machine string) string {
	if len(machine) <= maxName {
		return machine
	}
	sum := sha256.Sum256([]byte(machine))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(machine[:maxName-len(hash)-1], "-.") + "-" + hash
}

// findVM lists by name, and reads what has it, because no list shows tags.
func (n *node) findVM(ctx context.Context, k graph.Key) (found []ibm.Server, _ error) {
	in := workspaceIn(k.Scope)
	all, err := n.api.Servers(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Name != vmName(n.object.Name) {
			continue
		}
		whole, err := n.api.Server(ctx, in, s.ID)
		switch {
		case fault.IsNotFound(err):
		case err != nil:
			return nil, err
		default:
			found = append(found, *whole)
		}
	}
	return found, nil
}

// createVM prepares the call.
func (n *node) createVM(ctx context.Context, k graph.Key) (graph.Call[ibm.Server], error) {
	userData, err := n.userData(ctx)
	if err != nil {
		return nil, err
	}
	spec := &n.object.Spec
	request := ibm.ServerRequest{
		Name: k.Title, ImageID: n.imageID, NetworkID: n.networkID, SystemType: spec.System(),
		ProcessorType: strings.ToLower(string(spec.Processor())), Processors: spec.ProcessorCount(), MemoryGiB: float64(spec.Memory()),
		SSHKey: spec.SSHKey, UserData: userData, UserTags: tag.Of(k),
	}
	api, vms, in := n.api, n.reconciler.VMs, workspaceIn(k.Scope)
	return func(ctx context.Context) (*ibm.Server, error) {
		server, err := api.CreateServer(ctx, in, request)
		if err != nil {
			return nil, refused(err, &request)
		}
		vms.Made(api, in, server)
		return server, nil
	}, nil
}

// refused says what to do when PowerVS doesn't create a virtual machine.
func refused(err error, request *ibm.ServerRequest) error {
	switch fault.ClassOf(err) {
	case fault.Quota:
		return fmt.Errorf("%w: delete virtual machines of the workspace, or ask IBM for a larger quota", err)
	case fault.Invalid:
		return fmt.Errorf("%w: replace Machine %s by one that asks for something else", err, request.Name)
	}
	return err
}

// deleteVM deletes what still has the owner that the decision has seen: that is the inventory's, whose tags may be older.
func (n *node) deleteVM(ctx context.Context, id string, in graph.Scope) error {
	workspace := workspaceIn(in)
	n.reconciler.VMs.Changing(n.api, workspace, id)
	defer n.reconciler.VMs.Changing(n.api, workspace, id) // a list may have begun meanwhile
	now, err := n.api.Server(ctx, workspace, id)
	if err != nil {
		return err
	}
	owner := n.graph.OwnerID()
	if n.got != nil && n.got.ID == id {
		owner = tag.From(n.got.UserTags).Owner // none, of what was taken over
	}
	if tag.From(now.UserTags).Owner != owner {
		n.reconciler.VMs.Made(n.api, workspace, now)
		return &fault.Error{Class: fault.Busy, Op: "delete virtual machine " + id, Err: errors.New("its tags have changed")}
	}
	return n.api.DeleteServer(ctx, workspace, id)
}
