package dpucluster

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// reader reads cached kinds from their caches, as soon as these are filled, and everything else live. It never waits for a cache.
type reader struct {
	client.Client
	member  *member
	access  *rest.Config
	watches *http.Client
	// lifetime of the connection, and so of all caches.
	lifetime context.Context
	running  sync.WaitGroup

	mu sync.Mutex
	// caches, one for each kind: a cache of several needs a cluster that knows all of them.
	caches map[schema.GroupVersionKind]*kindCache
}

type kindCache struct {
	cache.Cache
	filled toolscache.InformerSynced
}

// addKinds starts caches of the kinds that the API server knows by now.
func (r *reader) addKinds() {
	for object, by := range r.member.of.config.Cached {
		kind, err := apiutil.GVKForObject(object, r.Scheme())
		if err == nil {
			err = r.addKind(kind, object, by)
		}
		if err != nil && !meta.IsNoMatchError(err) {
			ctrl.LoggerFrom(r.lifetime).Info("A kind of a DPU cluster isn't cached yet", "kind", kind.Kind, "error", err.Error())
		}
	}
}

func (r *reader) addKind(kind schema.GroupVersionKind, object client.Object, by cache.ByObject) error {
	r.mu.Lock()
	known := r.caches[kind] != nil
	r.mu.Unlock()
	if known {
		return nil
	}
	if _, err := r.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return err
	}
	store, err := cache.New(r.access, cache.Options{
		HTTPClient: r.watches, Scheme: r.Scheme(), Mapper: r.RESTMapper(), DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{object: by},
	})
	if err != nil {
		return fmt.Errorf("make a cache: %w", err)
	}
	informer, err := store.GetInformer(r.lifetime, object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("make an informer: %w", err)
	}
	if _, err := informer.AddEventHandler(r.events()); err != nil {
		return fmt.Errorf("listen to an informer: %w", err)
	}
	r.mu.Lock()
	r.caches[kind] = &kindCache{store, informer.HasSynced}
	r.mu.Unlock()
	r.running.Go(func() { _ = store.Start(r.lifetime) }) // it ends with the connection only
	return nil
}

func (r *reader) events() toolscache.ResourceEventHandler {
	tell := func(object any) {
		if deleted, is := object.(toolscache.DeletedFinalStateUnknown); is {
			object = deleted.Obj
		}
		if o, is := object.(client.Object); is {
			r.member.of.notify(Event{Cluster: r.member.name, Object: o})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell}
}

// from where an object or a list is read.
func (r *reader) from(o runtime.Object) (client.Reader, error) {
	switch o.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return r.Client, nil // these would have caches of their own
	}
	kind, err := apiutil.GVKForObject(o, r.Scheme())
	if err != nil {
		return nil, err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	r.mu.Lock()
	defer r.mu.Unlock()
	if cached := r.caches[kind]; cached != nil && cached.filled() {
		return cached, nil
	}
	return r.Client, nil
}

// Get implements client.Reader.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	from, err := r.from(o)
	if err != nil {
		return err
	}
	return from.Get(ctx, key, o, opts...)
}

// List implements client.Reader.
func (r *reader) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	from, err := r.from(l)
	if err != nil {
		return err
	}
	return from.List(ctx, l, opts...)
}
