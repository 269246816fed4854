package client_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// The messages are the service's own, IDs aside.
func TestErrorsAreClassifiedByStatusAndMessage(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status    int
		message   string
		class     fault.Class
		ambiguous bool
	}{
		// Authentication.
		"expired token":            {401, "Authorization token in request has expired", fault.Credentials, false},
		"token of another issuer":  {401, "Invalid authorization token in request", fault.Credentials, false},
		"service accounts are off": {401, "Service accounts are not enabled", fault.Credentials, false},
		"let in, but not recorded": {401, "Failed to update user record, DB error", fault.Transient, false},
		"missing role":             {403, "User does not have Tenant Admin role with org", fault.Credentials, false},
		"missing provider role":    {403, "User does not have Provider Admin role with org", fault.Credentials, false},
		"no role at all":           {403, "User does not have any roles assigned", fault.Credentials, false},
		"another organisation":     {403, "Failed to validate membership for org: acme", fault.Credentials, false},
		"bad token, from a proxy":  {403, "invalid token", fault.Credentials, false},

		// What is another tenant's. A bad token is 401, so these are no reason to wait for another one.
		"another tenant's VPC":     {403, "VPC does not belong to current Tenant", fault.Invalid, false},
		"another tenant's group":   {403, "NetworkSecurityGroup with ID does not belong to Tenant", fault.Invalid, false},
		"peering with another's":   {403, "User does not have access to create the VPC peering", fault.Invalid, false},
		"no choosing of machines":  {403, "Tenant does not have capability", fault.Invalid, false},
		"refused by the site":      {403, "Failed to execute sync workflow to create VPC on Site: unauthorized", fault.Invalid, false},
		"another tenant's machine": {400, "Machine specified in request does not belong to Site: s", fault.Invalid, false},

		// What there is no more of.
		"quota used up":             {403, "Tenant has reached the maximum number of Instances for Instance Type", fault.Quota, false},
		"no allocation at the site": {403, "Tenant does not have any Allocations with Site", fault.Quota, false},
		"no access to the site":     {403, "Tenant does not have access to Site", fault.Quota, false},
		"no machine left":           {400, "No Machines are available for specified Instance Type", fault.Quota, false},
		"machine in use":            {400, "Machine: m is assigned to an Instance", fault.Quota, false},
		"machine in maintenance":    {400, "Machine: m has status: Maintenance that does not allow Instance creation", fault.Quota, false},
		"machine unhealthy": {400, "Machine: m is not in Ready state, but it can be provisioned by setting `allowUnhealthyMachine` to true",
			fault.Quota, false},
		"machine unhealthy, 1.0.6":   {400, "Machine: m has status: Maintenance, set `allowUnhealthyMachine` to true", fault.Quota, false},
		"machine missing":            {400, "Machine: m is missing on site", fault.Quota, false},
		"IP block full":              {400, "Could not create IPAM entry for Subnet. Details: no prefix", fault.Quota, false},
		"no allocation for the type": {500, "No Allocations for specified Instance Type", fault.Quota, false},

		// What something else still uses.
		"VPC still used":            {400, "Cannot delete VPC", fault.Busy, false},
		"VPC used by prefixes":      {400, "Cannot delete VPC", fault.Busy, false},
		"subnet still used":         {400, "Subnet is being used by one or more Instances and cannot be deleted", fault.Busy, false},
		"IP block still used":       {400, "2 Allocations exist for IP Block, unable to delete", fault.Busy, false},
		"allocation still used":     {400, "1 VPC Prefixes exist for Allocation", fault.Busy, false},
		"allocation used, 1.0.6":    {400, "Instances exist for this Allocation", fault.Busy, false},
		"a tenant's own block":      {400, "Allocated Tenant IP Blocks cannot be deleted directly", fault.Invalid, false},
		"VPC not ready yet":         {400, "VPC is not ready", fault.Busy, false},
		"VPC of a prefix not ready": {400, "VPC must be in Ready state", fault.Busy, false},
		"VPCs to peer not ready":    {400, "Both VPCs must be in Ready state to proceed with peering", fault.Busy, false},
		"NVLink not ready":          {403, "NVLink Logical Partition with ID is not in Ready state", fault.Busy, false},
		"attached security group":   {412, "Cannot delete NetworkSecurityGroup", fault.Busy, false},
		"locked IP block":           {500, "Error creating VPC prefix, detected multiple parallel request on IP Block", fault.Busy, false},
		"locked machine": {500, "Failed to lock Machine: m",
			fault.Busy, false},
		"locked allocations": {500, "Failed to delete Allocation, unable to acquire lock", fault.Busy, false},

		// What may have happened, or may yet.
		"site agent down":         {500, "Failed to create VPC, timeout occurred executing workflow on Site", fault.Transient, true},
		"site out of step":        {500, "Failed to terminate synchronous VPC creation workflow after timeout", fault.Transient, true},
		"site unavailable":        {503, "Failed to execute sync workflow to create VPC on Site: unavailable", fault.Transient, true},
		"unknown at the site":     {404, "Failed to execute sync workflow to create VPC on Site: not found", fault.Transient, true},
		"ID of a deleted VPC":     {500, "Failed creating new VPC record, DB error", fault.Transient, true},
		"gateway":                 {502, "unavailable", fault.Transient, true},
		"too many requests":       {429, "Request rate limit exceeded", fault.Transient, false},
		"site not registered yet": {400, "Site must be in Registered state", fault.Transient, false},

		// What another request would have to say.
		"bad field":             {400, "Error validating VPC creation request data", fault.Invalid, false},
		"site without groups":   {412, "Site does not have NetworkSecurityGroup capability", fault.Invalid, false},
		"feature of later days": {501, "Feature not yet implemented on target Site: x", fault.Invalid, false},
		"redirect":              {307, "", fault.Invalid, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{
				"POST " + prefix + "vpc": func(w http.ResponseWriter, r *http.Request) {
					if row.status == http.StatusTooManyRequests {
						w.Header().Set("Retry-After", "60") // longer than a call waits
					}
					httpclienttest.Reply(row.status, fmt.Sprintf(`{"source":"nico","message":%q,"data":null}`, row.message))(w, r)
				},
			})
			_, err := c.CreateVPC(t.Context(), client.VPCCreateRequest{Name: "n"})
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(fault.IsAmbiguous(err)).To(Equal(row.ambiguous))
			g.Expect(fault.IsOverload(err)).To(Equal(row.class == fault.Busy && row.status == http.StatusInternalServerError))
			g.Expect(err).To(MatchError(And(HavePrefix("create VPC: "+strconv.Itoa(row.status)), ContainSubstring(row.message))))
		})
	}
}

func TestLacksRole_isTrueOfNoOtherRefusal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status  int
		message string
		lacks   bool
	}{
		{403, "User does not have Provider Admin role with org", true},
		{403, "User does not have any roles assigned", true},
		{403, "Failed to validate membership for org: acme", false},
		{403, "Failed to execute sync workflow to create IP block on Site: role", false},
		{401, "Authorization token in request has expired", false},
		{401, "No role", false},
	} {
		t.Run(row.message, func(t *testing.T) {
			t.Parallel()
			refused := httpclienttest.Reply(row.status, fmt.Sprintf(`{"message":%q}`, row.message))
			c := serve(t, map[string]http.HandlerFunc{"POST " + prefix + "ipblock": refused})
			_, err := c.CreateIPBlock(t.Context(), client.IPBlockCreateRequest{Name: "n"})
			NewWithT(t).Expect(client.LacksRole(fmt.Errorf("wrapped: %w", err))).To(Equal(row.lacks), "%v", err)
		})
	}
}

func TestConflict_namesTheOtherObject(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ answer, otherID, text string }{
		"a name in use, also by what is being deleted": {`{"message":"A Vpc with specified name already exists for Tenant","data":{"id":"` + id + `"}}`,
			id, "create VPC: 409 Conflict: A Vpc with specified name already exists for Tenant"},
		"an ID in use": {`{"message":"A Vpc with specified ID already exists","data":{"id":"` + id + `"}}`,
			id, "create VPC: 409 Conflict: A Vpc with specified ID already exists"},
		"an object of which only the site knows": {`{"message":"Failed to execute sync workflow to create VPC on Site: exists","data":null}`,
			"", "create VPC: 409 Conflict: Failed to execute sync workflow to create VPC on Site: exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{"POST " + prefix + "vpc": httpclienttest.Reply(409, row.answer)})
			_, err := c.CreateVPC(t.Context(), client.VPCCreateRequest{Name: "n"})
			g.Expect(fault.ClassOf(err)).To(Equal(fault.Conflict))
			g.Expect(fault.OtherID(err)).To(Equal(row.otherID))
			g.Expect(err).To(MatchError(row.text))
		})
	}
}

// While a server is switched from one API name to the other, some of its replicas answer under the old name and some
// don't: then the control call succeeds, and yet nothing is gone.
func TestNotFound_isNotWhatOther404sMean(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		body  string
		class fault.Class
	}{
		"a VPC that is gone":           {`{"message":"Could not find VPC with specified ID"}`, fault.NotFound},
		"a group that is gone":         {`{"message":"Network Security Group in request not found"}`, fault.NotFound},
		"a block that is gone":         {`{"message":"Specified IP Block does not exist, or has been deleted"}`, fault.NotFound},
		"a wrong path":                 {`{"message":"The requested path could not be found"}`, fault.Transient},
		"an organisation without":      {`{"message":"Could not find Tenant for org"}`, fault.Transient},
		"a provider that isn't one":    {`{"message":"Could not find Infrastructure Provider for org"}`, fault.Transient},
		"something the site misses":    {`{"message":"Failed to execute sync workflow to delete VPC on Site: not found"}`, fault.Transient},
		"a proxy's page":               {`<html>nothing here</html>`, fault.Transient},
		"a proxy's JSON":               {`{"error":"nothing here"}`, fault.Transient},
		"an answer without a message":  {`{"message":""}`, fault.Transient},
		"a wrong path, in other words": {`{"message":"the REQUESTED path could not be found."}`, fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{
				"GET " + prefix + "site/{id}": httpclienttest.Reply(200, `{"id":"`+siteID+`"}`),
				"/":                           httpclienttest.Reply(404, row.body),
			})
			_, err := c.VPC(t.Context(), siteID, id)
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(fault.ClassOf(c.DeleteVPC(t.Context(), siteID, id))).To(Equal(row.class))
		})
	}
}

// Of a peering that is there, GET and DELETE say 404 too when one of its VPCs is gone.
func TestNotFound_ofAPeeringIsOnlyWhatIsSaidOfThePeering(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		says  string
		class fault.Class
	}{
		"the peering, as GET says it":    {"Could not find VPC peering with ID: " + id, fault.NotFound},
		"the peering, as DELETE says it": {"Could not find VPC peering with specified ID", fault.NotFound},
		"the peering, in other letters":  {"Could not find VPC Peering with ID: " + id, fault.NotFound},
		"a VPC":                          {"Could not find VPC with ID: " + id, fault.Busy},
		"something else":                 {"Could not find Site", fault.Transient},
		"nothing":                        {"", fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := serve(t, map[string]http.HandlerFunc{
				"GET " + prefix + "site/{id}": httpclienttest.Reply(200, `{"id":"`+siteID+`"}`),
				prefix + "vpc-peering/{id}":   httpclienttest.Reply(404, `{"message":"`+row.says+`"}`),
			})
			_, err := c.VPCPeering(t.Context(), siteID, id)
			g.Expect(fault.ClassOf(err)).To(Equal(row.class))
			g.Expect(fault.ClassOf(c.DeleteVPCPeering(t.Context(), siteID, id))).To(Equal(row.class))
		})
	}
}

func TestNotFound_ofWhatACreateRefersToIsInvalid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{
		"GET " + prefix + "site/{id}":    httpclienttest.Reply(200, `{"id":"`+siteID+`"}`),
		"POST " + prefix + "vpc-peering": httpclienttest.Reply(404, `{"message":"Could not find VPC with ID: `+id+`"}`),
	})
	_, err := c.CreateVPCPeering(t.Context(), client.VPCPeeringCreateRequest{SiteID: siteID, VPC1ID: id, VPC2ID: id})
	g.Expect(fault.ClassOf(err)).To(Equal(fault.Invalid))
	g.Expect(err).To(MatchError("create VPC peering: 404 Not Found: Could not find VPC with ID: " + id))
}

func TestErrors_neverContainTheTokenOrUserData(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{
		"POST " + prefix + "instance": httpclienttest.Reply(400, `{"message":"bad Bearer `+token+`","data":{"userData":"private key","name":"too short"}}`),
		"POST " + prefix + "vpc":      httpclienttest.Reply(502, "proxy dump: Authorization: Bearer "+token),
		"POST " + prefix + "subnet":   httpclienttest.Reply(400, `{"message":"`+strings.Repeat("x", 300-len("400 Bad Request: ")-len(token)/2)+token+`"}`),
	})
	_, err := c.CreateInstance(t.Context(), client.InstanceCreateRequest{UserData: "private key"})
	g.Expect(err).To(MatchError("create instance: 400 Bad Request: bad Bearer [redacted]; name: too short; userData is not accepted"))
	_, err = c.CreateVPC(t.Context(), client.VPCCreateRequest{})
	g.Expect(err).To(MatchError("create VPC: 502 Bad Gateway"))
	_, err = c.CreateSubnet(t.Context(), client.SubnetCreateRequest{})
	g.Expect(err).To(MatchError(Not(ContainSubstring(token[:5]))), "a long message isn't cut within the token")
}
