package client_test

import (
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestLoopback_byTheCAOfTheSecret(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	cloud, err := sim.New(sim.DefaultWorld(), slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	s := secret()
	var browser *http.Client
	for key, handler := range map[string]http.Handler{
		"iamEndpoint": cloud.IAM(), "rmEndpoint": cloud.ResourceManager(), "rcEndpoint": cloud.ResourceController(),
		"powervsEndpoint":        cloud.Power(),
		"transitgatewayEndpoint": cloud.TransitGateway(), "vpcEndpoint": cloud.VPC(region), "cosEndpoint": cloud.ObjectStorage(),
	} {
		server := httptest.NewTLSServer(handler)
		t.Cleanup(server.Close)
		path := map[string]string{"transitgatewayEndpoint": "/v1", "vpcEndpoint": "/v1"}[key]
		s.Data[key] = []byte(server.URL + path)
		s.Data["ca.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		browser = server.Client()
	}
	t.Cleanup(cloud.Close) // first: it ends calls that hang
	c, err := client.Connect(func(c *client.Config) { c.Egress = egress.Policy{Loopback: true} })(s)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(c.CloseIdleConnections)

	g.Expect(must(c.Zone(ctx, zone)).Can(client.EdgeRouter)).To(BeTrue())
	g.Expect(c.ResourceGroups(ctx, "")).To(HaveLen(1))
	g.Expect(must(c.CreateVPC(ctx, region, "demo", group)).Name).To(Equal("demo"))
	g.Expect(c.TransitGateways(ctx)).To(BeEmpty())
	files := must(c.CreateInstance(ctx, client.InstanceRequest{
		Name: "files", Plan: client.PlanCOS, Target: client.TargetGlobal, ResourceGroupID: group,
	}))
	bucket := client.Bucket{InstanceID: files.ID, Region: region, Name: "demo"}
	g.Expect(c.CreateBucket(ctx, bucket)).To(Succeed())
	g.Expect(c.HeadBucket(ctx, bucket)).To(Succeed())
	g.Expect(c.PutObject(ctx, bucket, "node/a b", []byte("ignition"))).To(Succeed())
	g.Expect(c.HeadObject(ctx, bucket, "node/a b")).To(Succeed())
	answer, err := browser.Get(must(c.PresignGet(ctx, bucket, "node/a b", must(c.CreateHMACKey(ctx, files.ID, "demo")).ID)))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	g.Expect(io.ReadAll(answer.Body)).To(BeEquivalentTo("ignition"))

	delete(s.Data, "ca.crt")
	distrusting, err := client.Connect(func(c *client.Config) { c.Egress = egress.Policy{Loopback: true} })(s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(errorOf(distrusting.VPCs(ctx, region))).To(MatchError(ContainSubstring("certificate")))
}
