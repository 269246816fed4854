package manager

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bedplate/bedplate/internal/flagcheck"
)

const (
	// Beyond these a poll interval is a busy loop, or never over: some pauses are ten times as long.
	shortestPoll, longestPoll = 10 * time.Millisecond, 24 * time.Hour
	// A lease that is renewed more often costs the API server more than it is worth, and one that is longer makes a takeover too late.
	shortestLease, longestLease = 5 * time.Second, 10 * time.Minute
	shortestCreate              = time.Second
	highestPort                 = math.MaxUint16
	atLeastOne                  = "at least 1"
)

// validate the values of all flags that the program has, before anything is started.
func (o *Options) validate() error {
	var refused []error
	for _, check := range o.checks {
		refused = append(refused, check())
	}
	return errors.Join(refused...)
}

func (o *Options) checkServer() error {
	return errors.Join(
		flagcheck.Address("health-addr", o.HealthAddress, "0"),
		flagcheck.Address("metrics-addr", o.MetricsAddress, "0"),
		flagcheck.Address("profiler-address", o.ProfilerAddress, ""),
		flagcheck.That("kube-api-qps", o.KubeQPS, o.KubeQPS == -1 || isRate(float64(o.KubeQPS)), "more than 0, or -1 for no limit"),
		flagcheck.That("kube-api-burst", o.KubeBurst, o.KubeBurst >= 1, atLeastOne),
	)
}

func (o *Options) checkController() error {
	return errors.Join(
		optional(flagcheck.Namespace, "namespace", o.WatchNamespace),
		optional(flagcheck.Namespace, "leader-election-namespace", o.LeaderElectionNamespace),
		flagcheck.That("leader-identity", o.LeaderIdentity, o.LeaderIdentity == "" || o.LeaderElectionNamespace != "",
			"used with --leader-election-namespace"),
		flagcheck.That("leader-identity", o.LeaderIdentity, o.LeaderIdentity == "" || len(validation.IsDNS1123Subdomain(o.LeaderIdentity)) == 0,
			"the name of a Pod"),
		flagcheck.That("leader-elect-lease-duration", o.LeaseDuration, o.LeaseDuration >= shortestLease && o.LeaseDuration <= longestLease,
			fmt.Sprintf("at least %s and at most %s", shortestLease, longestLease)),
		flagcheck.That("webhook-port", o.WebhookPort, o.WebhookPort >= 0 && o.WebhookPort <= highestPort,
			fmt.Sprintf("a port, at most %d, or 0 for no webhooks", highestPort)),
		flagcheck.That("concurrency", o.Concurrency, o.Concurrency >= 1, atLeastOne),
		flagcheck.That("poll-interval", o.Poll, o.Poll >= shortestPoll && o.Poll <= longestPoll,
			fmt.Sprintf("at least %s and at most %s", shortestPoll, longestPoll)),
	)
}

func (o *Options) checkEngine() error {
	return errors.Join(
		flagcheck.That("max-creates", o.Creates, o.Creates >= 1, atLeastOne),
		flagcheck.That("outside-qps", o.OutsideQPS, isRate(o.OutsideQPS), "more than 0"),
		flagcheck.That("outside-burst", o.OutsideBurst, o.OutsideBurst >= 1, atLeastOne),
		flagcheck.That("create-timeout", o.CreateTimeout, o.CreateTimeout >= shortestCreate, fmt.Sprintf("at least %s", shortestCreate)),
		// The service may take as long again for a create that reaches it at the last moment. An attempt that is repeated before
		// it is settled makes a second resource.
		flagcheck.That("settle", o.Settle, o.Settle/2 >= o.CreateTimeout, fmt.Sprintf("at least twice --create-timeout (%s)", o.CreateTimeout)),
	)
}

func (o *Options) checkTracing() error {
	endpoint, err := url.Parse(o.OTLPEndpoint)
	ok := o.OTLPEndpoint == "" || err == nil && endpoint.Host != "" && (endpoint.Scheme == "http" || endpoint.Scheme == "https")
	return flagcheck.That("otlp-endpoint", o.OTLPEndpoint, ok, "a URL such as http://collector:4317, or empty")
}

func optional(check func(flag, value string) error, flag, value string) error {
	if value == "" {
		return nil
	}
	return check(flag, value)
}

// isRate reports whether so many requests per second ever let one through. NaN compares as false.
func isRate(qps float64) bool { return qps > 0 && !math.IsInf(qps, 1) }
