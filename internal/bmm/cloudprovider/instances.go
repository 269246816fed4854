package cloudprovider

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
)

// InstanceExists is false only if that is proven: without an error the Node is deleted. An instance that is being deleted,
// is broken or is under repair exists.
func (c *Cloud) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	_, err := c.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown is true for an instance whose machine has been given back: the BMM API still shows it, but nothing of the
// node can run any more. One that is being terminated may still run its pods, and a machine that is off for another reason
// can't be told from any other that isn't Ready.
func (c *Cloud) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	f, err := c.find(ctx, node)
	if err != nil {
		return false, err
	}
	return f.is.Status == bmm.InstanceTerminated, nil
}

// InstanceMetadata is what a Node is initialised with. Its addresses are updated later on, its labels aren't.
func (c *Cloud) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	f, err := c.find(ctx, node)
	if err != nil {
		return nil, err
	}
	metadata, err := c.metadataOf(ctx, f, node)
	if uninitialized(node) { // an initialised one has all of it, except changed addresses
		c.problems.initializes(node, err)
	}
	return metadata, err
}

func (c *Cloud) metadataOf(ctx context.Context, f found, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	addresses := nodeAddresses(f.is)
	if len(addresses) == 0 && uninitialized(node) {
		return nil, fmt.Errorf("instance %s has no address yet", f.is.ID)
	}
	place, err := f.place(ctx, f.is)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:    providerid.ProviderID{SiteID: f.id(), InstanceID: f.is.ID}.String(),
		InstanceType:  place.InstanceType,
		NodeAddresses: addresses,
		Zone:          place.Zone,
		Region:        place.Region,
	}
	if c.config.AdditionalLabels {
		metadata.AdditionalLabels = additionalLabels(f.is)
	}
	return metadata, nil
}
