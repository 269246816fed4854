package scheduler_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// A tenant has many clouds whose servers are silent: the Clusters of others are bound and counted all the same. Nothing is made for a
// Cluster that isn't.
func TestSilentServers_delayNoOtherNamespace(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked.Add(1)
		<-r.Context().Done()
	}})
	tenant := testenv.Namespace(t)
	f := start(t, time.Second, tenant)
	const clouds = 40
	own := *f
	own.namespace = tenant
	provider := prometheus("prometheus", server.URL)
	provider.Namespace = tenant
	own.create(provider)
	for i := range clouds {
		name := fmt.Sprintf("m%d", i)
		metric := metricOf(name, "prometheus", name)
		metric.Namespace = tenant
		own.create(metric)
		own.create(&krakev1.Cloud{ObjectMeta: own.meta(name), Spec: spec(name)})
	}
	f.Eventually(asked.Load).Should(BeNumerically(">", 1))

	cloud := f.cloud("cloud")
	c := f.cluster("demo")
	f.untilBound(c, cloud.Reference())
	f.Eventually(func() int32 { f.read(cloud); return cloud.Status.Clusters }).Should(BeEquivalentTo(1))
	own.until(own.cluster("silent", "tier is 1"), "NoSuitableCloud", "Cloud m39: ")
}
