package im_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/simulator"
)

func TestInfrastructure_fromItsCreationToItsEnd(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		b.Expect(b.Version(ctx)).To(Equal("2.0.0"))
		estimates := must(b.DryRun(ctx, cluster))
		b.Expect(estimates).To(HaveKeyWithValue("cloud", And(HaveField("CloudType", "Dummy"), HaveField("Compute", HaveLen(3)))))
		b.Expect(b.server.State()).To(BeEmpty(), "a dry run makes nothing")

		id := must(b.Create(ctx, cluster))
		b.Expect(b.State(ctx, id)).To(And(HaveField("State", im.Pending), HaveField("VMs", HaveLen(3))))
		b.Expect(b.Outputs(ctx, id)).To(Equal(map[string]string{"dashboard": "https://demo.example.com"}), "there is no kubeconfig yet")
		b.Expect(b.Delete(ctx, id)).To(beOf(fault.Busy), "it is being created")
		b.pass(2 * time.Minute)
		b.Expect(b.State(ctx, id)).To(HaveField("State", im.Running))
		b.pass(time.Hour)
		b.Expect(b.State(ctx, id)).To(And(HaveField("State", im.Configured), HaveField("VMs", HaveKeyWithValue("0", im.Configured))))
		b.Expect(b.Outputs(ctx, id)).To(HaveKeyWithValue("kubeconfig", ContainSubstring("kind: Config")))
		b.Expect(b.Tosca(ctx, id)).To(ContainSubstring("infra_name: demo"))
		b.Expect(b.ContMsg(ctx, id, 1)).To(HaveExactElements(ContainSubstring("processed successfully")))

		b.Expect(b.Update(ctx, id, strings.Replace(cluster, "count: 2", "count: 4", 1))).To(Succeed())
		b.Expect(b.State(ctx, id)).To(And(HaveField("State", im.Pending), HaveField("VMs", HaveLen(5))))
		b.pass(time.Hour)
		b.Expect(b.Reconfigure(ctx, id)).To(Succeed())
		b.Expect(b.State(ctx, id)).To(HaveField("State", im.Running))

		b.Expect(b.Delete(ctx, id)).To(Succeed())
		b.pass(10 * time.Second)
		b.Expect(b.State(ctx, id)).To(HaveField("State", im.Deleting))
		b.pass(time.Minute)
		b.Expect(errorOf(b.State(ctx, id))).To(beOf(fault.NotFound))
		b.Expect(b.server.State()).To(BeEmpty())
	})
}

func TestRequests_areAsIMWantsThem(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, id, sent := b.t.Context(), b.made(), &recorder{}
		c := b.connect(sent.through)
		must(c.Create(ctx, cluster))
		must(c.DryRun(ctx, cluster))
		b.Expect(c.Update(ctx, id, cluster)).To(Succeed())
		b.Expect(c.Reconfigure(ctx, id)).To(Succeed())
		must(c.List(ctx, "a.b*"))
		b.Expect(c.Delete(ctx, id)).To(Succeed())
		var lines []string
		for _, r := range sent.sent {
			lines = append(lines, r.Method+" "+strings.ReplaceAll(r.URL.RequestURI(), id, "ID"))
			b.Expect(r.Header.Get("Accept")).To(Equal("application/json"))
			b.Expect(r.Header.Get("Authorization")).To(HavePrefix(`[{"id":"im",`))
			text, _ := io.ReadAll(r.Body)
			if len(text) > 0 {
				b.Expect(string(text)).To(Equal(cluster))
				b.Expect(r.Header.Get("Content-Type")).To(Equal("text/yaml"))
			}
		}
		b.Expect(lines).To(Equal([]string{
			"POST /im/infrastructures?async=true", "POST /im/infrastructures?dry_run=true", "POST /im/infrastructures/ID",
			"PUT /im/infrastructures/ID/reconfigure", `GET /im/infrastructures?filter=a%5C.b%5C%2A`, "DELETE /im/infrastructures/ID?async=true",
		}))
	})
}

func TestTemplate_thatIMRefusesIsInvalid(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, id := b.t.Context(), b.made()
		for _, wrong := range []string{"", "not: [YAML", "a: b", strings.Replace(cluster, "simple_yaml_1_0", "other", 1)} {
			for _, err := range []error{errorOf(b.Create(ctx, wrong)), errorOf(b.DryRun(ctx, wrong)), b.Update(ctx, id, wrong)} {
				b.Expect(err).To(beOf(fault.Invalid), wrong)
			}
		}
		b.Expect(errorOf(b.DryRun(ctx, "a: b"))).To(MatchError(ContainSubstring("template version")), "IM's own words")
		b.Expect(b.server.State()).To(HaveLen(1))
	})
}

func TestAnswers_areWholeOrNone(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		for _, text := range []string{
			`{}`, `null`, `[]`, `<html>`, `{"state":null,"outputs":null,"tosca":null,"contmsg":null,"uri-list":null}`,
			`{"state":{},"outputs":[],"tosca":{},"contmsg":1,"uri-list":[{}],"version":""}`,
			`{"state":"running","outputs":"x","tosca":[],"contmsg":[],"uri-list":[{"uri":"https://x/infrastructures/../.."}]}`,
			`{"uri":"https://im/infrastructures/"}`, `{"uri":"https://im/other/a"}`, "https://im/infrastructures/a b", `{"uri":7}`,
		} {
			c := b.connect(answering(200, text, always))
			reads := calls(b.t, c, nothing)
			for _, name := range []string{"state", "outputs", "tosca", "log"} {
				b.Expect(reads[name]).To(And(beOf(fault.Transient), MatchError(ContainSubstring("unexpected answer"))), "%s: %s", name, text)
			}
			b.Expect(errorOf(c.List(ctx, ""))).To(And(beOf(fault.Transient), MatchError(ContainSubstring("unexpected answer"))), text)
			b.Expect(errorOf(c.Version(ctx))).To(beOf(fault.Transient), text)
			err := errorOf(c.Create(ctx, cluster))
			b.Expect(err).To(And(beOf(fault.Transient), MatchError(ContainSubstring("unexpected answer"))), text)
			b.Expect(fault.IsAmbiguous(err)).To(BeTrue(), "it may have been made")
		}
	})
}

// States are shown, and counted: what this release doesn't know has one name.
func TestState_thatIsNotKnownIsUnknown(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		long := strings.Repeat("x", 100_000)
		c := b.connect(answering(200, `{"state":{"state":"`+long+`","vm_states":{"0":"running","1":"`+long+`"}}}`, always))
		b.Expect(c.State(b.t.Context(), nothing)).To(HaveValue(Equal(im.Infrastructure{
			State: im.Unknown, VMs: map[string]im.State{"0": im.Running, "1": im.Unknown},
		})))
	})
}

func TestCreate_understandsBothAnswers(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, text := range []string{`{"uri":"https://im:8800/infrastructures/a-1"}`, "http://im/x/infrastructures/a-1\n"} {
			b.Expect(b.connect(answering(200, text, always)).Create(b.t.Context(), cluster)).To(Equal("a-1"))
		}
	})
}

func TestList_hasThoseWithTheTextOnly(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		one := must(b.Create(ctx, strings.Replace(cluster, "demo}", `"a.b (1)"}`, 1)))
		two := must(b.Create(ctx, strings.Replace(cluster, "demo}", "a-b}", 1)))
		b.Expect(b.List(ctx, "")).To(BeEmpty(), "it takes a moment")
		b.pass(time.Minute)
		b.Expect(b.List(ctx, "")).To(ConsistOf(one, two))
		b.Expect(b.List(ctx, "a.b (1)")).To(ConsistOf(one), "the text is no pattern")
		b.Expect(b.List(ctx, "nothing")).To(BeEmpty())
	})
}

func TestNoTOSCA_isSaidOfWhatWasMadeOfRADL(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		radl := b.connect(func(next http.RoundTripper) http.RoundTripper { return asRADL{next} })
		id := must(radl.Create(ctx, cluster))
		b.pass(time.Hour)
		for _, err := range []error{errorOf(b.Tosca(ctx, id)), errorOf(b.Outputs(ctx, id))} {
			b.Expect(err).To(And(beOf(fault.Invalid), WithTransform(im.NoTOSCA, BeTrue())))
		}
		b.Expect(b.State(ctx, id)).To(HaveField("State", im.Configured))
	})
}

// asRADL says that what is sent is RADL.
type asRADL struct{ next http.RoundTripper }

func (a asRADL) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Content-Type", "text/plain")
	return a.next.RoundTrip(r)
}

func TestIDs_areNoPaths(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		sent := &recorder{}
		c := b.connect(sent.through)
		for _, id := range []string{"..", "../version", "a/b", "a?b", "a b", "-a", strings.Repeat("x", 200)} {
			for name, err := range calls(b.t, c, id) {
				b.Expect(err).To(beOf(fault.Invalid), "%s %q", name, id)
			}
		}
		b.Expect(sent.sent).To(BeEmpty())
	})
}

func TestSilent_isAboutTheEndpointOfAllClients(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		limits := im.Config{}
		im.Paced(time.Minute, 0, 0, egress.Policy{})(&limits)
		shared := func(c *im.Config) { c.Circuits = limits.Circuits }
		c, other := b.connect(nil, shared), b.connect(nil, shared)
		b.fault(simulator.Fault{Operation: "getVersion", Kind: simulator.FaultHang, Times: 1000})
		for i := 0; other.Silent() == nil; i++ {
			b.Expect(i).To(BeNumerically("<", 20))
			b.Expect(errorOf(c.Version(b.t.Context()))).To(beOf(fault.Transient))
		}
		before := b.server.Calls()["getState"]
		b.Expect(errorOf(other.State(b.t.Context(), nothing))).To(beOf(fault.Transient))
		b.Expect(b.server.Calls()["getState"]).To(Equal(before), "it isn't sent")
	})
}
