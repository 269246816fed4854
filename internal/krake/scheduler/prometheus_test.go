package scheduler_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// startPrometheus starts Debian's, which scrapes itself.
func startPrometheus(t *testing.T) (url string) {
	t.Helper()
	g := NewWithT(t)
	toolstest.Programs(t, "prometheus")
	address, dir := testenv.FreeAddress(t, net.IPv4(127, 0, 0, 1)).String(), t.TempDir()
	config := filepath.Join(dir, "prometheus.yaml")
	g.Expect(os.WriteFile(config, []byte(`global: {scrape_interval: 5s, scrape_timeout: 5s}
scrape_configs: [{job_name: itself, static_configs: [{targets: ["`+address+`"]}]}]
`), 0o600)).To(Succeed())
	server, err := process.Start(process.Command{
		Name: "prometheus", Path: "prometheus", Log: filepath.Join(dir, "log"),
		Args: []string{"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address},
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(server.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	url = "http://" + address
	g.Expect(server.WaitReady(ctx, func(ctx context.Context) error {
		return process.AnswersOK(ctx, http.DefaultClient, url+"/-/ready")
	})).To(Succeed())
	g.Eventually(func() error { // it has scraped, and that didn't take too long
		up := values(t, egress.Policy{Loopback: true}, clock.RealClock{}, []string{"up"}, prometheus("real", url), metricOf("up", "real", "up"))["up"]
		if up.Reason != nil {
			return errors.New(up.Reason.Message)
		}
		if up.Number != 1 {
			return errors.New("a scrape has failed")
		}
		return nil
	}, time.Minute).Should(Succeed())
	return url
}

// What the answers of a made-up server are like is true of Debian's.
func TestMetrics_comeFromDebiansPrometheus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	url := startPrometheus(t)
	queries := map[string]string{
		"up": `up{job="itself"}`, "scalar": "scalar(up)", "computed": "0.25 * sum(up)", "nan": "0/0", "inf": "1/0",
		"none": "nothing", "two": `{__name__=~"prometheus_tsdb_head_(max|min)_time"}`, "range": "up[1m]", "bad": "up{",
	}
	found := scheduler.Values{}
	for name, query := range queries {
		found[name] = values(t, egress.Policy{Loopback: true}, clock.RealClock{}, []string{name},
			prometheus("real", url), metricOf(name, "real", query))[name]
	}
	for name, number := range map[string]float64{"up": 1, "scalar": 1, "computed": 0.25} {
		g.Expect(found[name]).To(Equal(scheduler.Value{Number: number}), name)
	}
	for name, reason := range map[string]krakev1.Reason{
		"nan":   {Code: krakev1.ReasonInvalidMetric, Message: "the value NaN isn't between 0 and 1"},
		"inf":   {Code: krakev1.ReasonInvalidMetric, Message: "the value +Inf isn't between 0 and 1"},
		"none":  {Code: krakev1.ReasonInvalidMetric, Message: `provider real: the query "nothing" has 0 values: write one that has exactly one`},
		"range": {Code: krakev1.ReasonInvalidMetric, Message: `provider real: the query "up[1m]" has a matrix: write one that has exactly one value`},
	} {
		g.Expect(found[name].Reason).To(HaveValue(Equal(reason)), name)
	}
	g.Expect(found["two"].Reason).To(HaveValue(HaveField("Message", ContainSubstring("has 2 values"))))
	g.Expect(found["bad"].Reason).To(HaveValue(And(
		HaveField("Code", krakev1.ReasonUnreachableMetricsProvider), HaveField("Message", ContainSubstring("parse error")))))
}
