package proxy

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy/feed"
)

const (
	// longestWatch lets a client come back now and then, perhaps to a replica with less to do.
	longestWatch = 30 * time.Minute
	// bookmarkInterval is how often a client gets a bookmark without a change.
	bookmarkInterval = time.Minute
)

// event of a watch, as a message says it.
type event[M proto.Message] struct {
	Type    proxyv1.EventType
	object  M
	version string
}

// watch sends changes until the call ends.
func (s *service[M]) watch(ctx context.Context, r *proxyv1.WatchRequest, send func(event[M]) error) error {
	by := scopeOf(ctx)
	if !s.clusterWide && by.tenant == "" {
		return invalid("tenant", "say whose objects, or - for all tenants")
	}
	after, err := strconv.ParseUint("0"+r.GetResourceVersion(), 10, 64)
	if err != nil {
		return invalid("resource_version", "it wasn't returned by a list or a watch")
	}
	giveBack, ok := s.limits.watches.take(by.caller)
	if !ok {
		s.metrics.refuse(refusedWatches)
		return tooMany("the tenant has reached its limit of watches", bookmarkInterval)
	}
	defer giveBack()
	open := s.metrics.watches.WithLabelValues(s.name)
	open.Inc()
	defer open.Dec()
	if err := s.happened(ctx, after); err != nil {
		return err
	}
	subscription, err := s.feed.Subscribe(feed.Filter{Owner: s.ownerOf(by), Name: r.GetName()}, after)
	if err != nil {
		return s.watchEnded(ctx, err)
	}
	defer subscription.Close()
	weight, begins := ctx.Value(callKey{}).(*call).weight, subscription.Weight()
	weight.Grow(begins)
	until := time.Now().Add(longestWatch)
	if !by.expires.IsZero() && by.expires.Before(until) {
		until = by.expires
	}
	ctx, cancel := context.WithDeadlineCause(ctx, until, errLong)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.stopping, func() { stop(errStopping) })()
	for {
		next, err := subscription.Next(ctx, bookmarkInterval)
		if err != nil {
			return s.watchEnded(ctx, err)
		}
		if next.Type == feed.Bookmark {
			weight.Grow(-begins)
			begins = 0
		}
		if next.Item != nil && next.Item.Owner == "" && !s.clusterWide {
			continue // in a namespace that is no tenant's
		}
		if err := send(eventOf(next)); err != nil {
			return err
		}
	}
}

// happened reports whether a version can be one that a client has seen. The API server may have been restored from a backup:
// a watch from there would be silent until as much has happened again. A list, or what the client has written itself, is
// ahead of the feed for a moment; then the API server is asked, once for all clients that wait.
func (s *service[M]) happened(ctx context.Context, version uint64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for range 2 { // the first answer may be to a question from before this call, and older than the version
		if version <= s.feed.Known() {
			return nil
		}
		select {
		case answer := <-s.asking.DoChan("", func() (any, error) { return nil, s.ask(version) }):
			if answer.Err != nil {
				return translate(ctx, answer.Err, s.name+"s", s.path)
			}
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	if version > s.feed.Known() {
		return listAgain("resource_version: that version doesn't exist yet: list again, or watch without a version")
	}
	return nil
}

// ask the API server for the newest version, unless the answer to another client has just said enough.
func (s *service[M]) ask(version uint64) error {
	if version <= s.feed.Known() {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.stopping, callTimeout)
	defer cancel()
	list := s.kind.list()
	if err := s.client.List(ctx, list, client.Limit(1)); err != nil {
		return err
	}
	newest, err := feed.Version(list.GetResourceVersion())
	if err == nil {
		s.feed.Know(newest)
	}
	return err
}

var (
	errLong     = errors.New("the watch has lasted long enough")
	errStopping = errors.New("the proxy ends")
)

func (s *service[M]) watchEnded(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, feed.ErrExpired):
		return listAgain("resource_version: " + err.Error() + ": list again, or watch without a version")
	case errors.Is(context.Cause(ctx), errLong):
		return nil
	case errors.Is(context.Cause(ctx), errStopping):
		return unavailable("this proxy is shutting down: watch again from the last version")
	}
	return translate(ctx, err, s.name+"s", s.path)
}

func eventOf[M proto.Message](e feed.Event[M]) event[M] {
	out := event[M]{Type: map[feed.Type]proxyv1.EventType{
		feed.Added:    proxyv1.EventType_EVENT_TYPE_ADDED,
		feed.Modified: proxyv1.EventType_EVENT_TYPE_MODIFIED,
		feed.Deleted:  proxyv1.EventType_EVENT_TYPE_DELETED,
		feed.Bookmark: proxyv1.EventType_EVENT_TYPE_BOOKMARK,
	}[e.Type]}
	if e.Item != nil {
		out.object = e.Item.Value
	}
	if e.Version != 0 {
		out.version = strconv.FormatUint(e.Version, 10)
	}
	return out
}

// item is an object as the feed knows it.
func (s *service[M]) item(o client.Object) *feed.Item[M] {
	version, _ := feed.Version(o.GetResourceVersion()) // 0 is before everything
	message := s.message(o)
	return &feed.Item[M]{
		Owner: s.tenant(s.owner(o)), Name: o.GetName(), Version: version, Bytes: decoded * proto.Size(message), Value: message,
	}
}

// run the feed until ctx ends.
func (s *service[M]) run(ctx context.Context) {
	s.feed.Run(ctx, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := s.kind.list()
			return list, s.client.List(ctx, list, &client.ListOptions{Raw: &options, Limit: options.Limit, Continue: options.Continue})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return s.client.Watch(ctx, s.kind.list(), &client.ListOptions{Raw: &options})
		},
	}, s.object())
}
