package proxy

import (
	"context"

	"google.golang.org/grpc"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// What follows gives the services the types of their messages. Get and Delete have the same for all.

type resourceGroups struct {
	proxyv1.UnsafeResourceGroupsServer
	*service[*proxyv1.ResourceGroup]
}

// Create implements proxyv1.ResourceGroupsServer.
func (s resourceGroups) Create(ctx context.Context, r *proxyv1.CreateResourceGroupRequest) (*proxyv1.ResourceGroup, error) {
	return s.create(ctx, r.GetName(), r.GetSpec())
}

// Update implements proxyv1.ResourceGroupsServer.
func (s resourceGroups) Update(ctx context.Context, r *proxyv1.UpdateResourceGroupRequest) (*proxyv1.ResourceGroup, error) {
	return s.update(ctx, r.GetName(), r.GetResourceVersion(), r.GetSpec())
}

// List implements proxyv1.ResourceGroupsServer.
func (s resourceGroups) List(ctx context.Context, r *proxyv1.ListRequest) (*proxyv1.ListResourceGroupsResponse, error) {
	p, err := s.list(ctx, r)
	return &proxyv1.ListResourceGroupsResponse{ResourceGroups: p.items, NextPageToken: p.next, ResourceVersion: p.version}, err
}

// Watch implements proxyv1.ResourceGroupsServer.
func (s resourceGroups) Watch(
	r *proxyv1.WatchRequest, stream grpc.ServerStreamingServer[proxyv1.WatchResourceGroupsResponse],
) error {
	return s.watch(stream.Context(), r, func(e event[*proxyv1.ResourceGroup]) error {
		return stream.Send(&proxyv1.WatchResourceGroupsResponse{Type: e.Type, ResourceGroup: e.object, ResourceVersion: e.version})
	})
}

type managedResources struct {
	proxyv1.UnsafeManagedResourcesServer
	*service[*proxyv1.ManagedResource]
}

// Create implements proxyv1.ManagedResourcesServer.
func (s managedResources) Create(ctx context.Context, r *proxyv1.CreateManagedResourceRequest) (*proxyv1.ManagedResource, error) {
	return s.create(ctx, r.GetName(), r.GetSpec())
}

// Update implements proxyv1.ManagedResourcesServer.
func (s managedResources) Update(ctx context.Context, r *proxyv1.UpdateManagedResourceRequest) (*proxyv1.ManagedResource, error) {
	return s.update(ctx, r.GetName(), r.GetResourceVersion(), r.GetSpec())
}

// List implements proxyv1.ManagedResourcesServer.
func (s managedResources) List(ctx context.Context, r *proxyv1.ListRequest) (*proxyv1.ListManagedResourcesResponse, error) {
	p, err := s.list(ctx, r)
	return &proxyv1.ListManagedResourcesResponse{ManagedResources: p.items, NextPageToken: p.next, ResourceVersion: p.version}, err
}

// Watch implements proxyv1.ManagedResourcesServer.
func (s managedResources) Watch(
	r *proxyv1.WatchRequest, stream grpc.ServerStreamingServer[proxyv1.WatchManagedResourcesResponse],
) error {
	return s.watch(stream.Context(), r, func(e event[*proxyv1.ManagedResource]) error {
		return stream.Send(&proxyv1.WatchManagedResourcesResponse{Type: e.Type, ManagedResource: e.object, ResourceVersion: e.version})
	})
}

type publicIPs struct {
	proxyv1.UnsafePublicIPsServer
	*service[*proxyv1.PublicIP]
}

// Create implements proxyv1.PublicIPsServer.
func (s publicIPs) Create(ctx context.Context, r *proxyv1.CreatePublicIPRequest) (*proxyv1.PublicIP, error) {
	return s.create(ctx, r.GetName(), r.GetSpec())
}

// List implements proxyv1.PublicIPsServer.
func (s publicIPs) List(ctx context.Context, r *proxyv1.ListRequest) (*proxyv1.ListPublicIPsResponse, error) {
	p, err := s.list(ctx, r)
	return &proxyv1.ListPublicIPsResponse{PublicIps: p.items, NextPageToken: p.next, ResourceVersion: p.version}, err
}

// Watch implements proxyv1.PublicIPsServer.
func (s publicIPs) Watch(
	r *proxyv1.WatchRequest, stream grpc.ServerStreamingServer[proxyv1.WatchPublicIPsResponse],
) error {
	return s.watch(stream.Context(), r, func(e event[*proxyv1.PublicIP]) error {
		return stream.Send(&proxyv1.WatchPublicIPsResponse{Type: e.Type, PublicIp: e.object, ResourceVersion: e.version})
	})
}
