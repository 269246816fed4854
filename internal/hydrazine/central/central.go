// Package central runs OVN's central databases, one set for each ResourceGroup: a failure of one harms no other tenant.
//
// A central is disposable. Everything in it is rebuilt from the objects in Kubernetes, so its databases need no backup and no
// replica. DPUs that lose it continue with the flows they have. They must not see one that is only half written: they would
// remove what is missing. So a central starts closed, and is opened to the DPUs once it is complete: by a row in its
// southbound database, which is lost with the rest of it.
package central

import (
	"context"
	"crypto/tls"
	"errors"
)

// ErrOnItsWay means that the operation has started, and that Runtime.Died says when to call it again.
var ErrOnItsWay = errors.New("in progress")

// Central has the addresses of the databases of one group.
type Central struct {
	// Northbound and Southbound are where this process reaches them, as OVSDB writes it, such as unix:/run/…/nb.sock.
	Northbound, Southbound string
	// TLS is for ssl: addresses. Another pointer means other certificates.
	TLS *tls.Config
	// ForDPUs is where the DPUs reach the southbound database once it is open, such as ssl:172.18.0.2:16642. It stays the
	// same as long as the central isn't deleted.
	ForDPUs string
	// Listen is what the southbound database listens at once it is open, such as pssl:16642:172.18.0.2.
	Listen string
	// Authority signs the certificates by which the southbound database identifies the DPUs. Without one it speaks
	// plaintext.
	Authority *Authority
}

// Runtime starts and deletes centrals. The name of a group is unique and fit for a file's. All methods may be called again at
// any time, and after a crash of the caller: they read the actual state. If something outside takes time, they don't wait for
// it but return ErrOnItsWay.
type Runtime interface {
	// Ensure starts the parts of a group's central that don't run. It is closed to the DPUs before one of its
	// databases starts empty.
	Ensure(ctx context.Context, group string) (Central, error)
	// Delete ends a group's central and removes its databases. One that doesn't exist counts as deleted.
	Delete(ctx context.Context, group string) error
	// Died receives the name of a group when a part of its central has ended by itself, or when something else of it has
	// changed.
	Died() <-chan string
}
