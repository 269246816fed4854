package client_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// hostile is a client of services that give this answer to all.
func (b bench) hostile(status int, body string, headers ...string) *client.Client {
	return b.connect(func(next http.RoundTripper) http.RoundTripper {
		return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "iam.example.com" {
				return next.RoundTrip(r)
			}
			return reply(status, body, headers...), nil
		})
	})
}

var inDal = client.Workspace{Zone: zone, ID: nothing}

// objects are a read of one object of each sort.
func objects(t *testing.T, c *client.Client) map[string]error {
	ctx := t.Context()
	return map[string]error{
		"resource group": errorOf(c.ResourceGroup(ctx, nothing)), "instance": errorOf(c.Instance(ctx, nothing)),
		"key":  errorOf(c.HMACKey(ctx, nothing)),
		"zone": errorOf(c.Zone(ctx, zone)), "DHCP server": errorOf(c.DHCPServer(ctx, inDal, nothing)),
		"network": errorOf(c.Network(ctx, inDal, nothing)),
		"image":   errorOf(c.Image(ctx, inDal, nothing)), "job": errorOf(c.Job(ctx, inDal, nothing)),
		"server": errorOf(c.Server(ctx, inDal, nothing)),
		"VPC":    errorOf(c.VPC(ctx, region, nothing)), "subnet": errorOf(c.Subnet(ctx, region, nothing)),
		"group": errorOf(c.SecurityGroup(ctx, region, nothing)), "rule": errorOf(c.SecurityGroupRule(ctx, region, nothing, nothing)),
		"balancer": errorOf(c.LoadBalancer(ctx, region, nothing)), "listener": errorOf(c.Listener(ctx, region, nothing, nothing)),
		"pool": errorOf(c.Pool(ctx, region, nothing, nothing)), "member": errorOf(c.Member(ctx, region, nothing, nothing, nothing)),
		"gateway": errorOf(c.TransitGateway(ctx, nothing)), "connection": errorOf(c.Connection(ctx, nothing, nothing)),
	}
}

// lists are a list of each sort.
func lists(t *testing.T, c *client.Client) map[string]error {
	ctx := t.Context()
	return map[string]error{
		"resource groups": errorOf(c.ResourceGroups(ctx, "")), "instances": errorOf(c.Instances(ctx, client.PlanCOS, "")),
		"keys": errorOf(c.HMACKeys(ctx, nothing)), "DHCP servers": errorOf(c.DHCPServers(ctx, inDal)),
		"networks": errorOf(c.Networks(ctx, inDal)),
		"images":   errorOf(c.Images(ctx, inDal)), "servers": errorOf(c.Servers(ctx, inDal)), "zones": errorOf(c.RegionZones(ctx, region)),
		"VPCs": errorOf(c.VPCs(ctx, region)), "subnets": errorOf(c.Subnets(ctx, region, nothing)),
		"groups": errorOf(c.SecurityGroups(ctx, region, nothing)), "rules": errorOf(c.SecurityGroupRules(ctx, region, nothing)),
		"balancers": errorOf(c.LoadBalancers(ctx, region)), "listeners": errorOf(c.Listeners(ctx, region, nothing)),
		"pools": errorOf(c.Pools(ctx, region, nothing)), "members": errorOf(c.Members(ctx, region, nothing, nothing)),
		"gateways": errorOf(c.TransitGateways(ctx)), "connections": errorOf(c.Connections(ctx, nothing)),
	}
}

func TestObjects_areThoseThatWereAskedFor(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		const other = `{"id":"r006-1","guid":"r006-1","networkID":"r006-1","imageID":"r006-1","pvmInstanceID":"r006-1"}`
		for text, answer := range map[string]string{
			"another object": other, "has no ID": `{}`, "not JSON": `<html>`, "more than 10000 values": `[` + strings.Repeat(`{},`, 20_000) + `{}]`,
			"too long":        `{"id":"` + strings.Repeat("x", 2<<20) + `"}`,
			"ID is too long":  strings.ReplaceAll(other, "r006-1", strings.Repeat("x", 200)),
			"of another type": strings.ReplaceAll(other, `"r006-1"`, `[1]`),
		} {
			for sort, err := range objects(b.t, b.hostile(200, answer)) {
				if sort == "zone" && strings.Contains(answer, "pvmInstanceID") {
					continue // it has its name elsewhere
				}
				b.Expect(err).To(And(beOf(fault.Transient), MatchError(ContainSubstring(text))), sort)
			}
		}
		c := b.hostile(200, `{"location":{"region":"wdc06"}}`)
		b.Expect(errorOf(c.Zone(b.t.Context(), zone))).To(MatchError(ContainSubstring("another object")))
	})
}

func TestLists_areWholeOrNone(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		list := func(content, more string) string {
			var fields []string
			for _, key := range []string{
				"resources", "networks", "images", "pvmInstances", "zones", "vpcs", "subnets", "security_groups", "rules",
				"load_balancers", "listeners", "pools", "members", "transit_gateways", "connections",
			} {
				fields = append(fields, fmt.Sprintf("%q:%s", key, content))
			}
			return "{" + strings.Join(fields, ",") + more + "}"
		}
		for answer, text := range map[string]string{
			`{}`:                   "it has no ",
			list(`[{}]`, ""):       "it has no ID",
			list(`{"id":"x"}`, ""): "unexpected answer",
			list(`[]`, `,"next":{"href":"https://example.com/?start=x"}`): "its next page is itself",
			list(`[]`, `,"next_url":"/v2?limit=1"`):                       "doesn't say where that starts",
			list(`[]`, `,"next":7`):                                       "next is of another type",
			"[" + strings.Repeat(" ", 9<<20) + "]":                        "too long",
			list("["+strings.Repeat("0,", 14_000)+"0]", ""):               "more than 200000 values",
		} {
			c := b.hostile(200, answer)
			for sort, err := range lists(b.t, c) {
				if sort == "DHCP servers" && !strings.HasPrefix(answer, "[") {
					text = "unexpected answer" // that list is the answer
				}
				b.Expect(err).To(And(beOf(fault.Transient), MatchError(ContainSubstring(text))), "%s: %.80s", sort, answer)
			}
		}
		c := b.hostile(200, list("null", ""))
		for sort, err := range lists(b.t, c) {
			if sort != "DHCP servers" {
				b.Expect(err).NotTo(HaveOccurred(), "null is empty: %s", sort)
			}
		}
	})
}

func TestHalfALists_isNone(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		pages := 0
		c := b.connect(func(next http.RoundTripper) http.RoundTripper {
			return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				if !strings.HasSuffix(r.URL.Host, ".vpc.example.com") {
					return next.RoundTrip(r)
				}
				if pages++; pages == 1 {
					return reply(200, `{"vpcs":[{"id":"one"}],"next":{"href":"https://example.com/?start=two"}}`), nil
				}
				return reply(403, `{"errors":[{"code":"forbidden","message":"no more"}]}`), nil
			})
		})
		found, err := c.VPCs(b.t.Context(), region)
		b.Expect(err).To(beOf(fault.Credentials))
		b.Expect(found).To(BeNil())
	})
}

func TestRedirects_areNotFollowed(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		sent := &recorder{}
		c := b.connect(func(next http.RoundTripper) http.RoundTripper {
			return sent.through(httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "iam.example.com" {
					return next.RoundTrip(r)
				}
				return reply(302, "", "Location", "https://elsewhere.example.com/"), nil
			}))
		})
		for sort, err := range lists(b.t, c) {
			b.Expect(err).To(beOf(fault.Transient), sort)
		}
		b.Expect(c.HeadBucket(b.t.Context(), client.Bucket{InstanceID: nothing, Region: region, Name: "demo"})).To(beOf(fault.Transient))
		b.Expect(sent.urls()).To(HaveEach(Not(ContainSubstring("elsewhere"))))
	})
}

func TestIDs_areNoPaths(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, sent := b.t.Context(), &recorder{}
		c := b.connect(sent.through)
		for _, id := range []string{"", "..", "../vpcs", "a/b", "a?b", "a b", strings.Repeat("x", 200)} {
			for i, err := range []error{
				errorOf(c.VPC(ctx, region, id)), c.DeleteVPC(ctx, region, id), errorOf(c.Instance(ctx, id)), c.DeleteInstance(ctx, id),
				errorOf(c.Server(ctx, inDal, id)), errorOf(c.Servers(ctx, client.Workspace{Zone: zone, ID: id})), errorOf(c.TransitGateway(ctx, id)),
				errorOf(c.Member(ctx, region, nothing, id, nothing)), errorOf(c.Subnets(ctx, region, id)), errorOf(c.VPCs(ctx, id)),
			} {
				b.Expect(err).To(beOf(fault.Invalid), "%d %q", i, id)
			}
		}
		b.Expect(sent.urls()).To(BeEmpty())
	})
}

func TestSecrets_areInNoMessage(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		const userData = "#cloud-config with a password"
		request := client.ServerRequest{Name: "node", ImageID: nothing, NetworkID: nothing, UserData: []byte(userData), ProcessorType: "shared"}
		var tokens []string
		c := b.connect(func(next http.RoundTripper) http.RoundTripper { // services that repeat what they are told
			return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				body := ""
				if r.Body != nil {
					text, _ := io.ReadAll(r.Body)
					body = strings.ReplaceAll(string(text), `"`, " ")
				}
				if r.URL.Host == "iam.example.com" && len(tokens) == 0 {
					r.Body = io.NopCloser(strings.NewReader(body))
					return next.RoundTrip(r)
				}
				tokens = append(tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
				text := fmt.Sprintf("what is %s %s?", r.Header.Get("Authorization"), body[max(0, len(body)-150):])
				return reply(400, fmt.Sprintf(`{"errors":[{"code":"x","message":%q}],"description":%q,"errorMessage":%q}`, text, text, text)), nil
			})
		})
		all := lists(b.t, c)
		all["server"] = errorOf(c.CreateServer(ctx, inDal, request))
		refusing := answering("iam.example.com", 400, `{"errorCode":"x `+sim.DefaultAPIKey+`","errorMessage":"`+sim.DefaultAPIKey+`"}`)
		all["login"] = errorOf(b.connect(refusing).VPCs(ctx, region))
		b.Expect(tokens[0]).NotTo(BeEmpty())
		for sort, err := range all {
			text := fmt.Sprintf("%v %+v %#v", err, err, err)
			b.Expect(text).NotTo(Or(ContainSubstring(sim.DefaultAPIKey), ContainSubstring(tokens[0]), ContainSubstring("I2Nsb3Vk")), sort)
		}
		b.Expect(all["server"]).To(MatchError(ContainSubstring("[redacted]")))
		b.Expect(fmt.Sprintf("%v %+v %s", c, c, c)).NotTo(ContainSubstring(sim.DefaultAPIKey))
	})
}

func TestDebug_ofTheEnvironmentPrintsNothing(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("DEBUG", "1")
	t.Setenv("SWAGGER_DEBUG", "1")
	read, write, err := os.Pipe()
	g.Expect(err).NotTo(HaveOccurred())
	stderr := os.Stderr
	os.Stderr = write
	config, err := client.FromSecret(secret())
	g.Expect(err).NotTo(HaveOccurred())
	config.HTTP = &http.Client{Transport: httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "iam.example.com" {
			return reply(200, `{"access_token":"a.eyJhY2NvdW50Ijp7ImJzcyI6ImFjYyJ9fQ.c","expires_in":3600}`), nil
		}
		return reply(400, `{"description":"no"}`), nil
	})}
	c, err := client.New(config)
	g.Expect(err).NotTo(HaveOccurred())
	_, failed := c.CreateServer(t.Context(), inDal, client.ServerRequest{Name: "node", UserData: []byte("a password")})
	os.Stderr = stderr
	g.Expect(write.Close()).To(Succeed())
	g.Expect(failed).To(beOf(fault.Invalid))
	text, _ := io.ReadAll(read)
	g.Expect(string(text)).NotTo(ContainSubstring("userData"))
}

func TestLists_leaveOutWhatWasNotAskedFor(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		list := `{"resources":[` +
			`{"id":"a","guid":"a","name":"files","state":"active","resource_plan_id":"` + string(client.PlanCOS) + `"},` +
			`{"id":"b","guid":"b","name":"files","state":"pending_reclamation","resource_plan_id":"` + string(client.PlanCOS) + `"},` +
			`{"id":"c","guid":"c","name":"files","state":"active","resource_plan_id":"` + string(client.PlanPowerVS) + `"},` +
			`{"id":"d","guid":"d","name":"other","state":"active","resource_plan_id":"` + string(client.PlanCOS) + `"}],` +
			`"subnets":[{"id":"a","vpc":{"id":"one"}},{"id":"b","vpc":{"id":"other"}}],` +
			`"security_groups":[{"id":"a","vpc":{"id":"one"}},{"id":"b","vpc":{"id":"other"}}]}`
		c := b.hostile(200, list)
		onlyA := ConsistOf(HaveField("ID", "a"))
		b.Expect(c.Instances(ctx, client.PlanCOS, "files")).To(onlyA)
		b.Expect(c.ResourceGroups(ctx, "other")).To(ConsistOf(HaveField("ID", "d")))
		b.Expect(c.Subnets(ctx, region, "one")).To(onlyA)
		b.Expect(c.SecurityGroups(ctx, region, "one")).To(onlyA)
	})
}

func TestCreateServer_isAnsweredWithTheServer(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, answer := range []string{`[]`, `{}`, `[{"pvmInstanceID":"a","serverName":"other"}]`, `[{"serverName":"node"}]`} {
			_, err := b.hostile(202, answer).CreateServer(b.t.Context(), inDal, client.ServerRequest{Name: "node"})
			b.Expect(err).To(And(beOf(fault.Transient), MatchError(ContainSubstring("unexpected answer"))), answer)
			b.Expect(fault.IsAmbiguous(err)).To(BeTrue(), "it may have been made")
		}
	})
}

func TestNotFound_isSaidInTheServicesOwnWords(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		c := b.connect(func(next http.RoundTripper) http.RoundTripper {
			return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, nothing) {
					return reply(404, "<html>no such page</html>"), nil
				}
				return next.RoundTrip(r)
			})
		})
		b.Expect(errorOf(b.VPC(b.t.Context(), region, nothing))).To(beOf(fault.NotFound))
		b.Expect(errorOf(c.VPC(b.t.Context(), region, nothing))).To(beOf(fault.Transient), "a proxy's words")
	})
}
