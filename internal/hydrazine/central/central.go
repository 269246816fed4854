// Package central runs OVN's central databases, one set for each ResourceGroup: what goes wrong in one harms no other tenant.
//
// A central is disposable. Everything in it is written anew from the objects in Kubernetes, so its databases need no backup
// and no replica. DPUs that lose it go on with the flows they have. They must not see one that is only half written: that
// would take away what is missing. So a central begins closed, and is opened to the DPUs once it is complete.
package central

import "context"

// Central is where the databases of one group are.
type Central struct {
	// Northbound and Southbound are where this process reaches them, as OVSDB writes it, such as unix:/run/…/nb.sock.
	Northbound, Southbound string
	// ForDPUs is where the DPUs reach the southbound database once it is open, such as tcp:172.18.0.2:16642. It stays the
	// same as long as the central isn't deleted.
	ForDPUs string
	// Open says whether they may.
	Open bool
}

// Runtime starts, opens and deletes centrals. The name of a group is unique and fit for a file's. All methods may be called
// again at any time, and after a crash of the caller: they look at what there is.
type Runtime interface {
	// Ensure starts what doesn't run of a group's central.
	Ensure(ctx context.Context, group string) (Central, error)
	// Open lets the DPUs connect to the southbound database.
	Open(ctx context.Context, group string) error
	// Delete ends a group's central and removes its databases. One that isn't there is deleted.
	Delete(ctx context.Context, group string) error
	// Died receives the name of a group when a part of its central has ended by itself.
	Died() <-chan string
}
