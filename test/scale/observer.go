package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observer watches the fleet, as Cluster API would.
type observer struct {
	statusOf func(client.Object) (provisioned bool, instanceID string)
	mu       sync.Mutex
	// clusterSights and machineSights are by the names of the objects.
	clusterSights, machineSights map[string]sight
}

// sight is what was seen of a cluster or a machine.
type sight struct {
	instanceID string
	// provisioned is when that was first seen; zero if it wasn't yet.
	provisioned time.Time
}

// observe watches until ctx ends.
func (r *rig) observe(ctx context.Context) (*observer, error) {
	o := &observer{statusOf: r.system.statusOf, clusterSights: map[string]sight{}, machineSights: map[string]sight{}}
	watches, err := ctrlcache.New(r.config, ctrlcache.Options{
		Scheme: r.client.Scheme(), DefaultTransform: ctrlcache.TransformStripManagedFields(),
		DefaultNamespaces: map[string]ctrlcache.Config{fleetNamespace: {}},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the fleet: %w", err)
	}
	go func() { _ = watches.Start(ctx) }() // ends with ctx
	for _, of := range []struct {
		kind client.Object
		seen map[string]sight
	}{{r.system.cluster, o.clusterSights}, {r.system.machine, o.machineSights}} {
		informer, err := watches.GetInformer(ctx, of.kind)
		if err == nil {
			_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(now any) { o.see(of.seen, now) },
				UpdateFunc: func(_, now any) { o.see(of.seen, now) },
				DeleteFunc: func(gone any) { o.miss(of.seen, gone) },
			})
		}
		if err != nil {
			return nil, fmt.Errorf("watch the fleet: %w", err)
		}
	}
	return o, nil
}

func (o *observer) see(seen map[string]sight, watched any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	object := watched.(client.Object)
	provisioned, instanceID := o.statusOf(object)
	now := sight{instanceID: instanceID, provisioned: seen[object.GetName()].provisioned}
	if provisioned && now.provisioned.IsZero() {
		now.provisioned = time.Now()
	}
	seen[object.GetName()] = now
}

func (o *observer) miss(seen map[string]sight, watched any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if unknown, ok := watched.(cache.DeletedFinalStateUnknown); ok {
		watched = unknown.Obj
	}
	delete(seen, watched.(client.Object).GetName())
}

// clustersReady is how many clusters are provisioned.
func (o *observer) clustersReady() (ready int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.clusterSights {
		if !c.provisioned.IsZero() {
			ready++
		}
	}
	return ready
}

// clusterReady is when a cluster was provisioned.
func (o *observer) clusterReady(name string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.clusterSights[name].provisioned
}

// clustersKnown is how many there are.
func (o *observer) clustersKnown() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.clusterSights)
}

// tally of the machines that are there: all, those with an instance, and those that are provisioned.
func (o *observer) tally() (all, made, ready int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.machineSights {
		if m.instanceID != "" {
			made++
		}
		if !m.provisioned.IsZero() {
			ready++
		}
	}
	return len(o.machineSights), made, ready
}

// delays between "Ready out there", by the site's own time, and the moment in which that was seen here.
func (o *observer) delays(readySince map[string]time.Time) []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []time.Duration
	for _, m := range o.machineSights {
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
