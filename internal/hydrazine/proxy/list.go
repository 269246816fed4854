package proxy

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy/feed"
)

const (
	pageSize, maxPageSize = 100, 500
	// maxPageBytes is less than what gRPC's clients accept in one message.
	maxPageBytes = 2 << 20
	// listStep is how many objects the API server is asked for at a time.
	listStep = 50
	// listsAtATime limits the concurrent lists, tenantLists those of one tenant.
	listsAtATime, tenantLists = 8, 2
)

// page of a list.
type page[M proto.Message] struct {
	items         []M
	next, version string
}

func (s *service[M]) list(ctx context.Context, r *proxyv1.ListRequest) (page[M], error) {
	by := scopeOf(ctx)
	limit := int(r.GetPageSize())
	switch {
	case limit < 0:
		return page[M]{}, invalid("page_size", "it is negative")
	case limit == 0:
		limit = pageSize
	}
	limit = min(limit, maxPageSize)
	if s.clusterWide && s.ownerOf(by) != "" {
		return s.listOwned(ctx, s.ownerOf(by), limit, r.GetPageToken())
	}
	namespace := ""
	if !s.clusterWide && by.tenant != everyone {
		var err error
		if namespace, err = s.namespaceOf(by); err != nil {
			return page[M]{}, err
		}
	}
	p, err := s.listAll(ctx, namespace, limit, r.GetPageToken())
	if err == nil && ctx.Err() != nil { // its turn ends with the call, and there is nothing to answer
		return page[M]{}, translate(ctx, ctx.Err(), s.name+"s", s.path)
	}
	return p, err
}

// listAll objects of a namespace, or of all, as the API server pages them: few at a time, as it only bounds their number.
func (s *service[M]) listAll(ctx context.Context, namespace string, limit int, token string) (page[M], error) {
	giveBack, err := s.limits.lists.take(ctx, scopeOf(ctx).organization)
	if err != nil {
		return page[M]{}, status.FromContextError(err).Err()
	}
	// What has been read takes memory until it is an answer, which counts by itself.
	defer func() { ctx.Value(callKey{}).(*call).finally(giveBack) }()
	p, step := page[M]{next: token}, listStep
	for found, bytes := 0, 0; found < limit; {
		list := s.kind.list()
		err := s.client.List(ctx, list, &client.ListOptions{Namespace: namespace, Limit: int64(min(step, limit-found)), Continue: p.next})
		switch {
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			return page[M]{}, listAgain("page_token: it is too old: begin with the first page")
		case apierrors.IsBadRequest(err) && token != "":
			return page[M]{}, invalid("page_token", "it wasn't returned by a list")
		case err != nil:
			return page[M]{}, translate(ctx, err, s.name+"s", s.path)
		}
		items, n, fit := s.messages(list, &bytes)
		switch {
		case fit < n && found > 0:
			return p, nil
		case fit < n:
			step, bytes = max(fit, 1), 0 // only the API server can say where the next page begins
			continue
		}
		p.items, p.next, p.version = append(p.items, items...), list.GetContinue(), list.GetResourceVersion()
		if found += n; p.next == "" || step < listStep {
			break
		}
	}
	return p, nil
}

// messages of a list, how many objects it has, and how many of them fit into a page that has so many bytes already.
func (s *service[M]) messages(list client.ObjectList, bytes *int) (items []M, n, fit int) {
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		message := s.message(o.(client.Object))
		if *bytes += proto.Size(message); *bytes <= maxPageBytes || n == 0 {
			fit++
		}
		n++
		if s.clusterWide || s.tenant(s.owner(o.(client.Object))) != "" {
			items = append(items, message)
		}
		return nil
	})
	return items, n, fit
}

// listOwned is a page of the cluster-wide objects that one tenant has. The API server would page through all of them, and
// its token would name others'.
func (s *service[M]) listOwned(ctx context.Context, owner string, limit int, token string) (page[M], error) {
	after, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return page[M]{}, invalid("page_token", "it wasn't returned by a list")
	}
	items, err := s.feed.Of(owner)
	if err != nil {
		return page[M]{}, translate(ctx, err, s.name+"s", s.path)
	}
	from, found := slices.BinarySearchFunc(items, string(after), func(item *feed.Item[M], name string) int {
		return strings.Compare(item.Name, name)
	})
	if found {
		from++
	}
	p := page[M]{}
	for _, item := range items[from:min(from+limit, len(items))] {
		p.items = append(p.items, item.Value)
	}
	if from+limit < len(items) {
		p.next = base64.RawURLEncoding.EncodeToString([]byte(items[from+limit-1].Name))
	}
	return p, nil
}
