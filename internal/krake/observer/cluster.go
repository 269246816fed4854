package observer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/apiserver"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/kubeconfig"
	"github.com/bedplate/bedplate/internal/patch"
)

// lookTimeout bounds a look with all its pages.
const lookTimeout = 30 * time.Second

// clusters looks at Clusters that have a kubeconfig.
type clusters struct {
	client.Client
	events events.EventRecorder
	// servers by the Secrets with their kubeconfigs.
	servers *credentials.Cache[*apiserver.Client]
	Config

	// fresh are turns of clusters that have never answered, failing those of clusters that don't answer now.
	fresh, failing turns

	mu    sync.Mutex
	known map[types.NamespacedName]*record
}

// record of a cluster. Only its own reconcile uses it, but for woken.
type record struct {
	history
	// due is when the next look is: at once where the Cluster has another generation than at the newest one, or its Secret has changed.
	due        time.Time
	generation int64
	woken      bool
	// counted is when the number of retries was written.
	counted time.Time
}

func newClusters(mgr ctrl.Manager, config Config) *clusters {
	build := func(secret *corev1.Secret) (*apiserver.Client, error) {
		data, has := secret.Data[kubeconfig.Key]
		if !has {
			return nil, fmt.Errorf("it has no key %q with a kubeconfig", kubeconfig.Key)
		}
		access, err := kubeconfig.Read(data)
		if err != nil {
			return nil, err
		}
		return apiserver.Open(access, config.Egress, maxAnswer)
	}
	return &clusters{
		Client: mgr.GetClient(), events: mgr.GetEventRecorder("bedplate-krake"), Config: config, known: map[types.NamespacedName]*record{},
		servers: &credentials.Cache[*apiserver.Client]{
			Reader: mgr.GetAPIReader(), Metadata: mgr.GetCache(), Build: build, Clock: config.Clock,
		},
	}
}

func (o *clusters) setup(mgr ctrl.Manager) error {
	options := o.Options
	options.MaxConcurrentReconciles = workers
	err := ctrl.NewControllerManagedBy(mgr).Named("krake-cluster-observer").For(&krakev1.Cluster{}).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(o.wake)).
		WithOptions(options).Complete(patch.ExpectConflicts(o))
	if err != nil {
		return fmt.Errorf("set up the observer of clusters: %w", err)
	}
	return nil
}

// wake those whose kubeconfig has changed.
func (o *clusters) wake(ctx context.Context, secret client.Object) (requests []ctrl.Request) {
	var all krakev1.ClusterList
	if err := o.List(ctx, &all, client.InNamespace(secret.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the Clusters with the kubeconfig in the Secret")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range all.Items {
		c := &all.Items[i]
		if c.Spec.Kubeconfig == nil || c.Spec.Kubeconfig.SecretRef.Name != secret.GetName() {
			continue
		}
		name := client.ObjectKeyFromObject(c)
		if known, ok := o.known[name]; ok {
			known.woken = true
		}
		requests = append(requests, ctrl.Request{NamespacedName: name})
	}
	return requests
}

// Reconcile looks at a cluster, if it is time for that, and shows what counts of it.
func (o *clusters) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &krakev1.Cluster{}
	err := o.Get(ctx, req.NamespacedName, cluster)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || !isObserved(cluster) {
		o.forget(req.NamespacedName)
		return ctrl.Result{}, o.leave(ctx, cluster)
	}
	known, early := o.of(cluster)
	if early > 0 {
		return ctrl.Result{RequeueAfter: early}, nil
	}
	if turns := o.turnsOf(cluster, known); turns != nil {
		if !turns.begin(req.Namespace) {
			return ctrl.Result{RequeueAfter: wait.Jitter(o.Interval/15, 1)}, nil
		}
		defer turns.end(req.Namespace)
	}
	before := cluster.DeepCopy()
	if isRegistered(cluster) && (cluster.Status.State == "" || cluster.Status.State == krakev1.StatePending) {
		cluster.Status.State = krakev1.StateConnecting
	}
	seen, err := o.look(ctx, cluster)
	if err != nil || ctx.Err() != nil { // which isn't the cluster's fault
		return ctrl.Result{}, errors.Join(err, ctx.Err())
	}
	uncounted := known.history
	if known.add(seen.state) {
		show(cluster, known.state(cluster), seen)
	}
	if now := o.Clock.Now(); cluster.Status.State != before.Status.State || now.Sub(known.counted) >= o.Interval {
		known.counted, cluster.Status.Retries = now, known.failures
	}
	if err := patch.All(ctx, o.Client, before, cluster); err != nil {
		known.history, known.counted = uncounted, time.Time{} // the next look comes at once, and isn't another one
		return ctrl.Result{}, err
	}
	o.tell(ctx, before, cluster, seen)
	pause := wait.Jitter(known.pause(cluster, o.Interval), 0.1)
	known.due = o.Clock.Now().Add(pause)
	return ctrl.Result{RequeueAfter: pause}, nil
}

// leave a Cluster that was registered, and is to be made now that its kubeconfig was taken out: nothing is known of it any more.
func (o *clusters) leave(ctx context.Context, c *krakev1.Cluster) error {
	if c.Spec.TOSCA == "" || c.Spec.Kubeconfig != nil || c.Status.ScheduledTo != nil || c.Spec.Paused || !c.DeletionTimestamp.IsZero() ||
		meta.FindStatusCondition(c.Status.Conditions, krakev1.KubeconfigReadyCondition) == nil {
		return nil
	}
	before := c.DeepCopy()
	c.Status = krakev1.ClusterStatus{State: krakev1.StatePending}
	if scheduled := meta.FindStatusCondition(before.Status.Conditions, krakev1.ScheduledCondition); scheduled != nil {
		c.Status.Conditions = append(c.Status.Conditions, *scheduled)
	}
	return patch.All(ctx, o.Client, before, c)
}

// turnsOf those like a cluster; nil if it has answered lately.
func (o *clusters) turnsOf(c *krakev1.Cluster, known *record) *turns {
	switch {
	case known.failures > 0:
		return &o.failing
	case known.times > 0, meta.IsStatusConditionTrue(c.Status.Conditions, krakev1.ReachableCondition):
		return nil
	}
	return &o.fresh
}

// of returns what is known of a cluster, and how much too early it is for another look.
func (o *clusters) of(c *krakev1.Cluster) (known *record, early time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := client.ObjectKeyFromObject(c)
	known, ok := o.known[name]
	if !ok {
		known = &record{}
		if c.Status.State == krakev1.StateDegraded || c.Status.State == krakev1.StateOffline { // before a restart of the manager
			known.failures = c.Status.Retries
		}
		o.known[name] = known
	}
	if known.woken || known.generation != c.Generation {
		known.woken, known.generation, known.due = false, c.Generation, time.Time{}
	}
	return known, known.due.Sub(o.Clock.Now())
}

func (o *clusters) forget(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, name)
}

// sight is what one look has shown.
type sight struct {
	// state as in history.
	state krakev1.ClusterState
	nodes *nodes
	// problem is for the user, and cause for the log: what a server of a tenant's own answers, and how a connection fails, isn't for the
	// tenant to read.
	problem string
	cause   error
}

// look at a cluster. The error is one of the API server that the Cluster itself is at.
func (o *clusters) look(ctx context.Context, c *krakev1.Cluster) (sight, error) {
	secret := types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.Kubeconfig.SecretRef.Name}
	server, err := o.servers.Client(ctx, secret)
	switch {
	case fault.ClassOf(err) == fault.Credentials:
		return sight{state: krakev1.StateFailed, problem: "the kubeconfig can't be used: " + err.Error(), cause: err}, nil
	case err != nil:
		return sight{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := list(ctx, server)
	if err != nil {
		return sight{state: krakev1.StateDegraded, problem: "the API server of the cluster " + why(err, secret.Name), cause: err}, nil
	}
	return sight{state: found.state(), nodes: found, problem: found.problem()}, nil
}

// why a look has failed, as far as the user may know it, and the remedy.
func why(err error, secret string) string {
	var refused *egress.Refused
	var answer apierrors.APIStatus
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused):
		return "can't be called: " + refused.Error()
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return fmt.Sprintf("doesn't let the user of the kubeconfig list nodes: allow that, or correct Secret %s", secret)
	case errors.As(err, &answer) && answer.Status().Code >= http.StatusBadRequest:
		return fmt.Sprintf("answers with HTTP %d: see its log", answer.Status().Code)
	case errors.As(err, &certificate):
		return fmt.Sprintf("has no certificate of the authority in the kubeconfig: correct Secret %s, or the server's certificate", secret)
	case errors.Is(err, errStrange):
		return fmt.Sprintf("answers as none does: check the address in Secret %s", secret)
	}
	return "doesn't answer: see whether it runs, and can be reached from here"
}
