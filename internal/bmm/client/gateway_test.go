package client_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
)

// Gateways have deadlines, too, and most of them are shorter than ours: then they report that the service hangs.
func TestGatewayTimeout_isOverload(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := serve(t, map[string]http.HandlerFunc{
		"POST " + prefix + "vpc": httpclienttest.Reply(http.StatusGatewayTimeout, "<html>504 Gateway Time-out</html>"),
	})
	_, err := c.CreateVPC(t.Context(), client.VPCCreateRequest{Name: "n"})
	g.Expect(fault.IsAmbiguous(err)).To(BeTrue())
	g.Expect(fault.IsOverload(err)).To(BeTrue())
}
