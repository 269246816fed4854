// Package credentials turns Secrets into clients of outside services: one client per Secret, shared by all reconciles and
// built again when the Secret changes.
package credentials

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/fault"
)

const (
	// unusedFor is how long a client is kept that no reconcile asks for.
	unusedFor = time.Hour
	// maxKept bounds the clients that are kept of one namespace. Another one is built when it is asked for.
	maxKept = 256
)

// Reader reads one object. A client.Reader is one.
type Reader interface {
	Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error
}

// Cache holds the clients of type C.
type Cache[C any] struct {
	// Reader reads Secrets. It should read past the cache, so that no Secret stays in memory.
	Reader Reader
	// Metadata reads the metadata of Secrets from a cache: as long as that hasn't changed, no Secret is read. Optional.
	Metadata Reader
	// Build makes a client from a Secret. Its error must name what is wrong with the Secret, and must not repeat a value.
	Build func(*corev1.Secret) (C, error)
	Clock clock.PassiveClock

	mu      sync.Mutex
	clients map[types.NamespacedName]*cached[C]
}

type cached[C any] struct {
	client  C
	version string // of what the Secret says
	object  string // UID and resource version of the Secret when it was read
	used    time.Time
}

// Builder makes clients of type C by a configuration that read takes from a Secret. Change, which may be nil, modifies it before.
func Builder[Config, C any](read func(*corev1.Secret) (Config, error), change func(*Config), open func(Config) (C, error)) func(*corev1.Secret) (C, error) {
	return func(secret *corev1.Secret) (none C, _ error) {
		config, err := read(secret)
		if err != nil {
			return none, err
		}
		if change != nil {
			change(&config)
		}
		return open(config)
	}
}

// Client returns the client of a Secret. A Secret that is missing or unusable is an error of the class
// fault.Credentials that names it.
func (c *Cache[C]) Client(ctx context.Context, name types.NamespacedName) (C, error) {
	var none C
	if known, ok := c.unchanged(ctx, name); ok {
		return known, nil
	}
	secret := &corev1.Secret{}
	if err := c.Reader.Get(ctx, name, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return none, refused(name, "does not exist: create it")
		}
		return none, fmt.Errorf("read Secret %s: %w", name, err)
	}
	version := versionOf(secret)

	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	if known, ok := c.clients[name]; ok && known.version == version {
		known.used, known.object = now, objectOf(secret)
		return known.client, nil
	}
	built, err := c.Build(secret)
	if err != nil {
		return none, refused(name, "can't be used: "+err.Error())
	}
	c.forgetUnused(now)
	c.makeRoom(name)
	c.clients[name] = &cached[C]{client: built, version: version, object: objectOf(secret), used: now}
	return built, nil
}

// unchanged is the client of a Secret that is still the one which was read. A reconcile of each machine would else read it.
func (c *Cache[C]) unchanged(ctx context.Context, name types.NamespacedName) (none C, _ bool) {
	secret := metadataOfSecret()
	if c.Metadata == nil || c.Metadata.Get(ctx, name, secret) != nil {
		return none, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.clients[name]
	if !ok || known.object != objectOf(secret) {
		return none, false
	}
	known.used = c.Clock.Now()
	return known.client, true
}

func objectOf(secret client.Object) string {
	return string(secret.GetUID()) + "/" + secret.GetResourceVersion()
}

// versionOf changes with what a Secret says, and not with a finalizer or a label.
func versionOf(secret *corev1.Secret) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		_, _ = fmt.Fprintf(hash, "%q=%q\n", key, secret.Data[key])
	}
	return string(secret.UID) + "/" + string(hash.Sum(nil))
}

func (c *Cache[C]) forgetUnused(now time.Time) {
	if c.clients == nil {
		c.clients = map[types.NamespacedName]*cached[C]{}
	}
	for name, known := range c.clients {
		if now.Sub(known.used) > unusedFor {
			delete(c.clients, name)
		}
	}
}

// makeRoom for a client in its namespace: the least recently used one is dropped. c.mu is held.
func (c *Cache[C]) makeRoom(wanted types.NamespacedName) {
	var oldest types.NamespacedName
	kept := 0
	for name, known := range c.clients {
		if name.Namespace != wanted.Namespace || name == wanted {
			continue
		}
		if kept++; kept == 1 || known.used.Before(c.clients[oldest].used) {
			oldest = name
		}
	}
	if kept >= maxKept {
		delete(c.clients, oldest)
	}
}

func refused(name types.NamespacedName, why string) error {
	return &fault.Error{Class: fault.Credentials, Err: fmt.Errorf("secret %s %s", name, why)}
}
