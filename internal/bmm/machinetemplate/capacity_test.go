package machinetemplate

import (
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/localstack/process/processtest"
)

func TestCapacity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	list := capacity([]bmm.MachineCapability{
		{Type: bmm.CapabilityCPU, Name: "AMD EPYC 9654", Count: 2, Cores: 96, Threads: 192},
		{Type: bmm.CapabilityMemory, Name: "DDR5", Count: 24, Capacity: "64GB"},
		{Type: bmm.CapabilityGPU, Name: "H100", Count: 8, Capacity: "80GB"},
		{Type: bmm.CapabilityStorage, Name: "NVMe", Count: 2, Capacity: "3.84 TB"},
		{Type: bmm.CapabilityNetwork, Name: "ConnectX", Count: 2},
	})
	for name, want := range map[corev1.ResourceName]string{"cpu": "384", "memory": "1536G", "nvidia.com/gpu": "8", "ephemeral-storage": "7.68T"} {
		got := list[name]
		g.Expect(got.Cmp(resource.MustParse(want))).To(BeZero(), "%s is %s", name, got.String())
	}
	g.Expect(capacity([]bmm.MachineCapability{{Type: bmm.CapabilityMemory, Capacity: "plenty"}})).To(BeEmpty())
}

func TestCapacity_sizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"512GB": "512G", "512 GB": "512G", "512GiB": "512Gi", "16 KiB": "16Ki", "1.5TB": "1.5T", "100": "100", "": "0", "GB": "0", "-": "0",
	} {
		got := times(2, text)
		expected := resource.MustParse(want)
		expected.Mul(2)
		NewWithT(t).Expect(got.Cmp(expected)).To(BeZero(), "%q is %s", text, got.String())
	}
}

// 1E10000000 alone takes seconds, and larger ones for ever.
func TestCapacity_isNotComputedWithoutBounds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	sizes := []string{"1E10000000", "1E+10000000", "1e-10000000", "9E99", strings.Repeat("9", 1<<20), "0." + strings.Repeat("9", 1<<20)}
	took := processtest.CPUTime(func() {
		for _, size := range sizes {
			g.Expect(capacity([]bmm.MachineCapability{{Type: bmm.CapabilityMemory, Count: 2, Capacity: size}})).To(BeEmpty())
		}
	})
	g.Expect(took).To(BeNumerically("<", time.Second))

	list := capacity([]bmm.MachineCapability{{Type: bmm.CapabilityCPU, Count: math.MaxInt, Threads: math.MaxInt}})
	g.Expect(list.Cpu().Value()).To(BeEquivalentTo(1e12), "and it isn't negative")
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]infrav1.Architecture{
		"Grace": "arm64", "Intel(R) Xeon(R) Gold": "amd64", "AMD EPYC": "amd64", "Neoverse-V2": "arm64", "???": "",
	} {
		got := architecture([]bmm.MachineCapability{{Type: bmm.CapabilityGPU, Name: "AMD"}, {Type: bmm.CapabilityCPU, Name: name}})
		NewWithT(t).Expect(got).To(Equal(want), name)
	}
}
