package agentstest_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// An agent of level 1 echoes nothing that came later, and doesn't have it either.
func TestLevel1_knowsNothingNewer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	said := agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1")
	agent := agentstest.Start(t, "127.82.0.1", 19890, said, agentstest.Level1())
	connection, err := grpc.NewClient("127.82.0.1:19890", grpc.WithTransportCredentials(insecure.NewCredentials()))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = connection.Close() })
	report, err := agentv1.NewAgentClient(connection).Attach(t.Context(), &agentv1.AttachRequest{
		Port: "pf0hpf", Lease: durationpb.New(time.Hour), AsOf: agent.Says().GetTime(),
		Assignment: &agentv1.Assignment{
			ResourceUid: "one", GroupUid: "blue", LogicalPort: "port-one", Southbound: "tcp:172.18.0.2:6642", EncapIp: "172.18.0.5", DhcpRelay: &agentv1.DHCPRelay{Server: "10.99.0.1"},
			SouthboundTls: &agentv1.SouthboundTLS{Certificate: "PEM"},
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	for _, r := range []*agentv1.Report{report, agent.Says()} {
		assignment := r.GetPorts()[0].GetAssignment()
		g.Expect(assignment.GetEncapIp()).To(Equal("172.18.0.5"))
		g.Expect(assignment.GetDhcpRelay()).To(BeNil())
		g.Expect(assignment.GetSouthboundTls()).To(BeNil())
		g.Expect(assignment.ProtoReflect().GetUnknown()).To(BeEmpty())
	}
	g.Expect(report.GetChassis()).To(Equal("dpu1"))
	g.Expect(report.GetSouthboundRequest()).To(BeEmpty())
	g.Expect(report.ProtoReflect().GetUnknown()).To(BeEmpty())
}
