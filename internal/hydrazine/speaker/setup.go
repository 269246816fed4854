package speaker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
	"github.com/bedplate/bedplate/internal/patch"
)

// reportDelay gathers news of sessions and addresses for one write of the status.
const reportDelay = 500 * time.Millisecond

// Config of a speaker.
type Config struct {
	Name          string // of this speaker, unlike all others'; the same after a restart
	Namespace     string // of the speakers' Leases, and of the Secrets with passwords
	Configuration string // name of the BGPConfiguration
	RouterID      netip.Addr
	Addresses     []netip.Addr // of its node, or machine: hosts are kept from them
	// Poll is how often Secrets and other speakers' Leases are read.
	Poll    time.Duration
	Options controller.Options
	Clock   clock.Clock
}

// signal that something has changed. Several count as one.
type signal chan event.GenericEvent

func (s signal) send() {
	select {
	case s <- event.GenericEvent{}:
	default: // one is pending already
	}
}

// Setup registers a speaker with a manager.
func Setup(mgr ctrl.Manager, config Config) error {
	sessionsChanged := make(signal, 1)
	server := bgp.New(mgr.GetLogger().WithName("bgp"), sessionsChanged.send)
	return errors.Join(
		setup(mgr, config, server, sessionsChanged),
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return server.Close()
		})),
	)
}

func setup(mgr ctrl.Manager, config Config, protocol BGP, sessionsChanged signal) error {
	allowedAgain, resumed := make(signal, 1), make(chan struct{})
	sessionsChanged.send() // that there is no BGPConfiguration has to be seen too
	t := newTable(protocol, config.Clock)
	ips := &publicIPs{
		Client: mgr.GetClient(), live: mgr.GetAPIReader(), name: config.Name, configuration: config.Configuration,
		bgp: protocol, table: t, resumed: resumed,
	}
	configs := &configurations{
		Client: mgr.GetClient(), live: mgr.GetAPIReader(), clock: config.Clock, name: config.Name, namespace: config.Namespace,
		routerID: config.RouterID, addresses: config.Addresses, bgp: protocol, table: t, poll: config.Poll, resumed: resumed,
	}
	beat := &heartbeat{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), clock: config.Clock, name: config.Name, namespace: config.Namespace,
		configuration: config.Configuration, bgp: protocol, table: t, resume: ips.resume, resumed: resumed, again: allowedAgain.send,
	}
	return errors.Join(
		ips.setup(mgr, config, allowedAgain), configs.setup(mgr, config, sessionsChanged), mgr.Add(beat),
		mgr.AddReadyzCheck("sessions", ready(protocol, resumed)),
	)
}

func (r *publicIPs) setup(mgr ctrl.Manager, config Config, allowedAgain signal) error {
	every := func(ctx context.Context, _ client.Object) []reconcile.Request { return r.every(ctx) }
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == config.Configuration })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("publicip").
		Watches(&networkfabricv1.PublicIP{}, handler.EnqueueRequestsFromMapFunc(r.seen)).
		WatchesRawSource(source.Kind(mgr.GetCache(), client.Object(&networkfabricv1.BGPConfiguration{}),
			handler.EnqueueRequestsFromMapFunc(every), ours, predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Channel(allowedAgain, handler.EnqueueRequestsFromMapFunc(every))).
		WithOptions(config.Options).
		Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of PublicIPs: %w", err)
	}
	return nil
}

func (r *configurations) setup(mgr ctrl.Manager, config Config, sessionsChanged signal) error {
	one := reconcile.Request{NamespacedName: client.ObjectKey{Name: config.Configuration}}
	later := func(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) { queue.AddAfter(one, reportDelay) }
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == config.Configuration })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("bgpconfiguration").
		For(&networkfabricv1.BGPConfiguration{}, builder.WithPredicates(ours)).
		WatchesRawSource(source.Channel(sessionsChanged, handler.Funcs{GenericFunc: func(
			_ context.Context, _ event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
		) {
			later(queue)
		}})).
		// The number of announced addresses is in the status.
		WatchesRawSource(source.Kind(mgr.GetCache(), &networkfabricv1.PublicIP{}, handler.TypedFuncs[*networkfabricv1.PublicIP, reconcile.Request]{
			UpdateFunc: func(_ context.Context, _ event.TypedUpdateEvent[*networkfabricv1.PublicIP],
				queue workqueue.TypedRateLimitingInterface[reconcile.Request],
			) {
				later(queue)
			},
		})).
		Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of the BGPConfiguration: %w", err)
	}
	return nil
}

// ready once a neighbor gets the addresses, or there is none: a rolling update has to wait for that.
func ready(protocol BGP, resumed <-chan struct{}) func(*http.Request) error {
	return func(*http.Request) error {
		select {
		case <-resumed:
		default:
			return errors.New("the PublicIPs aren't read yet")
		}
		all := protocol.Sessions()
		if len(all) > 0 && !slices.ContainsFunc(all, bgp.Session.Established) {
			return errors.New("no session is established")
		}
		return nil
	}
}
