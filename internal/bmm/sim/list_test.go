package sim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func TestLists(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for i := range 25 {
			_, err := b.client.CreateVPC(b.t.Context(), client.VPCCreateRequest{
				Name: fmt.Sprintf("net-%02d", i), SiteID: sim.DefaultSiteID, Labels: client.Labels{"owner": fmt.Sprintf("team-%d", i%2)}})
			b.Expect(err).NotTo(HaveOccurred())
		}
		for query, row := range map[string]struct {
			first, last string
			count       int
			pagination  string
		}{
			"":                                  {"net-00", "net-19", 20, `{"orderBy":null,"pageNumber":1,"pageSize":20,"total":25}`},
			"pageNumber=2":                      {"net-20", "net-24", 5, `{"orderBy":null,"pageNumber":2,"pageSize":20,"total":25}`},
			"pageNumber=9":                      {"", "", 0, `{"orderBy":null,"pageNumber":9,"pageSize":20,"total":25}`},
			"pageSize=3&orderBy=NAME_DESC":      {"net-24", "net-22", 3, `{"orderBy":"NAME_DESC","pageNumber":1,"pageSize":3,"total":25}`},
			"pageSize=100&orderBy=CREATED_DESC": {"net-24", "net-00", 25, `{"orderBy":"CREATED_DESC","pageNumber":1,"pageSize":100,"total":25}`},
			"query=TEAM-1":                      {"net-01", "net-23", 12, `{"orderBy":null,"pageNumber":1,"pageSize":20,"total":12}`},
			"query=net-07":                      {"net-07", "net-07", 1, `{"orderBy":null,"pageNumber":1,"pageSize":20,"total":1}`},
			"siteId=" + unknown:                 {"", "", 0, `{"orderBy":null,"pageNumber":1,"pageSize":20,"total":0}`},
			"status=Deleting":                   {"", "", 0, `{"orderBy":null,"pageNumber":1,"pageSize":20,"total":0}`},
		} {
			r := httptest.NewRequest(http.MethodGet, base+"/vpc?"+query, nil)
			r.Header.Set("Authorization", "Bearer "+sim.DefaultToken)
			w := httptest.NewRecorder()
			b.server.ServeHTTP(w, r)
			vpcs := []client.VPC{}
			b.Expect(json.Unmarshal(w.Body.Bytes(), &vpcs)).To(Succeed())
			b.Expect(w.Header().Get("X-Pagination")).To(Equal(row.pagination), query)
			b.Expect(vpcs).NotTo(BeNil(), "an empty list is [] and not null")
			b.Expect(vpcs).To(HaveLen(row.count), query)
			if row.count > 0 {
				b.Expect(vpcs[0].Name).To(Equal(row.first), query)
				b.Expect(vpcs[row.count-1].Name).To(Equal(row.last), query)
			}
		}
	})
}

func TestEveryResourceOfTheWorld_canBeListedAndRead(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		instance := b.instance("node-1", b.subnet(b.vpc("net"), "nodes"))
		for kind, id := range map[string]string{
			"site": sim.DefaultSiteID, "ipblock": sim.DefaultIPBlockID, "instance/type": sim.DefaultInstanceTypeID,
			"machine": instance.MachineID, "sshkeygroup": sim.DefaultSSHKeyGroupID, "instance": instance.ID,
			"operating-system": sim.DefaultOperatingSystemID, "infiniband-partition": fabricID,
			"nvlink-logical-partition": gpuGroupID, "dpu-extension-service": firewallID,
		} {
			status, body := b.call(http.MethodGet, base+"/"+kind, "")
			b.Expect(status).To(Equal(200), body)
			b.Expect(body).To(And(HavePrefix("["), ContainSubstring(id)))
			status, body = b.call(http.MethodGet, base+"/"+kind+"/"+id, "")
			b.Expect(status).To(Equal(200), body)
			b.Expect(body).To(ContainSubstring(id))
		}
		for _, path := range []string{"/metadata", "/service-account/current", "/tenant/current"} {
			status, _ := b.call(http.MethodGet, base+path, "")
			b.Expect(status).To(Equal(200))
		}
	}, withGPUs, func(c *sim.Config) { c.Sites[0].NativeNetworking = false })
}

func TestInstances_areFilteredByExactName(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		subnet := b.subnet(b.vpc("net"), "nodes")
		b.instance("node-1", subnet)
		b.instance("node-10", subnet)
		instances, err := b.client.Instances(b.t.Context(), client.InstanceFilter{Name: "node-1", VPCID: subnet.VPCID})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(instances).To(HaveLen(1))
	})
}
