package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/ledger"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/link"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/ovncontroller"
	"github.com/bedplate/bedplate/internal/hydrazine/agent/vswitch"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/netwatch"
)

const (
	// lookInterval is how often everything is compared without a change.
	lookInterval = 10 * time.Second
	// applyPause batches changes that come together: OVN makes dozens when a host is attached. Requests of the controller don't
	// wait for it, and a host that is to be isolated loses its link before it.
	applyPause         = 200 * time.Millisecond
	minRetry, maxRetry = applyPause, 10 * time.Second
	watchAgain         = time.Second
)

// Agent is what runs on a DPU.
type Agent struct {
	options  Options
	hostname string
	database *vswitch.Database
	daemon   ovncontroller.Daemon
	keeper   *ledger.Keeper
	identity *identity
	news     *news         // something to report
	wake     chan struct{} // something to do
	metrics  *Metrics
	watchdog watchdog

	applying sync.Mutex        // only one goroutine changes the DPU at a time
	stale    map[string]string // zones of connection tracking to be forgotten, by former owner
	swept    bool              // connections from before the agent are forgotten

	mutex  sync.Mutex // of what is reported
	status status
}

// status is what the agent reports.
type status struct {
	isolation, attachment error // the result of the last attempt at either
	chassis               string
	uplink                *agentv1.Uplink   // as last read, never modified
	uncut                 map[string]error  // ports that can't be cut
	versions              map[string]string // of the programs that the agent drives
	daemons               daemons
	relay                 error // what prevents it from relaying requests
	vswitchd              vswitchd
	started               time.Duration // the run of ovs-vswitchd, sinceBoot
	restarts              uint32        // of ovs-vswitchd, that the agent has seen
	datapath              vswitch.Change
}

// errNotLooked is the error before the first comparison.
var errNotLooked = errors.New("the agent has not looked yet")

// New makes an agent. Ports that its ledger assigns to no host are cut off as soon as they are seen.
func New(options Options) (*Agent, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("read the host's name: %w", err)
	}
	file, err := ledgerFile(options)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(options.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state's folder: %w", err)
	}
	own, err := loadIdentity(options.StateDir)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		identity: own,
		options:  options, hostname: hostname, news: newNews(), wake: make(chan struct{}, 1),
		stale: map[string]string{}, metrics: NewMetrics(),
		daemon: options.ovnController(own),
		status: status{isolation: errNotLooked, relay: errRelayNotLooked, uncut: map[string]error{}, versions: map[string]string{}},
	}
	if a.database, err = vswitch.New(options.OVSDatabase, a.changed); err != nil {
		return nil, err
	}
	a.metrics.Report, a.metrics.Connected = a.report, a.database.Connected
	a.keeper, err = ledger.NewKeeper(file, sinceBoot, a.takeAway, a.changed)
	if err != nil {
		slog.Error("The ledger is lost: every host is isolated until the controller says who may be where", "error", err)
	}
	return a, nil
}

// ovnController is ovn-controller with its settings and the identity of the DPU.
func (o *Options) ovnController(own *identity) ovncontroller.Daemon {
	return ovncontroller.Daemon{
		Path: o.OVNController, Unit: o.OVNUnit, Database: o.OVSDatabase, RunDir: o.OVNRunDir, LogDir: o.OVNLogDir, OVSRun: o.OVSRunDir,
		Key: own.file(keyFile), Certificate: own.file(certificateFile), Authorities: own.file(authoritiesFile),
	}
}

// changed signals that there may be something to do and to report.
func (a *Agent) changed() {
	a.news.announce()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// takeAway a port from its host.
func (a *Agent) takeAway(port string) {
	a.metrics.cut()
	a.cut(port)
}

// cut takes a port down at once.
func (a *Agent) cut(port string) {
	err := link.Cut(port)
	if err != nil {
		slog.Error("A port can't be cut off", "port", port, "error", err)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if err != nil {
		a.status.uncut[port] = err
	} else {
		delete(a.status.uncut, port)
	}
}

// Run runs until ctx ends. Then everything stays as it is: flows, ports and ovn-controller.
func (a *Agent) Run(ctx context.Context) error {
	defer a.database.Close()
	a.meetPorts() // cut off before anything else: Open vSwitch may be slow, the address in use, a certificate broken
	creds, err := a.options.TLS.Server(ctx, mtls.Named(a.options.ControllerName))
	if err != nil {
		return err
	}
	listener, err := a.listen(ctx)
	if err != nil {
		return err
	}
	go a.database.Connect(ctx)
	go a.keeper.Run(ctx, a.watchdog.feeder(&a.mutex))
	go a.watchLinks(ctx)
	go a.work(ctx)
	go a.watchDaemons(ctx)
	go a.watchDatapath(ctx)
	go a.keepRelay(ctx)
	go a.serveMetrics(ctx)
	return a.serve(ctx, listener, creds)
}

// work brings the DPU to the wanted state, whenever something has changed.
func (a *Agent) work(ctx context.Context) {
	a.replaceOld(ctx)
	retry := minRetry
	for ctx.Err() == nil {
		isolation, attachment := a.apply(ctx)
		next := time.After(lookInterval)
		if isolation != nil || attachment != nil {
			next = time.After(retry)
			retry = min(2*retry, maxRetry)
		} else {
			retry = minRetry
		}
		rest(ctx, applyPause)
		select {
		case <-ctx.Done():
		case <-next:
		case <-a.wake:
		}
	}
}

// rest until time has passed or ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (a *Agent) watchLinks(ctx context.Context) {
	for ctx.Err() == nil {
		if err := netwatch.Watch(ctx, a.changed); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "Changes of interfaces are seen late", "error", err)
		}
		rest(ctx, watchAgain)
	}
}
