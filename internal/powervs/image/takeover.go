package image

import (
	"context"
	"errors"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
)

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
