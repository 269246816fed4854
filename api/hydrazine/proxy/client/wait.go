package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
)

// watchPause is before a watch is begun again.
const watchPause = 200 * time.Millisecond

// WaitResourceGroup waits until a ResourceGroup is Ready as it was when the wait began, or newer: what is said of an older
// generation doesn't count. Tenant is "" for the client's own. An error that wraps NOT_FOUND means that it is gone; when ctx ends, the error says what it has waited for.
func (c *Client) WaitResourceGroup(ctx context.Context, tenant, name string) (*proxyv1.ResourceGroup, error) {
	return wait(ctx, tenant, name, c.ResourceGroups.Get, c.ResourceGroups.Watch,
		(*proxyv1.WatchResourceGroupsResponse).GetResourceGroup,
		func(g *proxyv1.ResourceGroup) (bool, string) { return isReady(g, g.GetStatus().GetConditions()) })
}

// WaitManagedResource waits until a ManagedResource is Ready. See WaitResourceGroup.
func (c *Client) WaitManagedResource(ctx context.Context, tenant, name string) (*proxyv1.ManagedResource, error) {
	return wait(ctx, tenant, name, c.ManagedResources.Get, c.ManagedResources.Watch,
		(*proxyv1.WatchManagedResourcesResponse).GetManagedResource,
		func(r *proxyv1.ManagedResource) (bool, string) { return isReady(r, r.GetStatus().GetConditions()) })
}

// WaitPublicIP waits until a PublicIP is Ready: no host has it and one can, or a host has it and it is announced. See
// WaitResourceGroup.
func (c *Client) WaitPublicIP(ctx context.Context, tenant, name string) (*proxyv1.PublicIP, error) {
	return wait(ctx, tenant, name, c.PublicIPs.Get, c.PublicIPs.Watch, (*proxyv1.WatchPublicIPsResponse).GetPublicIp, isPublicIPReady)
}

type object interface {
	comparable
	GetMetadata() *proxyv1.Metadata
}

type event interface{ GetType() proxyv1.EventType }

// wait until an object of an API is ready.
func wait[O object, E any, P interface {
	*E
	event
}](
	ctx context.Context, tenant, name string,
	get func(context.Context, *proxyv1.GetRequest, ...grpc.CallOption) (O, error),
	watch func(context.Context, *proxyv1.WatchRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[E], error),
	objectOf func(P) O, isReady func(O) (ready bool, why string),
) (O, error) {
	var none, wanted O
	why := "nothing is known yet"
	look := func(o O) bool {
		// A watch may begin with something older than what Get has said.
		if wanted != none && (o.GetMetadata().GetUid() != wanted.GetMetadata().GetUid() ||
			o.GetMetadata().GetGeneration() < wanted.GetMetadata().GetGeneration()) {
			return false
		}
		ready := false
		ready, why = isReady(o)
		return ready
	}
	ask := func() (_ O, ready bool, err error) {
		wanted, err = get(ctx, &proxyv1.GetRequest{Tenant: tenant, Name: name})
		return wanted, err == nil && look(wanted), err
	}
	for {
		found, ready, err := ask()
		if err == nil && !ready {
			found, ready, err = follow(ctx, tenant, name, watch, func(p P) (O, bool, error) {
				switch p.GetType() {
				case proxyv1.EventType_EVENT_TYPE_BOOKMARK, proxyv1.EventType_EVENT_TYPE_DELETED: // is it gone?
					return ask()
				}
				return objectOf(p), look(objectOf(p)), nil
			})
		}
		if ready {
			return found, nil
		}
		if !again(err) {
			return none, fmt.Errorf("wait for %s: %w", name, err)
		}
		if said := status.Convert(err); said.Code() == codes.Unavailable || said.Code() == codes.ResourceExhausted {
			why = said.Message()
		}
		select {
		case <-ctx.Done():
			return none, fmt.Errorf("%s isn't ready: %s: %w", name, why, ctx.Err())
		case <-time.After(watchPause):
		}
	}
}

// follow a watch until something is found in it, or it ends.
func follow[O object, E any, P interface {
	*E
	event
}](
	ctx context.Context, tenant, name string,
	watch func(context.Context, *proxyv1.WatchRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[E], error),
	find func(P) (O, bool, error),
) (none O, _ bool, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := watch(ctx, &proxyv1.WatchRequest{Tenant: tenant, Name: name})
	if err != nil {
		return none, false, err
	}
	for {
		next, err := stream.Recv()
		if err != nil {
			return none, false, err
		}
		if found, ready, err := find(next); ready || err != nil {
			return found, ready, err
		}
	}
}

// again says whether a watch is to be begun again: it ends now and then.
func again(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.OutOfRange, codes.ResourceExhausted, codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return errors.Is(err, io.EOF)
}

// isReady says whether the object is, and why it isn't.
func isReady[O object](o O, conditions []*proxyv1.Condition) (bool, string) {
	for _, c := range conditions {
		if c.GetType() != "Ready" {
			continue
		}
		if c.GetObservedGeneration() < o.GetMetadata().GetGeneration() {
			return false, "its latest change hasn't been seen yet"
		}
		return c.GetStatus() == proxyv1.Condition_STATUS_TRUE, c.GetReason() + ": " + c.GetMessage()
	}
	return false, "no controller has seen it yet"
}

// isPublicIPReady is isReady of a PublicIP. A host may have got it since its conditions were written.
func isPublicIPReady(ip *proxyv1.PublicIP) (bool, string) {
	ready, why := isReady(ip, ip.GetStatus().GetConditions())
	if status := ip.GetStatus(); ready && status.GetAllocated() && (status.GetNextHop() == "" || len(status.GetAnnouncedBy()) == 0) {
		return false, "a host has it, and it isn't announced yet"
	}
	return ready, why
}
