package image

import (
	"context"
	"errors"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/takeover"
)

// openOrTakeOver opens the graph, after the ledger was written from the status if the object asks for that.
func (r *Reconciler) openOrTakeOver(
	ctx context.Context, login *lifecycle.Login[*ibm.Client], around owners, object *infrav1.IBMPowerVSImage,
) (*node, error) {
	n, secret := r.node(login.API, around, object), login.Secret.String()
	shown := func() ([]ledgers.Resource, error) { return n.shown(ctx) }
	if err := takeover.FromStatus(ctx, r.Engine, secret, object, n.kinds(), shown); err != nil {
		return nil, err
	}
	n, err := r.open(ctx, login.API, secret, around, object)
	return n, takeover.OrAsk(ctx, r.Engine, object, err)
}

// shown is the image that another provider shows, as lines of a ledger. It is the user's own unless there was an import. The import isn't
// needed: when there is an image it has ended.
func (n *node) shown(ctx context.Context) ([]ledgers.Resource, error) {
	status, deleted := &n.object.Status, !n.object.DeletionTimestamp.IsZero()
	switch {
	case status.ImageID == "" && status.JobID == "":
		return nil, nil
	case status.ImageID == "":
		return nil, fault.Invalidf("job %s hadn't imported the image when the other provider ended, and no tag will tell whose that is: take the "+
			"annotation off, and it is used as your own", status.JobID)
	}
	if place := n.placePhase(ctx); place.State != phases.StateReady {
		return nil, &fault.Error{Class: fault.Busy, Err: errors.New(place.Message)}
	}
	switch _, err := n.get(ctx, status.ImageID, n.scope(imageKey)); {
	case fault.IsNotFound(err) && !deleted:
		return nil, fault.Invalidf("image %s, which the status shows, doesn't exist: delete this IBMPowerVSImage, and write it again", status.ImageID)
	case err != nil && !fault.IsNotFound(err):
		return nil, err
	}
	return []ledgers.Resource{{
		Key: imageKey, Kind: n.images.Name, ID: status.ImageID, Own: status.JobID != "", Scope: n.scope(imageKey),
	}}, nil
}
