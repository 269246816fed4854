package cloudprovider

import (
	"context"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/topology"
)

// source of the state of the nodes' instances: the BMM API itself, or what a management cluster publishes.
type source interface {
	// start keeps what is known up to date until ctx ends, and reports changes. It is called once, before site.
	start(ctx context.Context, builder cloudprovider.ControllerClientBuilder, changed func(change))
	// site as it is known now. No error says anything of an instance.
	site(ctx context.Context) (site, error)
}

// site of the cluster's instances, as a source knows it.
type site interface {
	id() string
	// instance of an ID, as it was seen last. An error of class fault.NotFound is the proof that there is none.
	instance(ctx context.Context, id string) (*bmm.Instance, error)
	// find those that have a trait. An empty result proves nothing.
	find(ctx context.Context, by trait) ([]bmm.Instance, error)
	// listed is as of when find's data is complete, and the error of a failed attempt to update it since.
	listed() (time.Time, error)
	// refresh updates find's data to after a time, if that takes a call.
	refresh(ctx context.Context, since time.Time) error
	// place of an instance; without an ID that of the site.
	place(ctx context.Context, i *bmm.Instance) (topology.Place, error)
}

// change of an instance, or of the site if there is no ID.
type change struct {
	siteID, instanceID string
	// name of the instance, if it is known.
	name string
}
