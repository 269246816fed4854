package cluster

import (
	"testing"

	. "github.com/onsi/gomega"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

func TestLifecycle(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		phase   graph.Phase
		state   graph.State
		message string
	}{
		{lifecycle("VPC", "net", "id", bmm.VPCReady, bmm.VPCReady), graph.StateReady, ""},
		{lifecycle("VPC", "net", "id", bmm.VPCDeleting, bmm.VPCReady), graph.StateDeleting, ""},
		{lifecycle("VPC", "net", "id", bmm.VPCError, bmm.VPCReady), graph.StateFailed,
			"the BMM API reports VPC net (id) as Error: ask the site's operator"},
		{lifecycle("VPC", "net", "id", bmm.VPCStatus("New"), bmm.VPCReady), graph.StateWaiting, "VPC net (id) is New"},
		{lifecycle("allocation", "a", "id", bmm.AllocationRegistered, bmm.AllocationRegistered), graph.StateReady, ""},
		{lifecycle("allocation", "a", "id", "Ready", bmm.AllocationRegistered), graph.StateWaiting, "allocation a (id) is Ready"},
	} {
		g := NewWithT(t)
		g.Expect(row.phase.State).To(Equal(row.state))
		g.Expect(row.phase.Message).To(Equal(row.message))
	}
}
