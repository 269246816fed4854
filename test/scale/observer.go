package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// observer watches the fleet, as Cluster API would.
type observer struct {
	mu          sync.Mutex
	provisioned map[string]time.Time // clusters, when that was first seen; zero if it wasn't yet
	sights      map[string]sight
}

// sight is what was seen of an NvidiaBMMMachine.
type sight struct {
	instanceID string
	// provisioned is when that was first seen; zero if it wasn't yet.
	provisioned time.Time
}

// observe watches until ctx ends.
func (r *rig) observe(ctx context.Context) (*observer, error) {
	o := &observer{provisioned: map[string]time.Time{}, sights: map[string]sight{}}
	watches, err := ctrlcache.New(r.config, ctrlcache.Options{
		Scheme: r.client.Scheme(), DefaultTransform: ctrlcache.TransformStripManagedFields(),
		DefaultNamespaces: map[string]ctrlcache.Config{fleetNamespace: {}},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the fleet: %w", err)
	}
	go func() { _ = watches.Start(ctx) }() // ends with ctx
	for _, kind := range []client.Object{&infrav1.NvidiaBMMCluster{}, &infrav1.NvidiaBMMMachine{}} {
		informer, err := watches.GetInformer(ctx, kind)
		if err == nil {
			_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: o.see, UpdateFunc: func(_, now any) { o.see(now) }, DeleteFunc: o.miss,
			})
		}
		if err != nil {
			return nil, fmt.Errorf("watch the fleet: %w", err)
		}
	}
	return o, nil
}

func (o *observer) see(object any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch object := object.(type) {
	case *infrav1.NvidiaBMMCluster:
		since := o.provisioned[object.Name]
		if ptr.Deref(object.Status.Initialization.Provisioned, false) && since.IsZero() {
			since = time.Now()
		}
		o.provisioned[object.Name] = since
	case *infrav1.NvidiaBMMMachine:
		now := sight{instanceID: object.Status.InstanceID, provisioned: o.sights[object.Name].provisioned}
		if ptr.Deref(object.Status.Initialization.Provisioned, false) && now.provisioned.IsZero() {
			now.provisioned = time.Now()
		}
		o.sights[object.Name] = now
	}
}

func (o *observer) miss(object any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	switch object := object.(type) {
	case *infrav1.NvidiaBMMCluster:
		delete(o.provisioned, object.Name)
	case *infrav1.NvidiaBMMMachine:
		delete(o.sights, object.Name)
	}
}

// clustersReady is how many clusters are provisioned.
func (o *observer) clustersReady() (ready int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, since := range o.provisioned {
		if !since.IsZero() {
			ready++
		}
	}
	return ready
}

// clusterReady is when a cluster was provisioned.
func (o *observer) clusterReady(name string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.provisioned[name]
}

// clustersKnown is how many there are.
func (o *observer) clustersKnown() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.provisioned)
}

// tally of the machines that are there: all, those with an instance, and those that are provisioned.
func (o *observer) tally() (all, made, ready int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.sights {
		if m.instanceID != "" {
			made++
		}
		if !m.provisioned.IsZero() {
			ready++
		}
	}
	return len(o.sights), made, ready
}

// delays between "Ready out there", by the site's own time, and the moment in which that was seen here.
func (o *observer) delays(readySince map[string]time.Time) []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []time.Duration
	for _, m := range o.sights {
		if since, ok := readySince[m.instanceID]; ok && !m.provisioned.IsZero() {
			all = append(all, m.provisioned.Sub(since))
		}
	}
	return all
}

// until waits for a condition: check returns what is still missing, and makes no call for longer than its context lasts.
// It fails, and says what was missing last, when the manager ends, or when nothing has come of it in time.
func (r *rig) until(ctx context.Context, what string, patience time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var ended <-chan struct{}
	if r.manager != nil {
		ended = r.manager.process.Done()
	}
	for {
		missing := check(ctx)
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w: %w", what, ctx.Err(), missing)
		case <-ended:
			return fmt.Errorf("wait until %s: %w: %w", what, r.manager.process.ExitError(), missing)
		case <-ticker.C:
		}
	}
}

// count is what is missing while there are more or less than wanted.
func count(what string, are, wanted int) error {
	if are == wanted {
		return nil
	}
	return fmt.Errorf("%d %s instead of %d", are, what, wanted)
}

// clustersLeft is how many clusters there are.
func (o *observer) clustersLeft() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.provisioned)
}
