package client_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// The service isn't consistent in how it writes its keys.
func TestInstances_leavesOutUserDataHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{"GET " + prefix + "instance": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Pagination", `{"pageNumber":1,"pageSize":100,"total":2}`)
		httpclienttest.Reply(200, `[{"id":"`+id+`","name":"a","status":"Ready","userData":"private key","vpcId":"v"},
			{"id":"`+siteID+`","name":"b","UserData":"private key","machineId":"m"}]`)(w, r)
	}})
	instances, err := c.Instances(t.Context(), client.InstanceFilter{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(instances).To(Equal([]client.Instance{
		{ID: id, Name: "a", Status: client.InstanceReady, VPCID: "v"}, {ID: siteID, Name: "b", MachineID: "m"},
	}))
}

func TestAccount_isThatOfTheLoginAndNotOfTheSecret(t *testing.T) {
	t.Parallel()
	config := client.Config{Endpoint: "https://bmm.example.com", Org: "acme", Token: token, Secret: "one/bmm"}
	account := func(change func(*client.Config)) credentials.Account {
		c := config
		change(&c)
		api, err := client.New(c)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return api.Account()
	}
	same := account(func(*client.Config) {})
	for name, row := range map[string]struct {
		change func(*client.Config)
		same   bool
	}{
		"another Secret":   {func(c *client.Config) { c.Secret = "two/bmm" }, true},
		"another endpoint": {func(c *client.Config) { c.Endpoint = "https://other.example.com" }, false},
		"another org":      {func(c *client.Config) { c.Org = "other" }, false},
		"another release":  {func(c *client.Config) { c.APIName = "nico" }, false},
		"another token":    {func(c *client.Config) { c.Token = "other" }, false},
		"another way": {func(c *client.Config) {
			c.Token = ""
			c.OAuth2 = &httpclient.OAuth2{TokenURL: "https://login.example.com", ClientID: "id", ClientSecret: token}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(account(row.change) == same).To(Equal(row.same))
		})
	}
}
