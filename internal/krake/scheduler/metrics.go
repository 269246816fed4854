package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/memo"
)

const (
	// queryTimeout bounds each query, as well as the wait for its turn, and dialTimeout each attempt to connect.
	queryTimeout, dialTimeout = 5 * time.Second, 3 * time.Second
	// maxQueries are so many that the metrics of one namespace have at the same time.
	maxQueries = 256
	// patience is how long a worker waits for servers, one in each namespace; after askAgain it looks whether they have answered.
	patience, askAgain = 100 * time.Millisecond, time.Second
	// keepFor is how long a value is used again, and a failure: clusters that are created together share the queries.
	keepFor = 10 * time.Second
	// maxAnswer bounds what a server may answer, and maxHeader its header, in bytes; maxFailure what is shown of a failure. All
	// reasons of a cloud together have to fit into a condition.
	maxAnswer, maxHeader, maxFailure, maxReason = 1 << 20, 64 << 10, 200, 1000
)

// Metrics has the values of metrics.
type Metrics struct {
	// Reader reads metrics and their providers.
	Reader client.Reader
	egress egress.Policy
	http   *http.Client
	memo   *memo.Memo[query, answer]
	// patience with servers. 0: until they have answered, or are too late.
	patience time.Duration
	// queries and waiting are those of each namespace.
	queries, waiting turns
}

// query of a Prometheus server, for a metric of a namespace.
type query struct{ namespace, server, text string }

// answer is a number, or why there is none.
type answer struct {
	number float64
	err    error
}

// errAsking: servers have been asked, and there was no patience to wait for them. The values are known a little later.
var errAsking = errors.New("the values of metrics aren't known yet")

// NewMetrics returns Metrics that ask the servers which a policy allows.
func NewMetrics(reader client.Reader, policy egress.Policy, clock clock.Clock) *Metrics {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeader, MaxIdleConns: 32, IdleConnTimeout: time.Minute,
	}
	return &Metrics{
		Reader: reader, egress: policy, memo: memo.New[query, answer](keepFor, keepFor, clock),
		queries: turns{most: maxQueries}, waiting: turns{most: 1},
		http: &http.Client{
			Transport:     bounded{policy.Transport(transport, dialTimeout)},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// bounded cuts answers off: Prometheus' client reads them into memory.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// Of a cloud: the values of all its metrics, which are asked for at the same time. The error is one of Kubernetes' API, or errAsking.
func (m *Metrics) Of(ctx context.Context, cloud krakev1.AnyCloud) (Values, error) {
	ctx, done := m.patient(ctx, cloud.GetNamespace())
	defer done()
	return m.of(ctx, cloud)
}

// patient bounds how long a worker waits for servers. A namespace has only one that waits: its servers may all be silent.
func (m *Metrics) patient(ctx context.Context, namespace string) (_ context.Context, done func()) {
	if m.patience == 0 {
		return ctx, func() {}
	}
	end, mayWait := m.waiting.try(namespace)
	if !mayWait {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errAsking)
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.patience, errAsking)
	return ctx, func() { cancel(); end() }
}

func (m *Metrics) of(ctx context.Context, cloud krakev1.AnyCloud) (Values, error) {
	metrics := cloud.Described().Use().Metrics
	found, failed := make([]Value, len(metrics)), make([]error, len(metrics))
	var asking sync.WaitGroup
	for i, metric := range metrics {
		namespace := ""
		if metric.Namespaced {
			namespace = cloud.GetNamespace()
		}
		asking.Go(func() { found[i], failed[i] = m.value(ctx, client.ObjectKey{Namespace: namespace, Name: metric.Name}) })
	}
	asking.Wait()
	values := Values{}
	for i, metric := range metrics {
		values[metric.Name] = found[i]
	}
	return values, errors.Join(failed...)
}

// maxClouds are so many whose values are asked for at the same time.
const maxClouds = 64

// ofAll clouds that a namespace has, at the same time: their servers may be silent.
func (m *Metrics) ofAll(ctx context.Context, namespace string, clouds []krakev1.AnyCloud) (map[krakev1.CloudReference]Values, error) {
	ctx, done := m.patient(ctx, namespace)
	defer done()
	found := make([]Values, len(clouds))
	var asking errgroup.Group
	asking.SetLimit(maxClouds)
	for i, cloud := range clouds {
		asking.Go(func() (err error) {
			found[i], err = m.of(ctx, cloud)
			return err
		})
	}
	err := asking.Wait()
	values := map[krakev1.CloudReference]Values{}
	for i, cloud := range clouds {
		values[cloud.Reference()] = found[i]
	}
	return values, err
}

// value of a Metric, or, without a namespace, of a GlobalMetric.
func (m *Metrics) value(ctx context.Context, name client.ObjectKey) (Value, error) {
	metric, kind, err := m.metric(ctx, name)
	if err != nil {
		return without(err, krakev1.ReasonUnknownMetric, kind+" "+name.Name)
	}
	provider, kind, err := m.provider(ctx, client.ObjectKey{Namespace: name.Namespace, Name: metric.Provider.Name})
	if err != nil {
		return without(err, krakev1.ReasonUnknownMetricsProvider, kind+" "+metric.Provider.Name)
	}
	number, reason, err := m.ask(ctx, name.Namespace, provider, metric.Provider)
	if reason == nil {
		reason = judge(metric, number)
	}
	return Value{Number: number, Reason: reason}, err
}

func (m *Metrics) metric(ctx context.Context, name client.ObjectKey) (krakev1.MetricSpec, string, error) {
	if name.Namespace == "" {
		metric := &krakev1.GlobalMetric{}
		err := m.Reader.Get(ctx, name, metric)
		return metric.Spec, "GlobalMetric", err
	}
	metric := &krakev1.Metric{}
	err := m.Reader.Get(ctx, name, metric)
	return metric.Spec, "Metric", err
}

func (m *Metrics) provider(ctx context.Context, name client.ObjectKey) (krakev1.MetricsProviderSpec, string, error) {
	if name.Namespace == "" {
		provider := &krakev1.GlobalMetricsProvider{}
		err := m.Reader.Get(ctx, name, provider)
		return provider.Spec, "GlobalMetricsProvider", err
	}
	provider := &krakev1.MetricsProvider{}
	err := m.Reader.Get(ctx, name, provider)
	return provider.Spec, "MetricsProvider", err
}

// without an object there is no value.
func without(err error, code krakev1.ReasonCode, what string) (Value, error) {
	if apierrors.IsNotFound(err) {
		return Value{Reason: reason(code, "%s doesn't exist: create it", what)}, nil
	}
	return Value{}, fmt.Errorf("get %s: %w", what, err)
}

func reason(code krakev1.ReasonCode, format string, args ...any) *krakev1.Reason {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxReason { // queries, and lists of values, may be long
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return &krakev1.Reason{Code: code, Message: text}
}

// ask a provider for a value. The error is that this caller doesn't wait for it any longer.
func (m *Metrics) ask(
	ctx context.Context, namespace string, provider krakev1.MetricsProviderSpec, source krakev1.MetricSource,
) (float64, *krakev1.Reason, error) {
	if provider.Static != nil {
		number, there := provider.Static.Metrics[source.Metric]
		if !there {
			return 0, reason(krakev1.ReasonInvalidMetric, "provider %s has no metric %q", source.Name, source.Metric), nil
		}
		return number, nil, nil
	}
	if provider.Prometheus == nil {
		return 0, reason(krakev1.ReasonUnknownMetricsProvider, "provider %s is of no known type", source.Name), nil
	}
	q := query{namespace, provider.Prometheus.URL, source.Metric}
	said, err := m.memo.Get(ctx, q, func(ctx context.Context) (answer, error) {
		number, err := m.query(ctx, q)
		return answer{number, err}, nil
	})
	if err != nil {
		return 0, nil, context.Cause(ctx)
	}
	if said.err != nil {
		code := krakev1.ReasonUnreachableMetricsProvider
		if _, ambiguous := errors.AsType[*ambiguousError](said.err); ambiguous {
			code = krakev1.ReasonInvalidMetric
		}
		return 0, reason(code, "provider %s: %s", source.Name, short(said.err)), nil
	}
	return said.number, nil, nil
}

// ambiguousError is an answer that isn't one number.
type ambiguousError struct{ what string }

func (e *ambiguousError) Error() string { return e.what }

func (m *Metrics) query(ctx context.Context, q query) (float64, error) {
	u, err := url.Parse(q.server)
	if err != nil {
		return 0, errors.New("the URL can't be read")
	}
	if err := m.egress.CheckURL(u); err != nil {
		return 0, err
	}
	server, err := api.NewClient(api.Config{Address: q.server, Client: m.http})
	if err != nil {
		return 0, err
	}
	waiting, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	end, err := m.queries.take(waiting, q.namespace)
	if err != nil {
		return 0, errors.New("too many other servers of this namespace haven't answered in time")
	}
	defer end()
	ctx, cancel = context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	found, _, err := prometheus.NewAPI(server).Query(ctx, q.text, time.Time{}) // as of the server's now
	if err != nil {
		return 0, err
	}
	return numberOf(q.text, found)
}

// numberOf an answer to a query.
func numberOf(text string, found model.Value) (float64, error) {
	switch found := found.(type) {
	case *model.Scalar:
		return float64(found.Value), nil
	case model.Vector:
		if len(found) == 1 {
			return float64(found[0].Value), nil
		}
		return 0, &ambiguousError{fmt.Sprintf("the query %q has %d values: write one that has exactly one", text, len(found))}
	default:
		return 0, &ambiguousError{fmt.Sprintf("the query %q has a %s: write one that has exactly one value", text, found.Type())}
	}
}

// short is an error without the URL that was called, which is in the object.
func short(err error) string {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "it hasn't answered in time"
	}
	if call, ok := errors.AsType[*url.Error](err); ok {
		err = call.Err
	}
	text := strings.ToValidUTF8(err.Error(), "")
	if len(text) > maxFailure {
		text = strings.ToValidUTF8(text[:maxFailure], "") + "…"
	}
	return text
}

// judge whether a value is a valid one. NaN is none: it is neither less nor greater than anything.
func judge(metric krakev1.MetricSpec, number float64) *krakev1.Reason {
	if !(metric.Min <= number && number <= metric.Max) {
		return reason(krakev1.ReasonInvalidMetric, "the value %v isn't between %v and %v", number, metric.Min, metric.Max)
	}
	if len(metric.AllowedValues) > 0 && !slices.Contains(metric.AllowedValues, number) {
		return reason(krakev1.ReasonInvalidMetric, "the value %v isn't one of the allowed %v", number, metric.AllowedValues)
	}
	return nil
}
