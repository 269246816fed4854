package sim_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	power "github.com/IBM-Cloud/power-go-client/power/client"
	"github.com/IBM/go-sdk-core/v5/core"
	"github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	"github.com/IBM/platform-services-go-sdk/resourcemanagerv2"
	"github.com/go-openapi/runtime"
	httptransport "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/simulator/simulatortest"
)

// The hosts of the services. Each is told from the others by its name.
const (
	iamHost        = "iam.example.com"
	managerHost    = "manager.example.com"
	controllerHost = "controller.example.com"
	powerHost      = "power.example.com"
	adminHost      = "simulator.example.com"
)

// bench is a simulator with IBM's clients.
type bench struct {
	Gomega
	t     *testing.T
	cloud *sim.Cloud
	sdk
}

// sdk are IBM's clients, with one transport for all.
type sdk struct {
	endpoint   func(host string) string
	http       *http.Client
	login      *core.IamAuthenticator
	manager    *resourcemanagerv2.ResourceManagerV2
	controller *resourcecontrollerv2.ResourceControllerV2
	power      *power.PowerIaasAPI
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
		hosts := hosts(b.cloud)
		transport := simulatortest.Transport(func(host string) http.Handler { return hosts[host] })
		b.sdk = newSDK(b, transport, func(host string) string { return "http://" + host })
		test(b)
	})
}

// newSDK makes clients that don't repeat anything.
func newSDK(g Gomega, transport http.RoundTripper, endpoint func(host string) string) sdk {
	s := sdk{endpoint: endpoint, http: &http.Client{Transport: transport, Timeout: time.Minute}}
	s.login = &core.IamAuthenticator{ApiKey: sim.DefaultAPIKey, URL: endpoint(iamHost), Client: s.http}
	g.Expect(s.login.Validate()).To(Succeed())
	var err error
	s.manager, err = resourcemanagerv2.NewResourceManagerV2(&resourcemanagerv2.ResourceManagerV2Options{
		URL: endpoint(managerHost), Authenticator: s.login,
	})
	g.Expect(err).NotTo(HaveOccurred())
	s.manager.Service.SetHTTPClient(s.http)
	s.controller, err = resourcecontrollerv2.NewResourceControllerV2(&resourcecontrollerv2.ResourceControllerV2Options{
		URL: endpoint(controllerHost), Authenticator: s.login,
	})
	g.Expect(err).NotTo(HaveOccurred())
	s.controller.Service.SetHTTPClient(s.http)
	host := strings.TrimPrefix(endpoint(powerHost), "http://")
	s.power = power.New(httptransport.NewWithClient(host, "/", []string{"http"}, s.http), strfmt.Default)
	return s
}

// in is what calls about a workspace are authenticated by.
func (s sdk) in(workspace string) runtime.ClientAuthInfoWriter {
	return s.as("crn:v1:bluemix:public:power-iaas:" + sim.DefaultZone + ":a/" + sim.DefaultAccount + ":" + workspace + "::")
}

func (s sdk) as(crn string) runtime.ClientAuthInfoWriter {
	return runtime.ClientAuthInfoWriterFunc(func(r runtime.ClientRequest, _ strfmt.Registry) error {
		token, err := s.login.GetToken()
		if err != nil {
			return err
		}
		return errors.Join(r.SetHeaderParam("Authorization", "Bearer "+token), r.SetHeaderParam("CRN", crn))
	})
}

// pass lets time pass, and everything happen that is due by then.
func (b bench) pass(d time.Duration) {
	time.Sleep(d) // simulated
	synctest.Wait()
}

// fault lets the next call of an operation go wrong.
func (b bench) fault(f simulator.Fault) { b.Expect(b.cloud.AddFault(f)).To(Succeed()) }

// status is that of the error of a call of PowerVS.
func status(err error) int {
	if answer, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return answer.Code()
	}
	if unspecified, ok := errors.AsType[*runtime.APIError](err); ok {
		return unspecified.Code
	}
	return 0
}

// newWorkspace makes one that is active.
func (b bench) newWorkspace(name string) string {
	b.t.Helper()
	id := *b.createInstance(name, sim.DefaultZone, sim.PlanPower).GUID
	b.pass(20 * time.Second)
	return id
}

func (b bench) createInstance(name, target, plan string) *resourcecontrollerv2.ResourceInstance {
	b.t.Helper()
	made, answer, err := b.controller.CreateResourceInstanceWithContext(b.t.Context(),
		b.controller.NewCreateResourceInstanceOptions(name, target, sim.DefaultResourceGroupID, plan))
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(answer.StatusCode).To(Equal(http.StatusCreated))
	return made
}

// state of an instance, or the status of an answer without one.
func (b bench) state(id string) any {
	i, answer, err := b.controller.GetResourceInstanceWithContext(b.t.Context(), b.controller.NewGetResourceInstanceOptions(id))
	if err != nil {
		return answer.StatusCode
	}
	return *i.State
}

// raw sends a GET without a token, and returns the status and the body of the answer.
func (b bench) raw(url string) string {
	answer, err := b.http.Get(url)
	return read(b, answer, err)
}

func read(g Gomega, answer *http.Response, err error) string {
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%d %s", answer.StatusCode, body)
}
