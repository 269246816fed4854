package sim_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

const (
	base     = "/v2/org/" + sim.DefaultOrg + "/carbide"
	unknown  = "00000000-0000-4000-8000-00000000dead"
	userData = "## template: jinja\n#cloud-config\nhostname:   {{ ds.meta_data.hostname }}x  # kept\n"
)

// bench is a simulator with its client, in simulated time.
type bench struct {
	Gomega
	t      *testing.T
	server *sim.Server
	client *client.Client
	rack   *rack
	began  time.Time
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
		b := bench{Gomega: NewWithT(t), t: t, rack: &rack{}, began: time.Now()}
		b.server, b.client = simtest.InMemory(t, config, b.rack)
		defer b.server.Close()
		test(b)
	})
}

// pass lets time pass, and everything happen that is due by then.
func (b bench) pass(d time.Duration) {
	time.Sleep(d) // simulated
	synctest.Wait()
}

// call sends a request as it is, and returns the status and the body of the answer.
func (b bench) call(method, path, body string) (int, string) {
	return b.callAs(sim.DefaultToken, method, path, body)
}

func (b bench) callAs(token, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// answer sends a request that is answered with the status, and returns the answer.
func answer[T any](b bench, status int, method, path string, body any) T {
	b.t.Helper()
	return answerTo[T](b, sim.DefaultToken, status, method, path, body)
}

func answerTo[T any](b bench, token string, status int, method, path string, body any) T {
	b.t.Helper()
	var data []byte
	if body != nil {
		var err error
		data, err = json.Marshal(body)
		b.Expect(err).NotTo(HaveOccurred())
	}
	code, text := b.callAs(token, method, base+path, string(data))
	b.Expect(code).To(Equal(status), "%s %s: %s", method, path, text)
	var decoded T
	if text != "" {
		b.Expect(json.Unmarshal([]byte(text), &decoded)).To(Succeed(), text)
	}
	return decoded
}

// nothing is the answer to what has no answer.
type nothing = any

func (b bench) vpc(name string) *client.VPC {
	vpc, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{Name: name, SiteID: sim.DefaultSiteID})
	b.Expect(err).NotTo(HaveOccurred())
	b.pass(30 * time.Second)
	return vpc
}

func (b bench) subnet(vpc *client.VPC, name string) *client.Subnet {
	subnet, err := b.client.CreateSubnet(b.t.Context(), client.SubnetCreateRequest{
		Name: name, VPCID: vpc.ID, Ipv4BlockID: sim.DefaultIPBlockID, PrefixLength: 24})
	b.Expect(err).NotTo(HaveOccurred())
	b.pass(10 * time.Second)
	return subnet
}

func instanceRequest(name string, subnet *client.Subnet) client.InstanceCreateRequest {
	return client.InstanceCreateRequest{
		Name: name, TenantID: sim.DefaultTenantID, VPCID: subnet.VPCID, InstanceTypeID: sim.DefaultInstanceTypeID,
		IpxeScript: "#!ipxe", UserData: userData, PhoneHomeEnabled: ptr.To(false),
		Interfaces: []client.InterfaceCreateRequest{{SubnetID: subnet.ID, IsPhysical: true}},
	}
}

func (b bench) instance(name string, subnet *client.Subnet) *client.Instance {
	instance, err := b.client.CreateInstance(b.t.Context(), instanceRequest(name, subnet))
	b.Expect(err).NotTo(HaveOccurred())
	return instance
}

// status returns the status of an object, or "gone".
func (b bench) status(kind, id string) string {
	code, body := b.call(http.MethodGet, base+"/"+kind+"/"+id, "")
	if code == http.StatusNotFound {
		return "gone"
	}
	b.Expect(code).To(Equal(http.StatusOK), body)
	var object struct{ Status string }
	b.Expect(json.Unmarshal([]byte(body), &object)).To(Succeed())
	return object.Status
}

// rack is a booter that only notes its calls.
type rack struct {
	mu    sync.Mutex
	on    map[string]sim.Machine
	calls []string
	// hold, if set, keeps PowerOff from returning until it is closed.
	hold chan struct{}
	err  error
}

// events returns the calls so far.
func (r *rack) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// running returns the machines that are on.
func (r *rack) running() map[string]sim.Machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.on)
}

func (r *rack) PowerOn(m sim.Machine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on == nil {
		r.on = map[string]sim.Machine{}
	}
	r.on[m.ID] = m
	r.calls = append(r.calls, "on "+m.Hostname)
	return r.err
}

func (r *rack) PowerOff(id string) {
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, "off "+r.on[id].Hostname)
	delete(r.on, id)
}
