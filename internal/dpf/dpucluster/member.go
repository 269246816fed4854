package dpucluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bedplate/bedplate/internal/apiserver"
)

const (
	// maxAnswer of a DPU cluster, in bytes: a list of all pods of a namespace with hundreds of nodes has some MiB.
	maxAnswer = 64 << 20
	// patience is how many probes in a row fail until the cache is given up. It is filled again when the cluster answers: what was missed
	// meanwhile isn't known.
	patience = 3
	// probeTimeout is shorter than that of other calls.
	probeTimeout = 5 * time.Second
)

// member is the connection to one cluster, for one kubeconfig.
type member struct {
	of         *Clusters
	name       types.NamespacedName
	kubeconfig []byte
	access     *rest.Config
	end        context.CancelFunc
	// refused: the Secret isn't Kamaji's, as err says.
	refused bool
	// version of the Secret that was told of last. Only its own reconciles read it.
	version string
	// doubt asks for a probe at once.
	doubt chan struct{}

	mu     sync.Mutex
	client client.Client
	err    error
}

func newMember(of *Clusters, name types.NamespacedName, kubeconfig []byte, access *rest.Config, err error) *member {
	if err == nil {
		err = errNew
	}
	return &member{of: of, name: name, kubeconfig: kubeconfig, access: access, err: err, doubt: make(chan struct{}, 1), end: func() {}}
}

func (m *member) state() (*rest.Config, client.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.access, nil, m.err
	}
	return m.access, m.client, nil
}

// set the state, and tell when it changes.
func (m *member) set(c client.Client, err error) (changed bool) {
	m.mu.Lock()
	changed = fmt.Sprint(m.err) != fmt.Sprint(err)
	m.client, m.err = c, err
	m.mu.Unlock()
	if changed {
		m.of.notify(Event{Cluster: m.name})
	}
	return changed
}

// run connects, and connects again after each loss, until the end.
func (m *member) run(ctx context.Context) {
	log := ctrl.LoggerFrom(ctx).WithValues("dpuCluster", m.name)
	for ctx.Err() == nil {
		if err := m.connection(ctx); err != nil && ctx.Err() == nil && m.set(nil, silent(err)) {
			log.Info("A DPU cluster doesn't answer", "error", err.Error())
		}
		m.pause(ctx)
	}
}

// pause until the next probe is due.
func (m *member) pause(ctx context.Context) {
	timer := time.NewTimer(wait.Jitter(m.of.config.ProbeInterval, 0.1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-m.doubt:
	case <-timer.C:
	}
}

// connection is one: from the first answer until some probes in a row have failed, or to the end.
func (m *member) connection(ctx context.Context) error {
	access, closeIdle, err := apiserver.Access(m.access, m.of.config.Egress, maxAnswer)
	if err != nil {
		return err
	}
	defer closeIdle()
	own := rest.CopyConfig(access)
	own.Transport = watched{access.Transport, m}
	own.Timeout = apiserver.CallTimeout
	calls, err := apiserver.HTTP(own)
	if err != nil {
		return err
	}
	probe, err := prober(access)
	if err != nil {
		return err
	}
	if err := probe(ctx); err != nil {
		return err
	}
	read, stop, err := m.reader(ctx, access, own, calls)
	if err != nil {
		return err
	}
	defer stop()
	read.addKinds()
	m.set(read, nil)
	for failed := 0; failed < patience; {
		m.pause(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err = probe(ctx); err != nil {
			failed++
			m.set(nil, silent(err))
			continue
		}
		failed = 0
		read.addKinds()
		m.set(read, nil)
	}
	return err
}

// prober asks whether the API server is ready.
func prober(access *rest.Config) (func(context.Context) error, error) {
	own := rest.CopyConfig(access)
	own.Timeout, own.GroupVersion, own.NegotiatedSerializer = probeTimeout, &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	sender, err := apiserver.HTTP(own)
	if err != nil {
		return nil, err
	}
	api, err := rest.UnversionedRESTClientForConfigAndClient(own, sender)
	if err != nil {
		return nil, fmt.Errorf("make the client of an API server: %w", err)
	}
	return func(ctx context.Context) error { return api.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Error() }, nil
}

// silent says that a cluster doesn't answer, in words that stay the same while that lasts: they are shown in conditions.
func silent(err error) error {
	var timeout net.Error
	var operation *net.OpError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("its API server doesn't answer in time")
	case errors.As(err, &operation):
		return fmt.Errorf("its API server can't be called: %s: %w", operation.Op, operation.Err)
	case errors.As(err, &status):
		return fmt.Errorf("its API server isn't ready, or refuses the kubeconfig: it answers %d", status.Status().Code)
	}
	return fmt.Errorf("its API server can't be called: %w", err)
}

// reader of a connection, with caches that end with stop.
func (m *member) reader(ctx context.Context, access, own *rest.Config, calls *http.Client) (_ *reader, stop func(), _ error) {
	watches, err := apiserver.HTTP(access)
	if err != nil {
		return nil, nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(own, calls)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the kinds of the API server: %w", err)
	}
	direct, err := client.New(own, client.Options{HTTPClient: calls, Scheme: m.of.config.Scheme, Mapper: mapper})
	if err != nil {
		return nil, nil, fmt.Errorf("make the client of an API server: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{Client: direct, member: m, access: access, watches: watches, lifetime: ctx, caches: map[schema.GroupVersionKind]*kindCache{}}
	return r, func() { cancel(); r.running.Wait() }, nil
}

// watched notices calls that get no answer: one is enough that the next object doesn't wait, too.
type watched struct {
	http.RoundTripper
	member *member
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil && !errors.Is(request.Context().Err(), context.Canceled) {
		w.member.set(nil, silent(err))
		select {
		case w.member.doubt <- struct{}{}:
		default:
		}
	}
	return response, err
}
