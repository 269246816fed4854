package client_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/httpclient/circuit"
)

// A tenant may write another one's organisation into its Secret, and let its login hang for as long as it wants: then a create
// has a turn, and with it the lock of that organisation, for all that time.
func TestTenancy_isAnothersOnlyWhereTheAPIHasLetItIn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	red, blue := &host{answer: found}, &host{answer: found}
	circuits := circuit.New(pollInterval)
	const api = "https://api.example.com"
	victim, attacker := reaching(t, circuits, "blue", api, blue), reaching(t, circuits, "red", api, red)
	_, err := victim.Tenant(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attacker.Tenancy()).NotTo(Equal(victim.Tenancy()))

	red.set(answers(http.StatusForbidden, `{"message": "User does not have any roles assigned"}`))
	_, err = attacker.Tenant(t.Context())
	g.Expect(err).To(HaveOccurred())
	g.Expect(attacker.Tenancy()).NotTo(Equal(victim.Tenancy()))

	red.set(found)
	_, err = attacker.Tenant(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attacker.Tenancy()).To(Equal(victim.Tenancy()), "the service makes one after the other for an organisation")
}
