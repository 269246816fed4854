package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
)

// call is a method of the client and the request that it has to make; ID and SITE stand for these.
type call struct {
	request string
	do      func(context.Context, *client.Client) error
}

func reads[T any](request string, method func(*client.Client, context.Context, string, string) (*T, error)) call {
	return call{request, func(ctx context.Context, c *client.Client) error {
		_, err := method(c, ctx, siteID, id)
		return err
	}}
}

func deletes(request string, method func(*client.Client, context.Context, string, string) error) call {
	return call{request, func(ctx context.Context, c *client.Client) error { return method(c, ctx, siteID, id) }}
}

func updates[R, T any](request string, method func(*client.Client, context.Context, string, string, R) (*T, error), body R) call {
	return call{request, func(ctx context.Context, c *client.Client) error {
		_, err := method(c, ctx, siteID, id, body)
		return err
	}}
}

func creates[R, T any](request string, method func(*client.Client, context.Context, R) (*T, error), body R) call {
	return call{request, func(ctx context.Context, c *client.Client) error {
		_, err := method(c, ctx, body)
		return err
	}}
}

func lists[F, T any](request string, method func(*client.Client, context.Context, F) ([]T, error), filter F) call {
	path, query, _ := strings.Cut(request, "?")
	parameters := append(strings.Split(query, "&"), "orderBy=CREATED_ASC", "pageNumber=1", "pageSize=100")
	slices.Sort(parameters)
	return call{path + "?" + strings.Join(parameters, "&"), func(ctx context.Context, c *client.Client) error {
		_, err := method(c, ctx, filter)
		return err
	}}
}

type api = client.Client

// Of these a 404 means that the object is gone, if the site can be seen.
var ofOneObject = []call{
	reads("GET ipblock/ID", (*api).IPBlock),
	reads("GET allocation/ID", (*api).Allocation),
	reads("GET vpc/ID", (*api).VPC),
	reads("GET vpc-peering/ID", (*api).VPCPeering),
	reads("GET subnet/ID", (*api).Subnet),
	reads("GET vpc-prefix/ID", (*api).VPCPrefix),
	reads("GET network-security-group/ID", (*api).NetworkSecurityGroup),
	reads("GET instance/type/ID", (*api).InstanceType),
	reads("GET machine/ID", (*api).Machine),
	reads("GET instance/ID", (*api).Instance),

	deletes("DELETE ipblock/ID", (*api).DeleteIPBlock),
	deletes("DELETE allocation/ID", (*api).DeleteAllocation),
	deletes("DELETE vpc/ID", (*api).DeleteVPC),
	deletes("DELETE vpc-peering/ID", (*api).DeleteVPCPeering),
	deletes("DELETE subnet/ID", (*api).DeleteSubnet),
	deletes("DELETE vpc-prefix/ID", (*api).DeleteVPCPrefix),
	deletes("DELETE network-security-group/ID", (*api).DeleteNetworkSecurityGroup),
	deletes("DELETE instance/ID {}", (*api).DeleteInstance),
	{`DELETE instance/ID {"machineHealthIssue":{"category":"Hardware","summary":"no disk"}}`,
		func(ctx context.Context, c *client.Client) error {
			issue := client.MachineHealthIssue{Category: client.IssueHardware, Summary: "no disk"}
			return c.DeleteUnhealthyInstance(ctx, siteID, id, issue)
		}},

	updates(`PATCH vpc/ID {"networkSecurityGroupId":""}`, (*api).UpdateVPC,
		client.VPCUpdateRequest{NetworkSecurityGroupID: ptr.To("")}),
	updates(`PATCH subnet/ID {"name":"nodes"}`, (*api).UpdateSubnet, client.SubnetUpdateRequest{Name: "nodes"}),
	updates(`PATCH vpc-prefix/ID {"name":"nodes"}`, (*api).UpdateVPCPrefix, client.VPCPrefixUpdateRequest{Name: "nodes"}),
	updates(`PATCH network-security-group/ID {"rules":[]}`, (*api).UpdateNetworkSecurityGroup,
		client.NetworkSecurityGroupUpdateRequest{Rules: &[]client.NetworkSecurityGroupRule{}}),
	updates(`PATCH instance/ID {"labels":{}}`, (*api).UpdateInstance,
		client.InstanceUpdateRequest{Labels: &client.Labels{}}),
}

var others = []call{
	{"GET tenant/current", func(ctx context.Context, c *client.Client) error { _, err := c.Tenant(ctx); return err }},

	creates(`POST ipblock {"name":"n","prefix":"10.0.0.0","prefixLength":16,"protocolVersion":"IPv4","routingType":"Public","siteId":"SITE"}`,
		(*api).CreateIPBlock, client.IPBlockCreateRequest{
			Name: "n", SiteID: siteID, Prefix: "10.0.0.0", PrefixLength: 16, ProtocolVersion: client.IPv4, RoutingType: client.RoutingPublic,
		}),
	creates(`POST allocation {"allocationConstraints":[{"constraintType":"Reserved","constraintValue":24,"resourceType":"IPBlock",`+
		`"resourceTypeId":"ID"}],"name":"n","siteId":"SITE","tenantId":"ID"}`,
		(*api).CreateAllocation, client.AllocationCreateRequest{
			Name: "n", SiteID: siteID, TenantID: id, AllocationConstraints: []client.AllocationConstraintCreateRequest{{
				ResourceType: client.AllocationOfIPBlock, ResourceTypeID: id, ConstraintType: client.AllocationReserved, ConstraintValue: 24,
			}},
		}),
	creates(`POST vpc {"id":"ID","name":"n","siteId":"SITE"}`, (*api).CreateVPC,
		client.VPCCreateRequest{ID: id, Name: "n", SiteID: siteID}),
	creates(`POST vpc-peering {"siteId":"SITE","vpc1Id":"ID","vpc2Id":"ID"}`, (*api).CreateVPCPeering,
		client.VPCPeeringCreateRequest{SiteID: siteID, VPC1ID: id, VPC2ID: id}),
	creates(`POST subnet {"ipv4BlockId":"ID","name":"n","prefixLength":24,"vpcId":"ID"}`, (*api).CreateSubnet,
		client.SubnetCreateRequest{Ipv4BlockID: id, Name: "n", PrefixLength: 24, VPCID: id}),
	creates(`POST vpc-prefix {"ipBlockId":"ID","name":"n","prefixLength":24,"vpcId":"ID"}`, (*api).CreateVPCPrefix,
		client.VPCPrefixCreateRequest{IPBlockID: id, Name: "n", PrefixLength: 24, VPCID: id}),
	creates(`POST network-security-group {"name":"n","rules":[{"action":"DENY","direction":"INGRESS","protocol":"ANY"}],"siteId":"SITE"}`,
		(*api).CreateNetworkSecurityGroup, client.NetworkSecurityGroupCreateRequest{
			Name: "n", SiteID: siteID,
			Rules: []client.NetworkSecurityGroupRule{{Action: client.RuleDeny, Direction: client.RuleIngress, Protocol: client.RuleAny}},
		}),
	creates(`POST instance {"interfaces":[{"subnetId":"ID"}],"name":"n","vpcId":"ID"}`, (*api).CreateInstance,
		client.InstanceCreateRequest{Name: "n", VPCID: id, Interfaces: []client.InterfaceCreateRequest{{SubnetID: id}}}),

	lists("GET ipblock?siteId=SITE", (*api).IPBlocks, siteID),
	lists("GET allocation?query=q&siteId=SITE", (*api).Allocations, client.AllocationFilter{SiteID: siteID, Query: "q"}),
	lists("GET vpc?query=q&siteId=SITE", (*api).VPCs, client.VPCFilter{SiteID: siteID, Query: "q"}),
	lists("GET vpc-peering?siteId=SITE", (*api).VPCPeerings, siteID),
	lists("GET subnet?query=q&siteId=SITE&vpcId=ID", (*api).Subnets, client.SubnetFilter{SiteID: siteID, VPCID: id, Query: "q"}),
	lists("GET vpc-prefix?query=q&siteId=SITE&vpcId=ID", (*api).VPCPrefixes,
		client.VPCPrefixFilter{SiteID: siteID, VPCID: id, Query: "q"}),
	lists("GET network-security-group?query=q&siteId=SITE", (*api).NetworkSecurityGroups,
		client.NetworkSecurityGroupFilter{SiteID: siteID, Query: "q"}),
	lists("GET instance?name=n&siteId=SITE&vpcId=ID", (*api).Instances,
		client.InstanceFilter{SiteID: siteID, VPCID: id, Name: "n"}),
}

// record answers like the service and writes the request down in the notation of this file.
func record(request *string) step {
	short := strings.NewReplacer(prefix, "", siteID, "SITE", id, "ID")
	return func(r *http.Request) (*http.Response, error) {
		body := []byte{}
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		*request = short.Replace(strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body)))
		switch {
		case r.Method == http.MethodDelete:
			return answers(202, "Deletion request was accepted")(r)
		case r.URL.Query().Has("pageNumber"):
			return answers(200, "[]", "X-Pagination", `{"pageNumber":1,"pageSize":100,"total":0}`)(r)
		default:
			return found(r)
		}
	}
}

func TestEachMethod_makesItsRequest(t *testing.T) {
	t.Parallel()
	for _, calls := range [][]call{ofOneObject, others} {
		for _, call := range calls {
			t.Run(call.request, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				var request string
				g.Expect(call.do(t.Context(), (&script{steps: []step{record(&request)}}).client(t))).To(Succeed())
				g.Expect(request).To(Equal(call.request))
			})
		}
	}
}

func TestNotFound_isProvenForEachKindOfObject(t *testing.T) {
	t.Parallel()
	gone := answers(404, `{"message":"Could not find VPC peering"}`) // of which a 404 has to speak, see ofPeering
	onlySite := func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == prefix+"site/"+siteID {
			return found(r)
		}
		return gone(r)
	}
	for _, call := range ofOneObject {
		t.Run(call.request, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(fault.ClassOf(call.do(t.Context(), (&script{steps: []step{onlySite}}).client(t)))).To(Equal(fault.NotFound))
			g.Expect(fault.ClassOf(call.do(t.Context(), (&script{steps: []step{gone}}).client(t)))).To(Equal(fault.Transient))
		})
	}
	for _, call := range others {
		t.Run(call.request, func(t *testing.T) {
			t.Parallel()
			err := call.do(t.Context(), (&script{steps: []step{onlySite}}).client(t))
			NewWithT(t).Expect(fault.ClassOf(err)).To(Or(Equal(fault.Transient), Equal(fault.Invalid)))
		})
	}
}
