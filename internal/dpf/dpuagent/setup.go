package dpuagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/patch"
)

// Config of an agent.
type Config struct {
	Node          string // of the DPU in its cluster
	OVSDatabase   string // as OVSDB writes it
	OVSRunDir     string // with the control sockets of bridges
	Ofctl         string // the program ovs-ofctl
	DatapathType  string // of the bridge, if it has to be made
	InterfaceType string // of ports to hardware, as Open vSwitch calls it; "" is the kernel's
	Interval      time.Duration
	Options       controller.Options
	Controllers   string // Interfaces or Chains; "" is both
}

// Parts of an agent, which may be two processes. That of interfaces writes ports, that of chains writes flows.
const (
	Interfaces = "interfaces"
	Chains     = "chains"
)

func (c Config) has(part string) bool { return c.Controllers == "" || c.Controllers == part }

// Setup registers the agent with a manager.
func Setup(mgr ctrl.Manager, config Config) error {
	changed := make(chan event.GenericEvent, 1)
	database, err := openvswitch.New(config.OVSDatabase, func() {
		select {
		case changed <- event.GenericEvent{}:
		default: // one is pending already
		}
	})
	if err != nil {
		return err
	}
	of, err := nodeCache(mgr, config.Node)
	if err != nil {
		return err
	}
	a := &agent{
		Client: mgr.GetClient(), cache: of, config: config, database: database,
		flows: &flows{program: config.Ofctl, dir: config.OVSRunDir},
	}
	config.Options.MaxConcurrentReconciles = 1
	one := []reconcile.Request{{NamespacedName: client.ObjectKey{Name: config.Node}}}
	wake := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return one })
	changed <- event.GenericEvent{} // what was made for objects that are gone has to go too
	all := ctrl.NewControllerManagedBy(mgr).Named("dpf-dpu-agent")
	if config.has(Chains) {
		all = all.WatchesRawSource(source.Kind(of, client.Object(&svcv1.ServiceChain{}), wake))
	}
	err = all.WatchesRawSource(source.Kind(of, client.Object(&svcv1.ServiceInterface{}), wake)).
		WatchesRawSource(source.Kind(of, client.Object(&corev1.Pod{}), wake)).
		WatchesRawSource(source.Channel(changed, wake)).
		WithOptions(config.Options).
		Complete(patch.ExpectConflicts(a))
	if err != nil {
		return fmt.Errorf("set up the agent: %w", err)
	}
	return errors.Join(
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			database.Connect(ctx)
			<-ctx.Done()
			database.Close()
			return nil
		})),
		mgr.AddReadyzCheck("openvswitch", func(*http.Request) error {
			if !database.Connected() {
				return openvswitch.ErrDisconnected
			}
			return nil
		}),
	)
}

// nodeCache has the node's pods of services. Of other nodes' interfaces and chains it has no more than the names.
func nodeCache(mgr ctrl.Manager, node string) (cache.Cache, error) {
	ofServices, err := labels.NewRequirement(svcv1.ServiceIDLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	other := func(o metav1.ObjectMeta) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	}
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		ByObject: map[client.Object]cache.ByObject{
			&svcv1.ServiceInterface{}: {Transform: func(o any) (any, error) {
				if i, ok := o.(*svcv1.ServiceInterface); ok && i.Spec.Node != node {
					return &svcv1.ServiceInterface{ObjectMeta: other(i.ObjectMeta)}, nil
				}
				return o, nil
			}},
			&svcv1.ServiceChain{}: {Transform: func(o any) (any, error) {
				if c, ok := o.(*svcv1.ServiceChain); ok && c.Spec.Node != node {
					return &svcv1.ServiceChain{ObjectMeta: other(c.ObjectMeta)}, nil
				}
				return o, nil
			}},
			&corev1.Pod{}: {
				Field: fields.OneTermEqualSelector("spec.nodeName", node), Label: labels.NewSelector().Add(*ofServices),
				Transform: func(o any) (any, error) {
					if p, ok := o.(*corev1.Pod); ok {
						return &corev1.Pod{ObjectMeta: p.ObjectMeta}, nil
					}
					return o, nil
				},
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of node %s: %w", node, err)
	}
	return c, mgr.Add(c)
}
