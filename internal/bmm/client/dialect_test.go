package client_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// Answers of a server to GET metadata under a name that is its own, and one that isn't.
var (
	version    = httpclienttest.Reply(200, `{"version":"1.5.0"}`)
	wrongPath  = httpclienttest.Reply(404, `{"source":"nico","message":"The requested path could not be found","data":null}`)
	badToken   = httpclienttest.Reply(401, `{"message":"Authorization token in request has expired"}`)
	noRole     = httpclienttest.Reply(403, `{"message":"User does not have any roles assigned"}`)
	overloaded = httpclienttest.Reply(503, "")
	proxyPage  = httpclienttest.Reply(404, "<html>")
)

func TestAPIName_isDetectedByDefiniteAnswersOnly(t *testing.T) {
	t.Parallel()
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, row := range map[string]struct {
		nico, carbide http.HandlerFunc
		found         string
		class         fault.Class
		says          string
	}{
		"a new server":                    {version, wrongPath, "nico", "", ""},
		"an old server":                   {wrongPath, version, "carbide", "", ""},
		"a server with both":              {version, version, "nico", "", ""},
		"an old server, a bad token":      {wrongPath, badToken, "carbide", "", ""},
		"a new server, no role":           {noRole, wrongPath, "nico", "", ""},
		"an old server behind a proxy":    {proxyPage, version, "carbide", "", ""},
		"neither":                         {wrongPath, wrongPath, "", fault.Transient, "it is neither nico nor carbide: are endpoint and orgName right?"},
		"a proxy that refuses everything": {badToken, badToken, "", fault.Credentials, "get metadata: 401"},
		"a proxy that finds nothing":      {proxyPage, proxyPage, "", fault.Transient, "404 Not Found (are endpoint"},
		"one overloaded, one wrong":       {overloaded, wrongPath, "", fault.Transient, "503"},
		"one wrong, one overloaded":       {wrongPath, overloaded, "", fault.Transient, "503"},
		"one wrong, one proxy's page":     {wrongPath, proxyPage, "", fault.Transient, "404"},
		"one overloaded, one bad token":   {overloaded, badToken, "", fault.Transient, "get metadata"},
		"both overloaded":                 {overloaded, overloaded, "", fault.Transient, "503"},
		"one dropped, one wrong":          {drop, wrongPath, "", fault.Transient, "EOF"},
		"a server that says yes to all":   {httpclienttest.Reply(200, `{}`), httpclienttest.Reply(200, `{}`), "", fault.Transient, "the answer has no version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server := httpclienttest.Start(t, map[string]http.HandlerFunc{
				"GET /v2/org/acme/nico/metadata": row.nico, "GET /v2/org/acme/carbide/metadata": row.carbide,
				"POST /v2/org/acme/nico/vpc":    httpclienttest.Reply(201, `{"id":"nico"}`),
				"POST /v2/org/acme/carbide/vpc": httpclienttest.Reply(201, `{"id":"carbide"}`),
			})
			c, err := client.New(client.Config{Endpoint: server.URL, Org: "acme", Token: token, Limits: lab})
			g.Expect(err).NotTo(HaveOccurred())
			vpc, err := c.CreateVPC(t.Context(), client.VPCCreateRequest{})
			if row.found != "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(vpc.ID).To(Equal(row.found))
				return
			}
			g.Expect(err).To(MatchError(And(HavePrefix("detect the API's name: "), ContainSubstring(row.says))))
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "nothing was sent")
		})
	}
}

// upgradable is a server whose name can be changed while it runs. Every VPC is gone, every site is there.
func upgradable(t *testing.T, config client.Config) (c *client.Client, name *atomic.Value, detections *atomic.Int32) {
	t.Helper()
	name, detections = &atomic.Value{}, &atomic.Int32{}
	name.Store("carbide")
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/v2/org/acme/{name}/": func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/metadata") && r.PathValue("name") == name.Load():
			detections.Add(1)
			version(w, r)
		case r.PathValue("name") != name.Load():
			wrongPath(w, r)
		case strings.Contains(r.URL.Path, "/site/"):
			httpclienttest.Reply(200, `{"id":"`+siteID+`"}`)(w, r)
		default:
			httpclienttest.Reply(404, `{"message":"Could not find VPC with specified ID"}`)(w, r)
		}
	}})
	config.Endpoint, config.Org, config.Token, config.Egress, config.Timeout = server.URL, "acme", token, loopback, 5*time.Second
	c, err := client.New(config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c, name, detections
}

func TestAPIName_isRememberedUntilTheServerIsUpgraded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, name, detections := upgradable(t, client.Config{})
	for range 3 {
		_, err := c.VPC(t.Context(), siteID, id)
		g.Expect(fault.ClassOf(err)).To(Equal(fault.NotFound))
	}
	g.Expect(detections.Load()).To(BeEquivalentTo(1))

	name.Store("nico")
	_, err := c.VPC(t.Context(), siteID, id)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient), "an upgraded server isn't an empty data centre")
	_, err = c.VPC(t.Context(), siteID, id)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.NotFound), "the name is detected again")
	g.Expect(detections.Load()).To(BeEquivalentTo(2))
}

func TestAPIName_isNotDetectedWhenItIsSet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, name, detections := upgradable(t, client.Config{APIName: "carbide"})
	_, err := c.VPC(t.Context(), siteID, id)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.NotFound))
	name.Store("nico")
	for range 2 {
		_, err = c.VPC(t.Context(), siteID, id)
		g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
		g.Expect(err).To(MatchError(ContainSubstring("apiName right?")))
	}
	g.Expect(detections.Load()).To(BeZero())
}

func TestPeerings_ofAReleaseWithoutThemAreInvalid(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		metadata http.HandlerFunc
		class    fault.Class
		says     string
	}{
		"the first release":               {httpclienttest.Reply(200, `{"version":"1.0.6"}`), fault.Invalid, "this release (1.0.6) has no VPC peerings"},
		"another path is wrong too":       {wrongPath, fault.Transient, "requested path"},
		"it can't be asked":               {overloaded, fault.Transient, "requested path"},
		"something that isn't the server": {httpclienttest.Reply(200, `{}`), fault.Transient, "requested path"},
	} {
		for _, apiName := range []string{"", "carbide"} {
			t.Run(name+" as "+apiName, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				var named atomic.Bool // once, so that the name is known
				server := httpclienttest.Start(t, map[string]http.HandlerFunc{"/": wrongPath, "GET /v2/org/acme/carbide/metadata": func(w http.ResponseWriter, r *http.Request) {
					if apiName == "" && named.CompareAndSwap(false, true) {
						version(w, r)
						return
					}
					row.metadata(w, r)
				}})
				c, err := client.New(client.Config{Endpoint: server.URL, Org: "acme", Token: token, APIName: apiName, Limits: lab})
				g.Expect(err).NotTo(HaveOccurred())
				_, err = c.VPCPeerings(t.Context(), siteID)
				g.Expect(err).To(MatchError(ContainSubstring(row.says)))
				g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			})
		}
	}
}

func TestPeerings_areAskedForTwiceBeforeAReleaseHasNone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := 0
	c := serve(t, map[string]http.HandlerFunc{
		"GET " + prefix + "metadata": version,
		"GET " + prefix + "vpc-peering": func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 1 { // by a replica that isn't upgraded yet
				wrongPath(w, r)
				return
			}
			w.Header().Set("X-Pagination", `{"pageSize":100,"total":0}`)
			httpclienttest.Reply(200, `[]`)(w, r)
		},
	})
	g.Expect(c.VPCPeerings(t.Context(), siteID)).To(BeEmpty())
}
