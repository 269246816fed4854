package crashtest

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// errDead is the error of every call of a dead process; a living one takes it for a broken connection.
var errDead = errors.New("connection lost")

// Fuse kills a process: it lets a number of points pass and fails everything after that. Each outside call and each write
// to the API server has two points: before it, and when its work is done but not answered yet.
type Fuse struct {
	// late: the call during which the process died reaches the service, but only when deliver is called.
	late bool
	// once: the process stays alive, and only that one call or write fails.
	once bool

	mu    sync.Mutex
	left  int
	blown bool
	held  []func() error
	// writes says of each point so far whether it is in a call that changes something outside, or a write to the API server.
	writes []bool
	// delivered: there was a call for the service to do late.
	delivered bool
	// die cancels everything that the process is doing.
	die context.CancelFunc
	// cache shows objects as of behind revisions ago; nil if it is up to date.
	cache  *history
	behind int
	// newLedgers: the cache of ledgers is up to date.
	newLedgers bool
}

// Unbroken is a fuse that never blows.
func Unbroken() *Fuse { return &Fuse{left: -1} }

// step passes a point. First is true for the one at which the fuse blows.
func (f *Fuse) step(writes bool) (first bool, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, writes)
	switch {
	case f.blown && f.once:
		return false, nil
	case f.blown:
		return false, errDead
	case f.left == 0:
		f.blown = true
		if f.die != nil && !f.once {
			f.die()
		}
		return true, errDead
	}
	f.left--
	return false, nil
}

func (f *Fuse) isBlown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

// Dead reports whether the process has died: what is still done is done by the service, without a client.
func (f *Fuse) Dead() bool { return f.isBlown() && !f.once }

// Call is one outside call. Changes says that the call changes something outside, so that it matters whether the
// service does the work of a dead client.
func (f *Fuse) Call(changes bool, work func() error) error { return f.call(changes, changes, work) }

func (f *Fuse) call(changes, writes bool, work func() error) error {
	if first, err := f.step(writes); err != nil {
		if first && changes && f.late {
			f.hold(work)
		}
		return err
	}
	err := work()
	if _, dead := f.step(writes); dead != nil {
		return dead
	}
	return err
}

func (f *Fuse) hold(work func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, work)
}

// deliver lets the service do the work of the dead client.
func (f *Fuse) deliver() {
	f.mu.Lock()
	held := f.held
	f.held, f.delivered = nil, f.delivered || len(f.held) > 0
	f.mu.Unlock()
	for _, work := range held {
		_ = work() // the client is dead
	}
}

// Transport passes outside calls over HTTP through the fuse.
func (f *Fuse) Transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (response *http.Response, err error) {
		err = f.Call(r.Method != http.MethodGet, func() error {
			sent := r.Clone(context.WithoutCancel(r.Context())) // it may be sent long after its client has died
			if r.GetBody != nil {
				if sent.Body, err = r.GetBody(); err != nil {
					return err
				}
			}
			response, err = next.RoundTrip(sent)
			return err
		})
		if err != nil && response != nil {
			_ = response.Body.Close()
			response = nil
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// Client passes writes to the API server through the fuse, and reads from a cache. A dead process reads nothing either.
func (f *Fuse) Client(c client.WithWatch) client.WithWatch { return f.client(c, f.behind) }

// Live is a client that reads past the cache.
func (f *Fuse) Live(c client.WithWatch) client.WithWatch { return f.client(c, 0) }

func (f *Fuse) client(c client.WithWatch, behind int) client.WithWatch {
	write := func(work func() error) error { return f.call(false, true, work) }
	read := func(work func() error) error {
		if f.Dead() {
			return errDead
		}
		return work()
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return read(func() error {
				if err := c.Get(ctx, key, o, opts...); f.cache == nil || client.IgnoreNotFound(err) != nil {
					return err
				} else { //nolint:revive // the error may be that there is none
					if _, ledger := o.(*ledgerv1.Ledger); ledger && f.newLedgers {
						return f.cache.show(key, o, err, 0)
					}
					return f.cache.show(key, o, err, behind)
				}
			})
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return read(func() error { return c.List(ctx, l, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}
