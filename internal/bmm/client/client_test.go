package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

const (
	token  = "a-very-secret-token"
	siteID = "11111111-1111-4111-8111-111111111111"
	id     = "22222222-2222-4222-8222-222222222222"
	prefix = "/v2/org/acme/carbide/"
)

// loopback allows a server of the test's, and lab are limits for a client of one.
var (
	loopback = egress.Policy{Loopback: true}
	lab      = httpclient.Limits{Egress: loopback, Timeout: 5 * time.Second}
)

// serve starts a server with the given routes, below the prefix, and returns a client for it.
func serve(t *testing.T, routes map[string]http.HandlerFunc) *client.Client {
	t.Helper()
	server := httpclienttest.Start(t, routes)
	c, err := client.New(client.Config{
		Endpoint: server.URL, Org: "acme", Token: token, APIName: "carbide",
		Limits: lab,
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

func TestNotFound_isProvenByAControlCall(t *testing.T) {
	t.Parallel()
	notFound := httpclienttest.Reply(404, `{"message":"Could not find it"}`)
	site := httpclienttest.Reply(200, `{"id":"`+siteID+`","name":"s","status":"Registered"}`)
	unavailable := httpclienttest.Reply(503, "")
	for name, row := range map[string]struct {
		routes map[string]http.HandlerFunc
		class  fault.Class
	}{
		"the site is there":      {map[string]http.HandlerFunc{"GET " + prefix + "site/{id}": site, "/": notFound}, fault.NotFound},
		"everything is 404":      {map[string]http.HandlerFunc{"/": notFound}, fault.Transient},
		"the site can't be read": {map[string]http.HandlerFunc{"GET " + prefix + "site/{id}": unavailable, "/": notFound}, fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, row.routes)
			_, err := c.VPC(t.Context(), siteID, id)
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(fault.ClassOf(c.DeleteInstance(t.Context(), siteID, id))).To(Equal(row.class))
			if row.class == fault.Transient {
				g.Expect(err).To(MatchError(ContainSubstring("apiName")))
			}
		})
	}
}

func TestNotFound_isNeverTheAnswerToACreateAList_orAGetWithoutSite(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{"/": httpclienttest.Reply(404, `{"message":"Could not find it"}`)})
	_, err := c.CreateVPC(t.Context(), client.VPCCreateRequest{})
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	_, err = c.Instances(t.Context(), client.InstanceFilter{})
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	_, err = c.Instance(t.Context(), "", id)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	_, err = c.Site(t.Context(), siteID)
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
}

func TestSite_isNotFoundWhenTheTenantCanBeSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{
		"GET " + prefix + "tenant/current": httpclienttest.Reply(200, `{"id":"`+id+`","org":"acme"}`),
		"/":                                httpclienttest.Reply(404, `{"message":"Could not find Site"}`),
	})
	_, err := c.Site(t.Context(), siteID)
	g.Expect(fault.IsNotFound(err)).To(BeTrue())
}

func TestWrites_areAmbiguousWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	release := make(chan struct{})
	hang := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	c := serve(t, map[string]http.HandlerFunc{
		"POST " + prefix + "vpc": hang, "POST " + prefix + "subnet": drop, "POST " + prefix + "instance": httpclienttest.Reply(201, "<html>"),
		"GET " + prefix + "site": drop,
	})
	t.Cleanup(func() { close(release) })

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the request has to arrive
	defer cancel()
	_, err := c.CreateVPC(ctx, client.VPCCreateRequest{})
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue())
	g.Expect(err).To(MatchError(context.DeadlineExceeded))

	_, err = c.CreateSubnet(t.Context(), client.SubnetCreateRequest{})
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue(), "a dropped connection")
	_, err = c.CreateInstance(t.Context(), client.InstanceCreateRequest{})
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue(), "a success that can't be read")
	_, err = c.SiteByName(t.Context(), "s")
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	g.Expect(fault.IsAmbiguous(err)).To(BeFalse(), "reading changes nothing")
}

func TestWrites_areNotAmbiguousWhenNothingListens(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	endpoint := server.URL
	server.Close()
	c, err := client.New(client.Config{Endpoint: endpoint, Org: "acme", Token: token, APIName: "carbide", Limits: lab})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.CreateVPC(t.Context(), client.VPCCreateRequest{})
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Transient))
	g.Expect(fault.IsAmbiguous(err)).To(BeFalse())
}

// paged serves total instances, at most limit per page, and fails on the page failAt.
func paged(total, limit, failAt int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.URL.Query().Get("pageNumber"))
		size, _ := strconv.Atoi(r.URL.Query().Get("pageSize"))
		size = min(size, limit)
		if number == failAt {
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		items := []client.Instance{}
		for i := (number - 1) * size; i < min(number*size, total); i++ {
			items = append(items, client.Instance{ID: strconv.Itoa(i), Name: r.URL.Query().Get("orderBy")})
		}
		w.Header().Set("X-Pagination", fmt.Sprintf(`{"pageNumber":%d,"pageSize":%d,"total":%d,"orderBy":null}`, number, size, total))
		_ = json.NewEncoder(w).Encode(items)
	}
}

func TestLists_followThePagesToTheEnd(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ total, limit int }{
		"empty":                         {0, 100},
		"one full page":                 {100, 100},
		"several pages":                 {250, 100},
		"a server with a smaller limit": {45, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{"GET " + prefix + "instance": paged(row.total, row.limit, 0)})
			instances, err := c.Instances(t.Context(), client.InstanceFilter{SiteID: siteID})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(instances).To(HaveLen(row.total))
			for i, instance := range instances {
				g.Expect(instance.ID).To(Equal(strconv.Itoa(i)))
				g.Expect(instance.Name).To(Equal("CREATED_ASC"), "pages are stable only in a fixed order")
			}
		})
	}
}

func TestLists_areNothingIfOnePageFails(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{
		"GET " + prefix + "instance": paged(250, 100, 3),
		"GET " + prefix + "vpc":      httpclienttest.Reply(200, "[]"),
	})
	instances, err := c.Instances(t.Context(), client.InstanceFilter{})
	g.Expect(err).To(HaveOccurred())
	g.Expect(instances).To(BeEmpty())
	_, err = c.VPCs(t.Context(), client.VPCFilter{})
	g.Expect(err).To(MatchError(ContainSubstring("X-Pagination")), "without the header nothing says that the list is complete")
}

// ResourceTypeID is what one release says in answers, resourceTypeId in requests and in the other release.
func TestDecoding_takesKeysInAnyCase(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"ResourceTypeID", "resourceTypeId", "resourceTypeID"} {
		g := NewWithT(t)
		c := serve(t, map[string]http.HandlerFunc{
			"GET " + prefix + "allocation/{id}": httpclienttest.Reply(200, `{"id":"`+id+`","allocationConstraints":[{"`+key+`":"block","DERIVEDRESOURCEID":"child"}]}`),
		})
		allocation, err := c.Allocation(t.Context(), siteID, id)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(allocation.AllocationConstraints).To(HaveLen(1))
		g.Expect(allocation.AllocationConstraints[0].ResourceTypeID).To(Equal("block"), key)
		g.Expect(allocation.AllocationConstraints[0].DerivedResourceID).To(Equal("child"))
	}
}

func TestDecoding_toleratesOtherCaseAndUnknownStates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{
		"GET " + prefix + "instance/{id}": httpclienttest.Reply(200, `{"ID":"`+id+`","InstanceTypeID":"x","status":"Levitating","new":1,"machineId":null}`),
	})
	instance, err := c.Instance(t.Context(), siteID, id)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(instance.ID).To(Equal(id))
	g.Expect(instance.InstanceTypeID).To(Equal("x"))
	g.Expect(instance.Status).To(BeEquivalentTo("Levitating"))
}

func TestRequests_carryTheToken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{"GET " + prefix + "tenant/current": func(w http.ResponseWriter, r *http.Request) {
		httpclienttest.Reply(200, fmt.Sprintf(`{"id":%q,"org":%q}`, r.Header.Get("Authorization"), r.PathValue("org")))(w, r)
	}})
	tenant, err := c.Tenant(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tenant.ID).To(Equal("Bearer " + token))
}
