package image

import (
	"context"
	"errors"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/tag"
)

// stateActive is that of an image that machines can boot from.
const stateActive = "active"

func workspaceIn(in graph.Scope) ibm.Workspace {
	return ibm.Workspace{Zone: in[infrav1.KindZone], ID: in[infrav1.KindWorkspace]}
}

func (n *node) scope(string) graph.Scope {
	if n.in.ID == "" {
		return nil
	}
	return graph.Scope{infrav1.KindZone: n.in.Zone, infrav1.KindWorkspace: n.in.ID}
}

func (n *node) service() *graph.Service {
	return &graph.Service{Endpoint: string(ibm.ServicePowerVS) + " of " + n.api.String(), Account: n.api.AccountID}
}

var within = []string{infrav1.KindZone, infrav1.KindWorkspace}

// importKind are imports. Nothing says what image an import is of, but a workspace has only one at a time: while there is one that isn't
// known to be ours, it can't be told whether an attempt of ours has begun it. When it has ended, its image tells.
func (n *node) importKind() *graph.Kind[ibm.Job] {
	return &graph.Kind[ibm.Job]{
		Name: infrav1.KindImageImport, Service: n.service(), Within: within, Scope: n.scope,
		ID: func(j *ibm.Job) string { return j.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.Job, error) {
			return n.api.Job(ctx, workspaceIn(in), id)
		},
		Find: func(ctx context.Context, k graph.Key) ([]ibm.Job, error) {
			last, err := n.api.LastImport(ctx, workspaceIn(k.Scope))
			if err != nil || ended(last) {
				return nil, err
			}
			return nil, &fault.Error{Class: fault.Busy, Op: "import an image", Err: errors.New("another import of the workspace is in progress")}
		},
		Phase: importPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return n.api.DeleteJob(ctx, workspaceIn(in), id)
		},
	}
}

const (
	jobCompleted = "completed"
	jobFailed    = "failed"
)

func ended(j *ibm.Job) bool { return j.Status.State == jobCompleted || j.Status.State == jobFailed }

// importPhase is the phase of an import.
func importPhase(j *ibm.Job) phases.Phase {
	switch j.Status.State {
	case jobCompleted:
		return phases.Ready()
	case jobFailed:
		return phases.Failed("job %s has failed to import the image: %s: delete this IBMPowerVSImage, and write it again with another bucket "+
			"or object", j.ID, j.Status.Message)
	}
	return phases.Waiting("job %s, which imports the image, is %s", j.ID, j.Status.State)
}

// imageKind are images. One that is retained counts as gone when its object is deleted.
func (n *node) imageKind() *graph.Kind[ibm.Image] {
	return &graph.Kind[ibm.Image]{
		Name: infrav1.KindImage, Service: n.service(), Within: within, Scope: n.scope,
		ID:  func(i *ibm.Image) string { return i.ID },
		Tag: func(i *ibm.Image) graph.Tag { return tag.From(i.UserTags) },
		Get: n.get, Find: n.find, Phase: imagePhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return n.api.DeleteImage(ctx, workspaceIn(in), id)
		},
	}
}

// isLeft reports whether the image stays when its object is deleted.
func (n *node) isLeft() bool {
	return !n.object.DeletionTimestamp.IsZero() && n.object.Spec.DeletePolicy == infrav1.DeletePolicyRetain
}

func (n *node) get(ctx context.Context, id string, in graph.Scope) (*ibm.Image, error) {
	if n.isLeft() {
		return nil, &fault.Error{Class: fault.NotFound, Err: errors.New("image " + id + " is retained")}
	}
	image, err := n.api.Image(ctx, workspaceIn(in), id)
	if fault.IsNotFound(err) && n.object.DeletionTimestamp.IsZero() && n.graph.ID(importKey) != "" {
		// Of an import whose image the ledger doesn't have, the image may still come: it would be waited for.
		return nil, &fault.Error{Class: fault.Busy, Err: errors.New(
			"image " + id + " was deleted outside Bedplate: it is imported again when the job of its import is deleted")}
	}
	return image, err
}

// find lists by name, and reads what has it, because no list shows tags.
func (n *node) find(ctx context.Context, k graph.Key) (found []ibm.Image, _ error) {
	if n.isLeft() {
		return nil, nil
	}
	all, err := n.api.Images(ctx, workspaceIn(k.Scope))
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if !n.hasName(i) {
			continue
		}
		whole, err := n.api.Image(ctx, workspaceIn(k.Scope), i.ID)
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

// imagePhase is the phase of an image.
func imagePhase(i *ibm.Image) phases.Phase {
	if i.State == stateActive {
		return phases.Ready()
	}
	return phases.Waiting("image %s is %s", i.ID, i.State)
}
