package sim_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
)

func TestCreate_byContentType(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for kind, row := range map[string]struct {
			body   string
			status int
		}{
			"text/yaml": {single, 200}, "text/x-yaml; charset=utf-8": {single, 200}, "application/yaml": {single, 200},
			"text/plain": {"network public ()", 200}, "application/json": {"[]", 200}, "": {"network public ()", 200},
			"text/html": {single, 415}, "application/xml": {single, 415},
		} {
			b.Expect(b.ask("POST", "/infrastructures?async=true", row.body, "Content-Type", kind).Status).To(Equal(row.status), kind)
		}
	})
}

func TestCreate_answersAsTheClientAccepts(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for accept, pattern := range map[string]string{
			"": `^http://im.example.com/infrastructures/[0-9a-f-]{36}$`, "*/*": `^http://im.example.com/infrastructures/[0-9a-f-]{36}$`,
			"application/json": `^{"uri":"http://im.example.com/infrastructures/[0-9a-f-]{36}"}\n$`,
		} {
			made := b.ask("POST", "/infrastructures", single, "Content-Type", "text/yaml", "Accept", accept)
			b.Expect(made.Text).To(MatchRegexp(pattern), accept)
			b.Expect(made.Text).To(ContainSubstring(made.Header.Get("InfID")))
		}
		id := b.create(single)
		b.Expect(b.ask("GET", "/infrastructures/"+id+"/state", "", "Accept", "text/html").Status).To(Equal(415))
		const missing = "Invalid infrastructure ID or access not granted."
		b.Expect(b.ask("GET", "/infrastructures/nothing/state", "").Text).To(Equal(missing))
		b.Expect(b.get("/infrastructures/nothing/state").Text).To(MatchJSON(`{"code":404,"message":"` + missing + `"}`))
	})
}

func TestCreate_refusesWhatIsNoTemplate(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		for wrong, text := range map[string]string{
			"":     "not supported",
			"a: [": "isn't YAML",
			"- a":  "isn't YAML",
			"a: b": "not supported",
			"tosca_definitions_version: tosca_simple_yaml_1_0":                           "no node_templates",
			strings.ReplaceAll(single, "tosca_simple_yaml_1_0", "tosca_9"):               `version \"tosca_9\"`,
			strings.ReplaceAll(single, "type: tosca.nodes.SoftwareComponent", "kind: x"): "missing required field",
			strings.ReplaceAll(single, "indigo.Compute", "Container"):                    "no machine",
			strings.ReplaceAll(single, "workers: {", "others: {"):                        "no input",
			strings.ReplaceAll(single, "default: 2", "default: -1"):                      "count -1",
			strings.ReplaceAll(single, "default: 2", "default: 1.5"):                     "count 1.5",
			strings.ReplaceAll(single, "default: 2", "default: many"):                    "count many",
			strings.ReplaceAll(single, "default: 2", "default: 1000"):                    "more than 1000 machines",
		} {
			for _, path := range []string{"/infrastructures", "/infrastructures?dry_run=true"} {
				refused := b.post(path, wrong)
				b.Expect(refused.Status).To(Equal(400), wrong)
				b.Expect(refused.Text).To(And(ContainSubstring("Error Creating Inf."), ContainSubstring(text)), wrong)
			}
		}
		b.Expect(b.post("/infrastructures/"+id, "a: b").Text).To(ContainSubstring("Error Adding resources"))
		b.Expect(b.post("/infrastructures?async=maybe", single).Status).To(Equal(400))
		b.Expect(b.post("/infrastructures?dry_run=maybe", single).Status).To(Equal(400))
		b.Expect(b.server.State()).To(HaveLen(1))
	})
}

func TestDryRun_makesNothing(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.Expect(b.post("/infrastructures?dry_run=true", single).Text).To(ContainSubstring(`"cloudType":"Dummy"`))
		b.Expect(b.as(krake).post("/infrastructures?dry_run=1", single).Text).To(MatchJSON(`{}`), "no cloud is logged in to")
		b.Expect(b.server.State()).To(BeEmpty())
		b.Expect(b.server.Calls()).To(Equal(map[string]int{"getEstimate": 2}))
	})
}

func TestState_followsTheClock(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		is := func(state im.State) {
			b.t.Helper()
			found := b.state(id)
			b.Expect(found.State).To(Equal(state))
			b.Expect(found.VMs).To(And(HaveLen(3), HaveEach(state)))
		}
		is(im.Pending)
		b.pass(time.Minute)
		is(im.Running)
		b.pass(10 * time.Minute)
		is(im.Configured)
		b.Expect(b.ask("PUT", "/infrastructures/"+id+"/stop", "").Status).To(Equal(200))
		is(im.Stopped)
		b.Expect(b.ask("PUT", "/infrastructures/"+id+"/start", "").Status).To(Equal(200))
		is(im.Configured)
		b.Expect(b.ask("PUT", "/infrastructures/"+id+"/reconfigure", "").Status).To(Equal(200))
		is(im.Running)
		for _, state := range []im.State{im.Unknown, im.Off, im.Failed, im.Unconfigured} {
			b.Expect(b.server.SetStatus(sim.Status{ID: id, State: state})).To(Succeed())
			is(state)
		}
	})
}

func TestUpdate_mergesAndComparesCounts(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		b.pass(time.Hour)
		path := "/infrastructures/" + id

		more := b.post(path, strings.Replace(single, "default: 2", "default: 4", 1))
		b.Expect(strings.Count(more.Text, path+"/vms/")).To(Equal(2), "the new ones")
		b.Expect(b.state(id)).To(And(HaveField("State", im.Pending), HaveField("VMs", And(HaveLen(5), HaveKeyWithValue("0", im.Running)))))
		b.pass(time.Hour)

		b.Expect(b.post(path, strings.Replace(single, "default: 2", "default: 1", 1)).Text).To(MatchJSON(`{"uri-list":[]}`))
		b.Expect(b.state(id)).To(And(HaveField("State", im.Running), HaveField("VMs", And(HaveLen(2), HaveKey("0"), HaveKey("1")))))
		b.pass(time.Hour)

		without := `tosca_definitions_version: tosca_simple_yaml_1_0
metadata: {owner: me}
topology_template: {node_templates: {front: {type: tosca.nodes.indigo.Compute}}}`
		b.Expect(b.post(path, without).Status).To(Equal(200))
		b.Expect(b.state(id).VMs).To(HaveLen(2), "what isn't in the template stays")
		b.Expect(b.get(path + "/tosca").Text).To(And(ContainSubstring("infra_name"), ContainSubstring("owner: me"), ContainSubstring("wn:")))
		b.pass(time.Hour)

		b.Expect(b.state(id).State).To(Equal(im.Configured))
		b.Expect(b.post(path, without).Status).To(Equal(200))
		b.Expect(b.state(id).State).To(Equal(im.Running), "the same once more is configured again")
		b.pass(time.Hour)
		b.Expect(b.post(path+"?context=no", without).Status).To(Equal(200))
		b.Expect(b.state(id).State).To(Equal(im.Configured))

		b.Expect(b.ask("DELETE", path+"/vms/1", "").Status).To(Equal(200))
		b.Expect(b.ask("DELETE", path+"/vms/1", "").Status).To(Equal(404))
		b.Expect(b.state(id).VMs).To(HaveLen(1))
	})
}

func TestProperties(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		path := "/infrastructures/" + id
		b.Expect(b.get(path + "/outputs").Text).To(MatchJSON(`{"outputs":{"kubeconfig":null,"fixed":"always"}}`))
		b.pass(time.Hour)
		var said struct{ Outputs map[string]string }
		b.Expect(json.Unmarshal([]byte(b.get(path+"/outputs").Text), &said)).To(Succeed())
		b.Expect(said.Outputs["kubeconfig"]).To(ContainSubstring("current-context: c-" + id))
		b.Expect(b.ask("GET", path+"/tosca", "").Text).To(HavePrefix("metadata:"))
		b.Expect(b.ask("GET", path+"/contmsg", "").Text).To(HaveSuffix("processed successfully\n"))
		b.Expect(b.ask("GET", path+"/radl", "").Text).To(ContainSubstring("system front"))
		b.Expect(b.get(path + "/data").Text).To(ContainSubstring(id))
		b.Expect(strings.Count(b.get(path).Text, "/vms/")).To(Equal(3))
		b.Expect(b.get(path + "/other").Status).To(Equal(404))
		b.Expect(b.get("/other").Status).To(Equal(404))

		radl := b.ask("POST", "/infrastructures", "network public ()").Header.Get("InfID")
		b.pass(time.Hour)
		for _, property := range []string{"outputs", "tosca"} {
			refused := b.get("/infrastructures/" + radl + "/" + property)
			b.Expect(refused.Status).To(Equal(403))
			b.Expect(refused.Text).To(ContainSubstring("not valid in this infrastructure"))
		}
		b.Expect(b.get("/infrastructures/" + radl + "/radl").Text).To(ContainSubstring("network public"))
		b.Expect(b.post("/infrastructures/"+radl, single).Status).To(Equal(400))
		b.Expect(b.ask("POST", "/infrastructures/"+radl, "deploy").Status).To(Equal(200))
		b.Expect(b.state(radl).VMs).To(HaveLen(2))
	})
}

func TestKubeconfig_isWhatTheTestSays(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.server.Kubeconfig = func(c sim.Cluster) (string, error) { return "of " + c.Name + ": " + strings.Join(c.Nodes, " "), nil }
		id := b.create(single)
		b.Expect(b.server.Clusters()).To(BeEmpty())
		b.pass(time.Hour)
		b.Expect(b.get("/infrastructures/" + id + "/outputs").Text).To(ContainSubstring("of demo: front-0 wn-1 wn-2"))
		b.Expect(b.server.Clusters()).To(ConsistOf(HaveField("ID", id)))
	})
}

// A cluster is made of machines that are on, and only who makes it knows its kubeconfig.
func TestKubeconfig_byAdminIsWaitedFor(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		admin := func(method, path, body string) answer {
			return b.as("").ask(method, "/simulator/"+path, body)
		}
		id := b.create(single)
		path := "/infrastructures/" + id
		b.Expect(admin("GET", "clusters", "").Text).To(MatchJSON(`[]`))
		b.pass(2 * time.Minute)
		on := `{"id": "` + id + `", "name": "demo", "nodes": ["front-0", "wn-1", "wn-2"]`
		b.Expect(admin("GET", "clusters", "").Text).To(MatchJSON(`[`+on+`}]`), "they are on before it is configured")
		said := `{"id": "` + id + `", "kubeconfig": "how to reach it"}`
		b.Expect(admin("POST", "kubeconfigs", `{"id": "`+id+`"}`).Status).To(Equal(400))
		b.Expect(admin("POST", "kubeconfigs", strings.Replace(said, id, "other", 1)).Status).To(Equal(400))
		b.pass(24 * time.Hour)
		b.Expect(b.state(id).State).To(Equal(im.Running))
		b.Expect(b.get(path + "/outputs").Text).To(MatchJSON(`{"outputs": {"kubeconfig": null, "fixed": "always"}}`))
		b.Expect(admin("POST", "kubeconfigs", said).Status).To(Equal(204))
		b.Expect(b.state(id).State).To(Equal(im.Configured))
		b.Expect(b.get(path + "/outputs").Text).To(MatchJSON(`{"outputs": {"kubeconfig": "how to reach it", "fixed": "always"}}`))

		b.Expect(b.post(path, strings.Replace(single, "default: 2", "default: 3", 1)).Status).To(Equal(200))
		b.Expect(admin("GET", "clusters", "").Text).To(MatchJSON(`[`+on+`, "kubeconfig": true}]`), "the new one isn't on yet")
		b.pass(time.Hour)
		b.Expect(b.state(id).State).To(Equal(im.Configured))
		b.Expect(admin("GET", "clusters", "").Text).To(ContainSubstring(`"wn-3"`))
		b.Expect(b.ask("DELETE", path+"?async=true", "").Status).To(Equal(200))
		b.Expect(admin("GET", "clusters", "").Text).To(MatchJSON(`[]`))

		other := b.create(strings.ReplaceAll(single, "kubeconfig: {value", "other: {value"))
		b.pass(time.Hour)
		b.Expect(b.state(other).State).To(Equal(im.Configured), "it has no such output")
	}, func(c *sim.Config) { c.OutputsByAdmin = true })
}

func TestUsers_areKeptApart(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		id := b.create(single)
		b.pass(time.Hour)
		path := "/infrastructures/" + id
		for _, who := range []string{
			strings.Replace(both, "s3cret", "other", 1), strings.Replace(both, "krake", "me", 1), "Bearer " + token,
		} {
			other := b.as(who)
			for _, got := range []answer{
				other.get(path + "/state"), other.get(path + "/tosca"), other.post(path, single), other.ask("DELETE", path, ""),
				other.ask("PUT", path+"/reconfigure", ""),
			} {
				b.Expect(got.Status).To(Equal(403))
			}
			b.Expect(other.get("/infrastructures").Text).To(MatchJSON(`{"uri-list":[]}`))
		}
		b.Expect(b.as(strings.Replace(both, "id = im", "id = else", 1)).get(path+"/state").Status).To(Equal(200), "the ID says nothing")
	})
}

func TestList_filters(t *testing.T) {
	list := func(b bench, filter string) answer { return b.get("/infrastructures?filter=" + filter) }
	t.Run("on", func(t *testing.T) {
		inSimulatedTime(t, func(b bench) {
			id := b.create(single)
			b.Expect(b.get("/infrastructures").Text).NotTo(ContainSubstring(id), "it takes a moment")
			b.pass(time.Second)
			for _, text := range []string{"", "infra_name", "d.mo"} {
				b.Expect(list(b, text).Text).To(MatchJSON(`{"uri-list":[{"uri":"http://im.example.com/infrastructures/` + id + `"}]}`))
			}
			b.Expect(list(b, "nothing").Text).To(MatchJSON(`{"uri-list":[]}`))
			b.Expect(list(b, "(").Status).To(Equal(400))
			b.Expect(b.ask("GET", "/infrastructures", "").Text).To(Equal("http://im.example.com/infrastructures/" + id))
		})
	})
	t.Run("off", func(t *testing.T) {
		inSimulatedTime(t, func(b bench) {
			id := b.create(single)
			b.pass(time.Second)
			b.Expect(list(b, "nothing").Text).To(ContainSubstring(id))
		}, func(c *sim.Config) { c.NoFilter = true })
	})
}
