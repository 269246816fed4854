package scheduler_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/egress/egresstest"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
	"github.com/bedplate/bedplate/internal/testenv"
)

const namespace = "tenant"

func metricOf(name, provider, query string) *krakev1.Metric {
	m := &krakev1.Metric{Spec: krakev1.MetricSpec{Min: 0, Max: 1, Provider: krakev1.MetricSource{Name: provider, Metric: query}}}
	m.Namespace, m.Name = namespace, name
	return m
}

func static(name string, values map[string]float64) *krakev1.MetricsProvider {
	p := &krakev1.MetricsProvider{Spec: krakev1.MetricsProviderSpec{
		Type: krakev1.MetricsProviderStatic, Static: &krakev1.StaticMetrics{Metrics: values},
	}}
	p.Namespace, p.Name = namespace, name
	return p
}

func prometheus(name, url string) *krakev1.MetricsProvider {
	p := &krakev1.MetricsProvider{Spec: krakev1.MetricsProviderSpec{
		Type: krakev1.MetricsProviderPrometheus, Prometheus: &krakev1.PrometheusMetrics{URL: url},
	}}
	p.Namespace, p.Name = namespace, name
	return p
}

// values of a cloud's metrics, of the first of which little is given.
func values(t *testing.T, policy egress.Policy, clock clock.Clock, names []string, objects ...client.Object) scheduler.Values {
	t.Helper()
	reader := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(objects...).Build()
	return read(t, scheduler.NewMetrics(reader, policy, clock), names)
}

func read(t *testing.T, metrics *scheduler.Metrics, names []string) scheduler.Values {
	t.Helper()
	cloud := &krakev1.Cloud{Spec: krakev1.CloudSpec{Type: krakev1.CloudTypeIM, IM: &krakev1.IMCloud{}}}
	cloud.Namespace = namespace
	for _, name := range names {
		name, global := strings.CutPrefix(name, "global/")
		cloud.Spec.IM.Metrics = append(cloud.Spec.IM.Metrics, krakev1.MetricReference{Name: name, Weight: 1, Namespaced: !global})
	}
	values, err := metrics.Of(t.Context(), cloud)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return values
}

func TestMetrics_areStaticOfTheirNamespaceOrGlobal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	global := &krakev1.GlobalMetric{Spec: metricOf("", "static", "x").Spec}
	global.Name = "everywhere"
	source := &krakev1.GlobalMetricsProvider{Spec: static("", map[string]float64{"x": 1}).Spec}
	source.Name = "static"
	elsewhere := metricOf("elsewhere", "static", "x")
	elsewhere.Namespace = "other"
	few := metricOf("few", "static", "y")
	few.Spec.AllowedValues = []float64{0, 1}
	found := values(t, egress.Policy{}, clock.RealClock{},
		[]string{"load", "global/everywhere", "elsewhere", "global/load", "high", "few", "unknown", "nowhere"},
		metricOf("load", "static", "x"), global, source, elsewhere, few, metricOf("high", "static", "high"), metricOf("unknown", "static", "z"),
		metricOf("nowhere", "missing", "x"), static("static", map[string]float64{"x": 0.25, "y": 0.5, "high": 1.5}))
	g.Expect(found["everywhere"]).To(Equal(scheduler.Value{Number: 1}))
	for name, want := range map[string]krakev1.Reason{
		"elsewhere": {Code: krakev1.ReasonUnknownMetric, Message: "Metric elsewhere doesn't exist: create it"},
		"load":      {Code: krakev1.ReasonUnknownMetric, Message: "GlobalMetric load doesn't exist: create it"},
		"nowhere":   {Code: krakev1.ReasonUnknownMetricsProvider, Message: "MetricsProvider missing doesn't exist: create it"},
		"unknown":   {Code: krakev1.ReasonInvalidMetric, Message: `provider static has no metric "z"`},
		"high":      {Code: krakev1.ReasonInvalidMetric, Message: "the value 1.5 isn't between 0 and 1"},
		"few":       {Code: krakev1.ReasonInvalidMetric, Message: "the value 0.5 isn't one of the allowed [0 1]"},
	} {
		g.Expect(found[name].Reason).To(HaveValue(Equal(want)), name)
	}
}

func TestMetrics_comeFromPrometheus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const vector = `{"status": "success", "data": {"resultType": "vector", "result": [%s]}}`
	const sample = `{"metric": {"__name__": "load"}, "value": [1700000000, "%s"]}`
	one := func(value string) string { return fmt.Sprintf(vector, fmt.Sprintf(sample, value)) }
	answers := map[string]string{
		"load": one("0.5"), "nan": one("NaN"), "inf": one("+Inf"), "none": fmt.Sprintf(vector, ""),
		"two":    fmt.Sprintf(vector, fmt.Sprintf(sample, "1")+", "+fmt.Sprintf(sample, "1")),
		"scalar": `{"status": "success", "data": {"resultType": "scalar", "result": [1700000000, "0.75"]}}`,
		"range":  `{"status": "success", "data": {"resultType": "matrix", "result": []}}`,
		"bad":    `{"status": "error", "errorType": "bad_data", "error": "parse error"}`,
		"page":   "<html>", "much": strings.Repeat(" ", 2<<20) + one("1"),
	}
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{
		"/api/v1/query": func(w http.ResponseWriter, r *http.Request) {
			switch query := r.FormValue("query"); query {
			case "away":
				http.Redirect(w, r, "/load", http.StatusFound)
			default:
				httpclienttest.Reply(http.StatusOK, answers[query])(w, r)
			}
		},
	})
	names := []string{"load", "scalar", "nan", "inf", "none", "two", "range", "bad", "page", "much", "away"}
	objects := []client.Object{prometheus("prometheus", server.URL)}
	for _, name := range names {
		objects = append(objects, metricOf(name, "prometheus", name))
	}
	found := values(t, egress.Policy{Loopback: true}, clock.RealClock{}, names, objects...)
	g.Expect(found["load"]).To(Equal(scheduler.Value{Number: 0.5}))
	g.Expect(found["scalar"]).To(Equal(scheduler.Value{Number: 0.75}))
	for name, want := range map[string]string{
		"nan": "the value NaN isn't between 0 and 1", "inf": "the value +Inf isn't between 0 and 1",
		"none":  `provider prometheus: the query "none" has 0 values: write one that has exactly one`,
		"two":   `provider prometheus: the query "two" has 2 values`,
		"range": `provider prometheus: the query "range" has a matrix: write one that has exactly one value`,
	} {
		g.Expect(found[name].Reason).To(HaveValue(And(
			HaveField("Code", krakev1.ReasonInvalidMetric), HaveField("Message", HavePrefix(want)))), name)
	}
	for name, want := range map[string]string{"bad": "parse error", "page": "", "much": "too large", "away": ""} {
		g.Expect(found[name].Reason).To(HaveValue(And(
			HaveField("Code", krakev1.ReasonUnreachableMetricsProvider), HaveField("Message", ContainSubstring(want)))), name)
	}
}

// Tenants name servers: not those inside.
func TestMetrics_askOnlyServersThatAreAllowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var asked atomic.Int32
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { asked.Add(1) }})
	names := &egresstest.Names{Lookup: func(string) []string { return []string{"127.0.0.1"} }}
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	found := values(t, egress.Policy{Resolver: names.Resolver()}, clock.RealClock{}, []string{"inside", "secure", "named"},
		metricOf("named", "named", "a"), prometheus("named", "https://prometheus.example.com:"+port),
		metricOf("inside", "inside", "a"), prometheus("inside", server.URL),
		metricOf("secure", "secure", "a"), prometheus("secure", strings.Replace(server.URL, "http:", "https:", 1)))
	for _, value := range found {
		g.Expect(value.Reason).To(HaveValue(HaveField("Code", krakev1.ReasonUnreachableMetricsProvider)))
	}
	g.Expect(asked.Load()).To(BeZero())
	g.Expect(found["named"].Reason.Message).To(ContainSubstring("prometheus.example.com:"+port+" isn't allowed"), "its address is inside")
}

func TestMetrics_areAskedForTogetherAndNotForEachCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var asked atomic.Int32
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{
		"/api/v1/query": func(w http.ResponseWriter, r *http.Request) {
			n := asked.Add(1)
			const answer = `{"status": "success", "data": {"resultType": "scalar", "result": [1, "0.%d"]}}`
			httpclienttest.Reply(http.StatusOK, fmt.Sprintf(answer, n))(w, r)
		},
	})
	now := clocktesting.NewFakeClock(time.Now())
	reader := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).
		WithObjects(metricOf("load", "prometheus", "load"), prometheus("prometheus", server.URL)).Build()
	metrics := scheduler.NewMetrics(reader, egress.Policy{Loopback: true}, now)
	for range 100 {
		g.Expect(read(t, metrics, []string{"load"})["load"].Number).To(Equal(0.1))
	}
	now.Step(time.Minute)
	g.Expect(read(t, metrics, []string{"load"})["load"].Number).To(Equal(0.2))
	g.Expect(asked.Load()).To(BeEquivalentTo(2))
}

func TestMetrics_dontWaitForAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // the server notices only then that the client has gone
		<-r.Context().Done()
	}})
	began := time.Now()
	names := []string{"a", "b", "c"}
	objects := []client.Object{prometheus("prometheus", server.URL)}
	for _, name := range names {
		objects = append(objects, metricOf(name, "prometheus", name))
	}
	found := values(t, egress.Policy{Loopback: true}, clock.RealClock{}, names, objects...)
	g.Expect(time.Since(began)).To(BeNumerically("<", 12*time.Second), "all at the same time")
	g.Expect(found["b"].Reason).To(HaveValue(Equal(krakev1.Reason{
		Code: krakev1.ReasonUnreachableMetricsProvider, Message: "provider prometheus: it hasn't answered in time",
	})))
}

// A tenant may have many clouds whose servers are silent: a worker that waits for one after another isn't there for others.
func TestDecide_doesntWaitForOneSilentServerAfterAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		<-r.Context().Done()
	}})
	objects := []client.Object{prometheus("prometheus", server.URL)}
	for _, name := range []string{"a", "b", "c", "d"} {
		cloud := &krakev1.Cloud{Spec: spec(name)}
		cloud.Namespace, cloud.Name = namespace, name
		objects = append(objects, cloud, metricOf(name, "prometheus", name))
	}
	reader := fake.NewClientBuilder().WithScheme(testenv.Scheme(t)).WithObjects(objects...).Build()
	decider := &scheduler.Decider{Reader: reader, Metrics: scheduler.NewMetrics(reader, egress.Policy{Loopback: true}, clock.RealClock{})}
	cluster := &krakev1.Cluster{}
	cluster.Namespace, cluster.Name = namespace, "demo"
	began := time.Now()
	decision, err := decider.Decide(t.Context(), cluster)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decision.Message).To(ContainSubstring("it hasn't answered in time"))
	g.Expect(time.Since(began)).To(BeNumerically("<", 12*time.Second), "all at the same time")
}
