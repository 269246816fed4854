package cloudprovider

import (
	"context"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/topology"
)

// source is where it is known how the instances of the nodes are: the BMM API itself, or what a management cluster publishes.
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
	// find those that have a trait. That there is none proves nothing.
	find(ctx context.Context, by trait) ([]bmm.Instance, error)
	// listed is from when all is known that find knows, and the error of an attempt to know more that has failed since.
	listed() (time.Time, error)
	// refresh lets find know what there was after a time, where that can be had by asking.
	refresh(ctx context.Context, since time.Time) error
	// place of an instance; without an ID that of the site.
	place(ctx context.Context, i *bmm.Instance) (topology.Place, error)
}

// change of an instance, or of the site where there is no ID.
type change struct {
	siteID, instanceID string
	// name of the instance, if it is known.
	name string
}
