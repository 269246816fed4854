package im_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/sim"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// repeated is how a server may repeat a value.
func repeated(value string) []string {
	text, _ := json.Marshal(value)
	return []string{
		value, string(text), strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(value), url.QueryEscape(value),
		url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)), strings.Split(strings.TrimSpace(value), "\n")[0],
		base64.RawURLEncoding.EncodeToString([]byte(value)), html.EscapeString(value), xml(value), nested(value),
	}
}

// xml is a text as Python writes it.
func xml(value string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(value)
}

// nested is a text in JSON, in a text in JSON, as Python writes it.
func nested(value string) string {
	text, _ := json.Marshal(value)
	text, _ = json.Marshal(strings.ReplaceAll(string(text[1:len(text)-1]), "\x7f", `\u007f`))
	return string(text[1 : len(text)-1])
}

// A login is sent as Base64 of a name and a password, for example, and Python breaks it into lines.
func TestLog_hasNoCredentialWithinBase64(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		const password = "a-hidden;p@ss/w\u00f6rd?"
		cloud := im.Credential{"id": "cloud", "type": "Dummy", "username": "x", "password": password}
		for i := range 4 {
			text := strings.Repeat("x", i) + ":" + password + "+more"
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
				log := "Authorization: Basic " + encoding.EncodeToString([]byte(text))
				said, _ := json.Marshal(map[string]string{"contmsg": log})
				c := b.connect(answering(200, string(said), always), func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
				lines := must(c.ContMsg(b.t.Context(), nothing, 3))
				b.Expect(lines).To(ConsistOf(And(HavePrefix("Authorization: Basic "), ContainSubstring("[redacted]"))), log)
				b.Expect(len(lines[0])-len("[redacted]")).To(BeNumerically("<=", len(log)-len(password)*8/6+1), lines[0])
			}
		}
	})
}

func TestLog_hasNoCredential(t *testing.T) {
	for name, value := range values {
		value = "pass-" + value // what is too short is another test
		t.Run(name, func(t *testing.T) {
			inSimulatedTime(t, func(b bench) {
				ctx := b.t.Context()
				cloud := dummy()
				cloud["proxy"] = value
				c := b.connect(nil, func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
				said := strings.Join(repeated(value), " and ")
				b.Expect(b.server.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: "login failed with " + said})).To(Succeed())
				id := must(c.Create(ctx, cluster))
				b.pass(time.Hour)
				log := strings.Join(must(c.ContMsg(ctx, id, 50)), "\n")
				b.fault(simulator.Fault{
					Operation: "reconfigureInfrastructure", Kind: simulator.FaultStatus, Status: 400, Message: "login failed with " + said,
				})
				err := c.Reconfigure(ctx, id)
				b.Expect(err).To(HaveOccurred())
				for _, text := range []string{log, fmt.Sprintf("%v %+v %#v", err, err, err)} {
					for _, form := range repeated(strings.TrimSpace(value)) {
						b.Expect(text).NotTo(ContainSubstring(form))
					}
					b.Expect(text).To(ContainSubstring("login failed with [redacted]"))
				}
			})
		})
	}
}

func TestLog_keepsWhatIsNoSecret(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		cloud := im.Credential{
			"id": "cloud", "type": "OpenStack", "host": "https://keystone:5000", "tenant": "demo", "username": "me", "password": "hidden",
			"token": "hidden, too", // of which the password is a part
		}
		c := b.connect(nil, func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
		said := "OpenStack of demo at https://keystone:5000: me and some time"
		message := "\x1b[0;31m" + said + "\x1b[0m\twith\x07 hidden, too, and hidden"
		b.Expect(b.server.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: message})).To(Succeed())
		id := must(c.Create(ctx, cluster))
		b.pass(time.Hour)
		log := strings.Join(must(c.ContMsg(ctx, id, 2)), "\n")
		b.Expect(log).To(ContainSubstring(said + " with\ufffd [redacted], and [redacted]"))
		b.Expect(strings.Count(log, "\n")).To(Equal(1))
	})
}

func TestLog_withACredentialThatIsTooShortIsLeftOut(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		cloud := im.Credential{"id": "cloud", "type": "Dummy", "password": "xyz"}
		c := b.connect(nil, func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
		b.Expect(b.server.SetOutcome(sim.Outcome{State: im.Unconfigured, Message: "no xyz"})).To(Succeed())
		id := must(c.Create(ctx, cluster))
		b.Expect(c.ContMsg(ctx, id, 9)).To(ContainElement(ContainSubstring("Creating infrastructure")))
		b.pass(time.Hour)
		leftOut := HaveExactElements(HavePrefix("[left out:"))
		b.Expect(c.ContMsg(ctx, id, 9)).To(leftOut)

		cloud["long"] = strings.Repeat("long credential ", 20)
		said, _ := json.Marshal(map[string]string{"contmsg": strings.Repeat("line\n", 20<<10) + "no xyz"})
		c = b.connect(answering(200, string(said), always), func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
		b.Expect(c.ContMsg(ctx, nothing, 9)).To(leftOut, "where only its end is searched, too")
	})
}

// Credentials that are parts of the word that stands for them: each would be found in it, and make it longer.
func TestLog_doesNotGrowByWhatStandsForCredentials(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		const word = "[redacted]"
		cloud := im.Credential{"id": "cloud", "type": "Dummy", "password": "s3cret"}
		for length := 4; length < len(word); length++ {
			for i := range len(word) - length + 1 {
				cloud[fmt.Sprintf("x%d_%d", length, i)] = word[i : i+length]
			}
		}
		said, _ := json.Marshal(map[string]string{"contmsg": "it was s3cret"})
		c := b.connect(answering(200, string(said), always), func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
		b.Expect(c.ContMsg(b.t.Context(), nothing, 3)).To(Equal([]string{"it was [redacted]"}))
	})
}

func TestLog_isBounded(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		log := func(text string) through {
			said, _ := json.Marshal(map[string]string{"contmsg": text})
			return answering(200, string(said), always)
		}
		lines := must(b.connect(log(strings.Repeat(strings.Repeat("x", 5000)+"\n\n", 200))).ContMsg(ctx, nothing, 3))
		b.Expect(lines).To(HaveLen(3))
		b.Expect(lines[0]).To(HaveLen(300 + len("…")))
		short := b.connect(log(strings.Repeat("x\n", 2<<20)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.Expect(short.ContMsg(ctx, nothing, 3)).To(Equal([]string{"x", "x", "x"}))
		runtime.ReadMemStats(&after)
		b.Expect((after.TotalAlloc-before.TotalAlloc)>>20).To(BeNumerically("<", 150), "MiB, most of them for the JSON")
		b.Expect(b.connect(log("")).ContMsg(ctx, nothing, 3)).To(BeEmpty())
		b.Expect(errorOf(b.connect(log(strings.Repeat("x", 9<<20))).ContMsg(ctx, nothing, 3))).To(beOf(fault.Transient))
	})
}

// Of a long log only the end is shown, so only that is searched: a tenant's IM may answer 8 MiB, and a tenant's Secret have 1,000 lines.
func TestLog_thatIsLongIsSearchedAtItsEndOnly(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		var secret strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&secret, "3%03d7\n", i)
		}
		cloud := im.Credential{"id": "cloud", "type": "Dummy", "password": secret.String(), "proxy": "some secret"}
		said, _ := json.Marshal(map[string]string{"contmsg": strings.Repeat("3", 8<<20-1000) + "\nit was 38157\n" + strings.Repeat("\n", 100)})
		c := b.connect(answering(200, string(said), always), func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
		var lines []string
		took := processtest.CPUTime(func() { lines = must(c.ContMsg(b.t.Context(), nothing, 2)) })
		b.Expect(took).To(BeNumerically("<", 700*time.Millisecond))
		b.Expect(lines).To(HaveExactElements(HavePrefix("333"), "it was [redacted]"))
	})
}

// Where the search begins, a part of a credential may be left.
func TestLog_thatIsLongHasNoPartOfACredential(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		password := strings.Repeat("secret", 100)
		cloud := im.Credential{"id": "cloud", "type": "Dummy", "password": password}
		for shift := range 7 {
			log := strings.Repeat("x", shift) + strings.Repeat(password+"\n", 400) + "the end"
			said, _ := json.Marshal(map[string]string{"contmsg": log})
			c := b.connect(answering(200, string(said), always), func(c *im.Config) { c.Clouds = []im.Credential{cloud} })
			lines := must(c.ContMsg(b.t.Context(), nothing, 1000))
			b.Expect(lines).To(ContainElements("[redacted]", "the end"))
			b.Expect(strings.Join(lines, "\n")).NotTo(ContainSubstring("sec"))
		}
	})
}
