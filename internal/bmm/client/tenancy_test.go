package client_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// A tenant may write another one's organisation into its Secret, and let its login hang for as long as it wants: then a create
// has a turn, and with it the lock of that organisation, for all that time.
func TestTenancy_isAnothersOnlyWhereTheAPIHasLetItIn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admitted := httpclienttest.Reply(http.StatusOK, `{"id":"`+id+`"}`)
	refused := httpclienttest.Reply(http.StatusForbidden, `{"message": "User does not have any roles assigned"}`)
	answer := refused
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{
		"GET " + prefix + "tenant/current": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer "+token {
				admitted(w, r)
				return
			}
			answer(w, r)
		},
	})
	reaching := func(namespace, token string) *client.Client {
		c, err := client.New(client.Config{
			Endpoint: server.URL, Org: "acme", Token: token, APIName: "carbide", Secret: namespace + "/bmm", Limits: lab,
		})
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	victim, attacker := reaching("blue", token), reaching("red", "red")
	_, err := victim.Tenant(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attacker.Tenancy()).NotTo(Equal(victim.Tenancy()))

	_, err = attacker.Tenant(t.Context())
	g.Expect(err).To(HaveOccurred())
	g.Expect(attacker.Tenancy()).NotTo(Equal(victim.Tenancy()))

	answer = admitted
	_, err = attacker.Tenant(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attacker.Tenancy()).To(Equal(victim.Tenancy()), "the service makes one after the other for an organisation")
}
