// Package manager is what all of Bedplate's managers share: options, logging, leader election, health and metrics.
package manager

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/version"
)

const (
	// GracefulShutdown is how long everything but creates may take to end. With the longest create it has to be shorter than what
	// the Pod's grace period leaves, so that the lease is released.
	GracefulShutdown = 5 * time.Second
	// reconcileTimeout is longer than any single call.
	reconcileTimeout = 5 * time.Minute
)

// Options of a manager, from its command line.
type Options struct {
	// Name of the manager, such as "bedplate-bmm-manager": its leader election lease and its events are under this name.
	Name string

	Kubeconfig     string
	WatchNamespace string
	// SecretsNamespace has Secrets that count although another namespace is watched.
	SecretsNamespace string
	// Cached says of kinds which objects are kept in memory; of all others all that are watched are.
	Cached                  map[client.Object]cache.ByObject
	HealthAddress           string
	MetricsAddress          string
	ProfilerAddress         string
	WebhookPort             int
	WebhookCertDir          string
	LeaderElection          bool
	LeaderElectionNamespace string
	LeaderIdentity          string
	// LeaseDuration of the leader election. A leader tries to renew the lease for two thirds of it, and outlives an API server that is
	// away for that long.
	LeaseDuration time.Duration
	Concurrency   int
	Creates       int
	KubeQPS       float32
	KubeBurst     int
	OutsideQPS    float64
	OutsideBurst  int
	OTLPEndpoint  string
	Poll, Settle  time.Duration
	CreateTimeout time.Duration
	egress        egress.Flags
	clusterCIDRs  []string
	logging       *logsv1.LoggingConfiguration
	checks        []func() error // of the flags that the program has
}

// ServerCommand is the command line of a program that reconciles nothing: every replica works, and each of its clients' calls
// becomes one to the API server.
func ServerCommand(name, short string, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Name: name}
	command := o.command(short, run)
	o.addServerFlags(command.Flags(), 1000, 2000)
	o.addTracingFlag(command.Flags())
	return command
}

// Main runs the command of a manager until it is told to end, and ends the program with an error if it has failed.
func Main(command *cobra.Command) {
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// EngineCommand is the command line of a manager whose controllers have the engine.
func EngineCommand(name, short string, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Name: name}
	command := o.command(short, run)
	o.addControllerFlags(command.Flags())
	o.addEngineFlags(command.Flags())
	return command
}

// Command is a manager's command line: it reads the options and runs until it is stopped.
func Command(name, short string, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Name: name}
	command := o.command(short, run)
	o.addControllerFlags(command.Flags())
	return command
}

func (o *Options) command(short string, run func(context.Context, *Options) error) *cobra.Command {
	o.logging = logsv1.NewLoggingConfiguration()
	command := &cobra.Command{
		Use:           o.Name,
		Short:         short,
		Version:       version.Get(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRunE:       func(*cobra.Command, []string) error { return o.validate() },
		RunE: func(c *cobra.Command, _ []string) error {
			if err := logsv1.ValidateAndApply(o.logging, nil); err != nil {
				return fmt.Errorf("logging options: %w", err)
			}
			ctrl.SetLogger(klog.Background())
			return run(c.Context(), o)
		},
	}
	return command
}

func (o *Options) addServerFlags(flags *pflag.FlagSet, qps float32, burst int) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "Kubeconfig of the management cluster. Without it the program's service account is used.")
	flags.StringVar(&o.HealthAddress, "health-addr", ":9440", "Address that /healthz and /readyz are served at.")
	flags.StringVar(&o.MetricsAddress, "metrics-addr", ":8443", "Address that metrics are served at, over TLS, to clients that may get /metrics. 0 disables them.")
	flags.StringVar(&o.ProfilerAddress, "profiler-address", "", "Address that profiles (pprof) are served at, unprotected: "+
		"choose localhost:6060 and forward the port. Without it none are.")
	flags.Float32Var(&o.KubeQPS, "kube-api-qps", qps, "Requests per second to the API server. -1 disables this limit and leaves it to the "+
		"API server's API Priority and Fairness.")
	flags.IntVar(&o.KubeBurst, "kube-api-burst", burst, "Requests to the API server that may come at once after a pause.")
	logsv1.AddFlags(o.logging, flags)
	o.checks = append(o.checks, o.checkServer)
}

func (o *Options) addControllerFlags(flags *pflag.FlagSet) {
	o.addServerFlags(flags, 100, 200)
	flags.StringVar(&o.WatchNamespace, "namespace", "", "Namespace to watch. If empty, all namespaces are watched.")
	flags.IntVar(&o.WebhookPort, "webhook-port", webhook.DefaultPort, "Port that webhooks are served at, over TLS. 0 disables "+
		"them: delete the webhook configurations too, or the API server rejects the objects that it can't validate.")
	flags.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs", "Folder with the "+
		"certificate that webhooks are served with, tls.crt, and its key, tls.key. Both may be renewed at any time.")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "Elect a leader, so that only one of several replicas is active.")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "Namespace of the lease. Without it the manager's own.")
	flags.StringVar(&o.LeaderIdentity, "leader-identity", "", "Name of this replica in the lease, such as that of its Pod: restarted under it, "+
		"a leader is leader again at once. No other replica may have it. Without it each start has a name of its own.")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long another replica waits, after the leader was heard of "+
		"last, before it takes over. A leader that can't reach the API server for two thirds of it ends.")
	flags.IntVar(&o.Concurrency, "concurrency", 10, "Objects of one kind that are reconciled at the same time.")
	flags.DurationVar(&o.Poll, "poll-interval", 30*time.Second, "Poll interval for resources that are not ready yet.")
	o.checks = append(o.checks, o.checkController)
}

// addEngineFlags are about calls to outside services.
func (o *Options) addEngineFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Creates, "max-creates", 3, "Maximum number of concurrent creates at one endpoint: an endpoint that "+
		"can't keep up gets fewer. Creates don't block reconciles.")
	flags.DurationVar(&o.CreateTimeout, "create-timeout", 75*time.Second, "How long after its intention was recorded a create may be answered. It has to be longer than the "+
		"outside service ever takes. A create that was delayed by a fifth of this time isn't sent. "+
		"At shutdown the manager waits this long for running creates: the Pod's terminationGracePeriodSeconds has to be longer.")
	flags.Float64Var(&o.OutsideQPS, "outside-qps", 20, "Requests per second to the outside service with the same credentials.")
	flags.IntVar(&o.OutsideBurst, "outside-burst", 100, "Requests to the outside service that may come at once after a pause.")
	flags.DurationVar(&o.Settle, "settle", 3*time.Minute, "How long the outside service may still finish a create whose client is gone. "+
		"A create with an unknown outcome isn't repeated before this time has passed.")
	o.egress.Add(flags)
	flags.StringSliceVar(&o.clusterCIDRs, clusterFlag, nil, "Ranges of the cluster's own Services and Pods, which Secrets must not lead to. "+
		"If empty, the Service ranges are read from the API server, which Kubernetes 1.33 and newer provide.")
	o.checks = append(o.checks, o.checkEngine, o.checkEgress)
	o.addTracingFlag(flags)
}

func (o *Options) addTracingFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.OTLPEndpoint, "otlp-endpoint", "", "URL of an OpenTelemetry collector (gRPC) that a span of each call is sent to. Without it none is.")
	o.checks = append(o.checks, o.checkTracing)
}

// New makes the manager. Secrets are watched as metadata and read live, so that none stays in memory.
func (o *Options) New(scheme *runtime.Scheme) (ctrl.Manager, error) {
	config, err := o.restConfig()
	if err != nil {
		return nil, fmt.Errorf("configure the API server's client: %w", err)
	}
	options := ctrl.Options{
		Scheme:                        scheme,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              o.Name,
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(o.LeaseDuration),
		RenewDeadline:                 ptr.To(o.renewDeadline()),
		RetryPeriod:                   ptr.To(o.LeaseDuration * 2 / 15),
		GracefulShutdownTimeout:       ptr.To(o.CreateTimeout + GracefulShutdown),
		PprofBindAddress:              o.ProfilerAddress,
		HealthProbeBindAddress:        "0", // see ports
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	}
	if o.LeaderElection && o.LeaderIdentity != "" {
		if options.LeaderElectionResourceLockInterface, err = resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock,
			o.LeaderElectionNamespace, o.Name, resourcelock.ResourceLockConfig{Identity: o.LeaderIdentity}, config, o.renewDeadline()); err != nil {
			return nil, fmt.Errorf("make the lock of the leader election: %w", err)
		}
	}
	options.Cache.DefaultTransform, options.Cache.ByObject = slim, o.Cached
	options.WebhookServer = newWebhookServer(o.WebhookPort, o.WebhookCertDir)
	if o.WatchNamespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.WatchNamespace: {}}
		if o.SecretsNamespace != "" {
			options.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {
				Namespaces: map[string]cache.Config{o.WatchNamespace: {}, o.SecretsNamespace: {}},
			}}
		}
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if mgr, err = o.ports(mgr); err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return o.traced(mgr)
}

func (o *Options) renewDeadline() time.Duration { return o.LeaseDuration * 2 / 3 }

// Webhooks registers a system's webhooks, unless they are turned off. Every replica serves them, leader or not, and is ready
// only when it does.
func (o *Options) Webhooks(mgr ctrl.Manager, register func(ctrl.Manager) error) error {
	if o.WebhookPort == 0 {
		return nil
	}
	if err := register(mgr); err != nil {
		return fmt.Errorf("register the webhooks: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("add the readiness check of the webhooks: %w", err)
	}
	return nil
}

// slim drops what isn't read from the cache. kubectl keeps a copy of an applied Secret in an annotation.
func slim(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil //nolint:nilerr // not an object, so nothing to take out
	}
	accessor.SetManagedFields(nil)
	if metadata, ok := object.(*metav1.PartialObjectMetadata); ok && metadata.Kind == "Secret" {
		accessor.SetAnnotations(nil)
	}
	return object, nil
}

func (o *Options) restConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = o.KubeQPS, o.KubeBurst
	config.WarningHandler = apiwarnings.DefaultHandler(klog.Background().WithName("api-server")) // not one for each finalizer
	return rest.AddUserAgent(config, o.Name), nil
}

// Engine is the one that all controllers of the manager share.
func (o *Options) Engine(mgr ctrl.Manager) *graph.Engine {
	return &graph.Engine{
		Store:    &ledgers.Store{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Recorder: mgr.GetEventRecorder(o.Name), Clock: clock.RealClock{}, Poll: o.Poll, Settle: o.Settle,
		CreateTimeout: o.CreateTimeout, Creates: &creates.Pool{Limit: o.Creates, Patience: time.Second},
	}
}

// Run a manager until it is stopped, and then as long as a create is running. It keeps its lease until the end, so that its
// successor finds no half-created resource. If the lease was lost, the creates still aren't interrupted.
func (o *Options) Run(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine) error {
	if err := mgr.Add(engine.Creates); err != nil {
		return fmt.Errorf("add the pool of creates: %w", err)
	}
	defer engine.Creates.Drain()
	return mgr.Start(ctx)
}

// Controller options: what fails is tried again after a second, then less and less often, down to once per poll interval.
func (o *Options) Controller() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: o.Concurrency,
		ReconciliationTimeout:   reconcileTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](min(time.Second, o.Poll), o.Poll),
		NewQueue:                queue.New[reconcile.Request],
	}
}
