package agentstest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents/agentstest"
)

// The real agent passes it too: cmd/hydrazine-agent.
func TestContract_ofTheFakeAgent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	said := agentstest.Report("dpu1", "172.18.0.5/24", "172.18.0.1")
	said.Ports = append(said.Ports, &agentv1.Port{Name: "pf1hpf", Up: true})
	agent := agentstest.Start(t, "127.82.0.2", 19890, said)
	connection, err := grpc.NewClient("127.82.0.2:19890", grpc.WithTransportCredentials(insecure.NewCredentials()))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = connection.Close() })
	agentstest.Contract(t, agentstest.DPU{
		Client: agentv1.NewAgentClient(connection), Ports: [2]string{"pf0hpf", "pf1hpf"}, Address: "172.18.0.5", Southbound: "tcp:172.18.0.2:6642",
		Change: func(number int64) { agent.Forward("blue", number) },
	})
}
