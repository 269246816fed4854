package client_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

const (
	region = "us-south"
	zone   = sim.DefaultZone
	group  = sim.DefaultResourceGroupID
	// nothing is an ID that nothing has.
	nothing = "r006-00000000-0000-4000-8000-000000000000"
)

// bench is a simulator with a client.
type bench struct {
	Gomega
	*client.Client
	t     *testing.T
	cloud *sim.Cloud
}

// secret of an account whose services are at hosts of their own.
func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "ibm"}, Data: map[string][]byte{
		"apiKey":                 []byte(sim.DefaultAPIKey),
		"iamEndpoint":            []byte("https://iam.example.com"),
		"rmEndpoint":             []byte("https://rm.example.com"),
		"rcEndpoint":             []byte("https://rc.example.com"),
		"powervsEndpoint":        []byte("https://{region}.power.example.com"),
		"vpcEndpoint":            []byte("https://{region}.vpc.example.com/v1"),
		"transitgatewayEndpoint": []byte("https://transit.example.com/v1"),
		"cosEndpoint":            []byte("https://{region}.cos.example.com"),
	}}
}

// handler of a host of the secret.
func handler(cloud *sim.Cloud, host string) http.Handler {
	host, found := strings.CutSuffix(host, ".example.com")
	place, service, regional := strings.Cut(host, ".")
	if !regional {
		service = host
	}
	switch {
	case !found:
	case service == "iam":
		return cloud.IAM()
	case service == "rm":
		return cloud.ResourceManager()
	case service == "rc":
		return cloud.ResourceController()
	case service == "power" && place == "dal":
		return cloud.Power()
	case service == "transit":
		return cloud.TransitGateway()
	case service == "vpc" && cloud.VPC(place) != nil:
		return cloud.VPC(place)
	case service == "cos":
		return cloud.ObjectStorage()
	}
	return http.NotFoundHandler()
}

// inSimulatedTime runs a test against the default world, changed by the given functions. Waiting takes no time.
func inSimulatedTime(t *testing.T, test func(b bench), changes ...func(*sim.Config)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := sim.DefaultWorld()
		for _, change := range changes {
			change(&config)
		}
		b := bench{Gomega: NewWithT(t), t: t}
		var err error
		b.cloud, err = sim.New(config, slog.New(slog.DiscardHandler))
		b.Expect(err).NotTo(HaveOccurred())
		defer b.cloud.Close()
		b.Client = b.connect(nil)
		test(b)
	})
}

// connect makes a client of the simulator, through a transport of its own if that isn't nil.
func (b bench) connect(through func(next http.RoundTripper) http.RoundTripper, changes ...func(*client.Config)) *client.Client {
	var transport http.RoundTripper = simulatortest.Transport(func(host string) http.Handler { return handler(b.cloud, host) })
	if through != nil {
		transport = through(transport)
	}
	c, err := client.Connect(func(c *client.Config) {
		c.HTTP = &http.Client{Transport: transport}
		for _, change := range changes {
			change(c)
		}
	})(secret())
	b.Expect(err).NotTo(HaveOccurred())
	return c
}

// pass lets time pass, and everything happen that is due by then.
func (b bench) pass(d time.Duration) {
	time.Sleep(d) // simulated
	synctest.Wait()
}

// fault lets the next call of an operation go wrong.
func (b bench) fault(f simulator.Fault) {
	b.t.Helper()
	b.Expect(b.cloud.AddFault(f)).To(Succeed())
}

// must succeed: a call with a result.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err) // it ends the test
	}
	return result
}

// beOf matches errors of a class.
func beOf(class fault.Class) gomegatypes.GomegaMatcher {
	return SatisfyAll(BeAssignableToTypeOf(&fault.Error{}), WithTransform(fault.ClassOf, Equal(class)))
}

// errorOf a call with a result.
func errorOf[T any](_ T, err error) error { return err }

// newInstance makes one that is active.
func (b bench) newInstance(name string, plan client.Plan, target string) *client.Instance {
	b.t.Helper()
	made := must(b.CreateInstance(b.t.Context(), client.InstanceRequest{Name: name, Plan: plan, Target: target, ResourceGroupID: group}))
	b.pass(20 * time.Second)
	return made
}
