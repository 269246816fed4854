package sim_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

func TestDelete(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		path := "/infrastructures/" + id
		b.Expect(b.ask("DELETE", path+"?async=true", "").Status).To(Equal(409), "it is being created")
		b.pass(time.Hour)
		b.Expect(b.ask("DELETE", path+"?async=maybe", "").Status).To(Equal(400))
		b.Expect(b.ask("DELETE", path+"?force=maybe", "").Status).To(Equal(400))
		b.Expect(b.ask("DELETE", path+"?async=true&force=yes", "").Status).To(Equal(200))
		b.Expect(b.ask("DELETE", path+"?async=true", "").Status).To(Equal(404))
		b.Expect(b.post(path, single).Status).To(Equal(404))
		b.pass(2 * time.Second)
		b.Expect(b.state(id).State).To(Equal(im.Deleting))
		b.pass(time.Minute)
		b.Expect(b.get(path + "/state").Status).To(Equal(404))
		b.Expect(b.server.State()).To(BeEmpty())

		id = b.create(single)
		b.pass(time.Hour)
		b.Expect(b.ask("DELETE", "/infrastructures/"+id, "").Status).To(Equal(200))
		b.Expect(b.server.State()).To(BeEmpty(), "without async at once")
	})
}

func TestDelete_aReadRightAfterItBringsTheRecordBack(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		b.pass(time.Hour)
		path := "/infrastructures/" + id
		b.Expect(b.ask("DELETE", path+"?async=true", "").Status).To(Equal(200))
		for range 3 {
			b.Expect(b.get(path + "/state").Text).To(MatchJSON(`{"state":{"state":"pending","vm_states":{}}}`))
			b.Expect(b.ask("DELETE", path+"?async=true", "").Status).To(Equal(404))
			b.Expect(b.get(path + "/tosca").Status).To(Equal(404))
			b.pass(24 * time.Hour)
		}
		b.Expect(b.get("/infrastructures").Text).NotTo(ContainSubstring(id))
		b.Expect(b.server.State()).To(ConsistOf(HaveField("Record", true)))
		b.Expect(b.server.State().Empty()).To(BeTrue())
	})
}

func TestDelete_listsMayShowTheRecord(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		b.pass(time.Hour)
		b.Expect(b.ask("DELETE", "/infrastructures/"+id+"?async=true", "").Status).To(Equal(200))
		b.Expect(b.state(id).VMs).To(BeEmpty())
		b.Expect(b.get("/infrastructures").Text).To(ContainSubstring(id))
	}, func(c *sim.Config) { c.ListRecords = true })
}

func TestOutcome(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		next := func(o sim.Outcome) string {
			b.Expect(b.server.SetOutcome(o)).To(Succeed())
			id := b.create(single)
			b.pass(15 * time.Minute)
			return id
		}
		reconfigured := func(id string) im.State {
			b.Expect(b.ask("PUT", "/infrastructures/"+id+"/reconfigure", "").Status).To(Equal(200))
			b.pass(15 * time.Minute)
			return b.state(id).State
		}
		forEver := next(sim.Outcome{State: im.Unconfigured, Times: -1, Message: "no public IP"})
		b.Expect(b.state(forEver)).To(And(HaveField("State", im.Unconfigured), HaveField("VMs", HaveLen(3))))
		b.Expect(b.get("/infrastructures/" + forEver + "/contmsg").Text).To(ContainSubstring("no public IP"))
		b.Expect(b.get("/infrastructures/" + forEver + "/outputs").Text).To(ContainSubstring(`"kubeconfig":null`))
		for range 7 {
			b.Expect(reconfigured(forEver)).To(Equal(im.Unconfigured))
		}
		twice := next(sim.Outcome{State: im.Failed, Times: 1})
		b.Expect(b.state(twice).State).To(Equal(im.Failed))
		b.Expect(reconfigured(twice)).To(Equal(im.Failed))
		b.Expect(reconfigured(twice)).To(Equal(im.Configured))

		flips := next(sim.Outcome{State: im.Unconfigured, After: 3600})
		b.Expect(b.state(flips).State).To(Equal(im.Configured))
		b.pass(time.Hour)
		b.Expect(b.state(flips).State).To(Equal(im.Unconfigured))
		b.Expect(b.get("/infrastructures/" + flips + "/outputs").Text).To(ContainSubstring("current-context"))

		b.Expect(b.server.SetOutcome(sim.Outcome{State: im.Running})).NotTo(Succeed())
		b.Expect(b.server.SetStatus(sim.Status{ID: flips, State: "other"})).NotTo(Succeed())
	})
}

func TestCreate_withoutACloudFails(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.as(krake).create(single)
		b.pass(time.Hour)
		b.Expect(b.state(id).State).To(Equal(im.Failed))
		b.Expect(b.post("/infrastructures/"+id, single).Status).To(Equal(200), "now with one")
		b.pass(time.Hour)
		b.Expect(b.state(id).State).To(Equal(im.Configured))
	})
}

func TestReconfigure_startsNoMachineThatWasStopped(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		put := func(what string) {
			b.Expect(b.ask("PUT", "/infrastructures/"+id+"/"+what, "").Status).To(Equal(200))
			b.pass(time.Hour)
		}
		b.pass(time.Hour)
		put("stop")
		put("reconfigure")
		b.Expect(b.state(id)).To(And(HaveField("State", im.Stopped), HaveField("VMs", HaveEach(im.Stopped))))
		b.Expect(b.get("/infrastructures/" + id + "/contmsg").Text).To(ContainSubstring("is not running"))
		put("start")
		b.Expect(b.state(id).State).To(Equal(im.Unconfigured), "nothing could be configured")
		put("reconfigure")
		b.Expect(b.state(id).State).To(Equal(im.Configured))
	})
}

// IM would forget, and leave, what is in the other cloud: the simulator refuses it, so that a test sees it.
func TestCloud_anotherOneThanAnInfrastructureWasMadeInIsRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		const openstack = `\nid = cloud;type = OpenStack;username = u;password = p;host = https://one.example.com;tenant = blue;tenant_domain_id = default`
		in := func(from, to string) bench { return b.as(krake + strings.Replace(openstack, from, to, 1)) }
		id := in("", "").create(single)
		b.pass(time.Hour)
		path := "/infrastructures/" + id
		for name, other := range map[string]bench{
			"type": in("OpenStack", "Dummy"), "host": in("one", "two"), "project": in("blue", "red"), "domain": in("default", "d"), "none": b.as(krake),
		} {
			for _, got := range []answer{
				other.post(path, single), other.ask("DELETE", path+"?async=true", ""), other.ask("DELETE", path+"/vms/1", ""),
			} {
				b.Expect(got.Status).To(Equal(400), name)
				b.Expect(got.Text).To(ContainSubstring("No auth data has been specified to OpenStack"), name)
			}
			b.Expect(other.get(path+"/state").Status).To(Equal(200), name)
		}
		b.Expect(in("username = u;password = p", "username = v;password = q").ask("DELETE", path, "").Status).To(Equal(200), "another user of the project")
	})
}

func TestFaults_meetEachOperation(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, operation := range []string{"getVersion", "listInfrastructures"} {
			down := simulator.Fault{Operation: operation, Kind: simulator.FaultStatus, Status: 503, Message: "down"}
			b.Expect(b.server.AddFault(down)).To(Succeed())
		}
		b.Expect(b.get("/version")).To(And(HaveField("Status", 503), HaveField("Text", ContainSubstring("down"))))
		b.Expect(b.get("/infrastructures").Status).To(Equal(503))
		b.Expect(b.get("/infrastructures").Status).To(Equal(200))
		b.Expect(b.server.AddFault(simulator.Fault{Operation: "other", Kind: simulator.FaultHang})).NotTo(Succeed())

		late := simulator.Fault{
			Operation: "createInfrastructure", Kind: simulator.FaultCommitLate,
			Hold: metav1.Duration{Duration: time.Second}, Delay: metav1.Duration{Duration: time.Minute},
		}
		b.Expect(b.server.AddFault(late)).To(Succeed())
		const url = "http://im.example.com/infrastructures"
		r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, url, strings.NewReader("radl"))
		b.Expect(err).NotTo(HaveOccurred())
		r.Header.Set("Authorization", both)
		_, err = b.client.Do(r)
		b.Expect(err).To(HaveOccurred(), "the answer is lost")
		b.Expect(b.server.State()).To(BeEmpty())
		b.pass(2 * time.Minute)
		b.Expect(b.server.State()).To(HaveLen(1))
	})
}

func TestAdmin_showsAndChangesWhatExists(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		b.pass(time.Hour)
		shown := b.ask("GET", "/simulator/state", "")
		for _, text := range []string{id, `"user":"krake"`, `"cloud":"Dummy"`, "infra_name: demo"} {
			b.Expect(shown.Text).To(ContainSubstring(text))
		}
		b.Expect(b.ask("POST", "/simulator/status", `{"id":"`+id+`","state":"unknown"}`).Status).To(Equal(204))
		b.Expect(b.state(id).State).To(Equal(im.Unknown))
		b.Expect(b.ask("POST", "/simulator/outcomes", `{"state":"failed"}`).Status).To(Equal(204))
		b.Expect(b.ask("POST", "/simulator/users", `{"username":"krake","password":"s3cret"}`).Status).To(Equal(204))
		b.Expect(b.ask("POST", "/simulator/vanish", `{"id":"`+id+`"}`).Status).To(Equal(204))
		b.Expect(b.get("/infrastructures/" + id + "/state").Status).To(Equal(404))
		for path, body := range map[string]string{
			"status": `{"id":"other"}`, "vanish": `{"id":"other"}`, "outcomes": `{"state":"running"}`, "users": `{"username":" "}`,
		} {
			b.Expect(b.ask("POST", "/simulator/"+path, body).Status).To(Equal(400), path)
		}
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "im.yaml")
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
		return path
	}
	config, err := sim.Load(write("speed: 10\nnoFilter: true\nusers: {krake: s3cret}\ntimes: {launch: 5s}\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Speed).To(Equal(10.0))
	g.Expect(config.Times.Launch.Duration).To(Equal(5 * time.Second))
	g.Expect(config.Times.Configure).To(Equal(sim.DefaultTimes().Configure))
	for _, wrong := range []string{"other: 1", "speed: -1", "["} {
		_, err := sim.Load(write(wrong))
		g.Expect(err).To(HaveOccurred(), wrong)
	}
}
