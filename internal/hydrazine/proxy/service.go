package proxy

import (
	"context"
	"reflect"
	"strings"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	proxyv1 "github.com/bedplate/bedplate/api/hydrazine/proxy/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy/feed"
)

// +kubebuilder:rbac:groups=resource.bedplate.dev,resources=resourcegroups;managedresources,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=publicips,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create

// service is what is the same for all kinds. M is the kind's message. It reads and writes the API server itself, so that
// everybody sees at once what he has written.
type service[M proto.Message] struct {
	*kind
	*backend
	feed   *feed.Feed[M]
	asking singleflight.Group // for the newest version
}

// backend is what the services share.
type backend struct {
	*Tenancy
	client   client.WithWatch
	limits   *limits
	metrics  *Metrics
	stopping context.Context // ends when the server does
	// createNamespaces of tenants that have none.
	createNamespaces bool
}

func newService[M proto.Message](b *backend, k *kind) (*service[M], error) {
	s := &service[M]{kind: k, backend: b}
	s.feed = feed.New(feed.Config{Remember: 4096, RememberBytes: 32 << 20, Backlog: 1024}, s.item)
	return s, k.pair()
}

// what an object is called in errors.
func (s *service[M]) what(name string) string { return s.name + " " + name }

func (s *service[M]) message(o client.Object) M {
	return s.toMessage(o, s.tenant(s.owner(o))).(M)
}

// place of an object that a request names. An operator has to say whose it is.
func (s *service[M]) place(by scope, name string) (types.NamespacedName, error) {
	place := types.NamespacedName{Name: name}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return place, invalid("name", problems[0])
	}
	var err error
	if !s.clusterWide {
		place.Namespace, err = s.namespaceOf(by)
	}
	return place, err
}

// namespaceOf the one tenant that a call is about.
func (s *service[M]) namespaceOf(by scope) (string, error) {
	if by.tenant == "" || by.tenant == everyone {
		return "", invalid("tenant", "required: the tenant of the object")
	}
	return s.namespace(by.tenant)
}

// change reports whether a client may create and delete objects.
func (s *service[M]) change(by scope) error {
	switch {
	case !s.clusterWide:
		return nil
	case !by.operator:
		return status.Errorf(codes.PermissionDenied, "only operators may create and delete a %s", s.name)
	case by.tenant != "":
		return invalid("tenant", "a "+s.name+" isn't made for a tenant: leave it out")
	}
	return nil
}

func (s *service[M]) create(ctx context.Context, name string, spec proto.Message) (none M, err error) {
	wanted, err := s.wanted(ctx, name, spec)
	if err != nil {
		return none, err
	}
	err = s.client.Create(ctx, wanted)
	if noNamespace(err) {
		if err := s.makeNamespace(ctx, wanted.GetNamespace()); err != nil {
			return none, err
		}
		err = s.client.Create(ctx, wanted)
	}
	switch {
	case err == nil:
		return s.message(wanted), nil
	// The API server may refuse the second of two just because there is the first.
	case apierrors.IsAlreadyExists(err), apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return s.existing(ctx, wanted, err)
	}
	return none, translate(ctx, err, s.what(name), s.path)
}

// wanted is the object that a request asks for.
func (s *service[M]) wanted(ctx context.Context, name string, spec proto.Message) (client.Object, error) {
	by := scopeOf(ctx)
	if err := s.change(by); err != nil {
		return nil, err
	}
	place, err := s.place(by, name)
	if err != nil {
		return nil, err
	}
	wanted := s.object()
	wanted.SetName(place.Name)
	wanted.SetNamespace(place.Namespace)
	if err := s.setSpec(wanted, spec); err != nil {
		return nil, err
	}
	return wanted, s.complete(wanted, nil, by)
}

func (s *service[M]) setSpec(o client.Object, spec proto.Message) error {
	fresh := reflect.New(specOf(o).Type()).Elem()
	if err := s.spec.FromMessage(spec.ProtoReflect(), fresh); err != nil {
		return unknown(err)
	}
	specOf(o).Set(fresh)
	return nil
}

// existing is the object that a create was refused for, if that is what was asked for.
func (s *service[M]) existing(ctx context.Context, wanted client.Object, refused error) (none M, err error) {
	there, what := s.object(), s.what(wanted.GetName())
	err = s.client.Get(ctx, client.ObjectKeyFromObject(wanted), there)
	switch {
	case apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(refused):
		return none, translate(ctx, refused, what, s.path)
	case apierrors.IsNotFound(err):
		return none, unavailable(what + ": it was there, and is gone now")
	case err != nil:
		return none, translate(ctx, err, what, s.path)
	}
	differ := s.spec.Differences(specOf(wanted), specOf(there))
	switch {
	case there.GetDeletionTimestamp() != nil:
		return none, failure{code: codes.FailedPrecondition, reason: "BEING_DELETED", retry: retrySoon,
			message: what + ": one of this name is still being deleted"}.error()
	case len(differ) > 0:
		fields := "spec." + strings.Join(differ, ", spec.")
		return none, failure{code: codes.AlreadyExists, reason: "SPEC_DIFFERS", about: map[string]string{"fields": fields},
			message: what + ": there is one already, which differs in " + fields}.error()
	}
	return s.message(there), nil
}

// Get is a method of all services.
func (s *service[M]) Get(ctx context.Context, r *proxyv1.GetRequest) (none M, err error) {
	by, name := scopeOf(ctx), r.GetName()
	place, err := s.place(by, name)
	if err != nil {
		return none, err
	}
	object := s.object()
	if err := s.client.Get(ctx, place, object); err != nil {
		return none, translate(ctx, err, s.what(name), s.path)
	}
	if owner := s.ownerOf(by); owner != "" && s.tenant(s.owner(object)) != owner {
		return none, translate(ctx, apierrors.NewNotFound(schema.GroupResource{}, name), s.what(name), s.path)
	}
	return s.message(object), nil
}

// ownerOf is the only one whose objects a call is about, or "".
func (s *service[M]) ownerOf(by scope) string {
	if by.tenant == everyone {
		return ""
	}
	return by.tenant
}

func (s *service[M]) update(ctx context.Context, name, version string, spec proto.Message) (none M, err error) {
	by := scopeOf(ctx)
	place, err := s.place(by, name)
	if err != nil {
		return none, err
	}
	if version == "" {
		return none, invalid("resource_version", "required: the resource_version of the object that was read")
	}
	current := s.object()
	if err := s.client.Get(ctx, place, current); err != nil {
		return none, translate(ctx, err, s.what(name), s.path)
	}
	wanted := current.DeepCopyObject().(client.Object)
	if err := s.setSpec(wanted, spec); err != nil {
		return none, err
	}
	if err := s.complete(wanted, current, by); err != nil {
		return none, err
	}
	switch {
	case len(s.spec.Differences(specOf(wanted), specOf(current))) == 0:
		return s.message(current), nil
	case version != current.GetResourceVersion():
		return none, translate(ctx, apierrors.NewConflict(schema.GroupResource{}, name, nil), s.what(name), s.path)
	}
	// A patch leaves alone what this version of the proxy doesn't know.
	if err := s.client.Patch(ctx, wanted, client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{})); err != nil {
		return none, translate(ctx, err, s.what(name), s.path)
	}
	return s.message(wanted), nil
}

// Delete is a method of all services.
func (s *service[M]) Delete(ctx context.Context, r *proxyv1.DeleteRequest) (*emptypb.Empty, error) {
	by := scopeOf(ctx)
	if err := s.change(by); err != nil {
		return nil, err
	}
	place, err := s.place(by, r.GetName())
	if err != nil {
		return nil, err
	}
	object, options := s.object(), &client.DeleteOptions{}
	object.SetName(place.Name)
	object.SetNamespace(place.Namespace)
	if uid := types.UID(r.GetUid()); uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: ptr.To(uid)}
	}
	err = s.client.Delete(ctx, object, options)
	if err != nil && (!apierrors.IsNotFound(err) || !r.GetAllowMissing()) {
		return nil, translate(ctx, err, s.what(place.Name), s.path)
	}
	return &emptypb.Empty{}, nil
}
