package cluster

import (
	"testing"

	. "github.com/onsi/gomega"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func TestPhaseOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		phase   phases.Phase
		state   phases.State
		message string
	}{
		{phaseOf("VPC", "net", "id", bmm.VPCReady, bmm.VPCReady), phases.StateReady, ""},
		{phaseOf("VPC", "net", "id", bmm.VPCDeleting, bmm.VPCReady), phases.StateDeleting, ""},
		{phaseOf("VPC", "net", "id", bmm.VPCError, bmm.VPCReady), phases.StateFailed,
			"the BMM API reports VPC net (id) as Error: ask the site's operator"},
		{phaseOf("VPC", "net", "id", bmm.VPCStatus("New"), bmm.VPCReady), phases.StateWaiting, "VPC net (id) is New"},
		{phaseOf("allocation", "a", "id", bmm.AllocationRegistered, bmm.AllocationRegistered), phases.StateReady, ""},
		{phaseOf("allocation", "a", "id", "Ready", bmm.AllocationRegistered), phases.StateWaiting, "allocation a (id) is Ready"},
	} {
		g := NewWithT(t)
		g.Expect(row.phase.State).To(Equal(row.state))
		g.Expect(row.phase.Message).To(Equal(row.message))
	}
}
