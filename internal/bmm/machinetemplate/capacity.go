package machinetemplate

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// gpuResource is the resource name of GPUs in NVIDIA's device plugin.
const gpuResource corev1.ResourceName = "nvidia.com/gpu"

// capacity for the autoscaler. What isn't known is left out.
func capacity(capabilities []bmm.MachineCapability) corev1.ResourceList {
	var cpus, gpus int64
	var memory, storage resource.Quantity
	for _, c := range capabilities {
		count := bounded(max(c.Count, 1))
		switch c.Type {
		case bmm.CapabilityCPU:
			cpus += count * bounded(max(c.Threads, c.Cores))
		case bmm.CapabilityGPU:
			gpus += count
		case bmm.CapabilityMemory:
			memory.Add(times(count, c.Capacity))
		case bmm.CapabilityStorage:
			storage.Add(times(count, c.Capacity))
		}
	}
	list := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]resource.Quantity{
		corev1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI), corev1.ResourceMemory: memory,
		corev1.ResourceEphemeralStorage: storage, gpuResource: *resource.NewQuantity(gpus, resource.DecimalSI),
	} {
		if !quantity.IsZero() {
			list[name] = quantity
		}
	}
	return list
}

// bounded is a number of parts that a machine may have.
func bounded(n int) int64 { return int64(min(max(n, 0), 1_000_000)) }

// sizePattern has no exponents: computing with 1E10000000 takes seconds.
var sizePattern = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?([kMGTPE]|[KMGTPE]i)?$`)

// times multiplies a size such as "512GB" or "3.84 TB"; one that isn't understood counts as nothing.
func times(count int64, size string) resource.Quantity {
	if len(size) > 32 {
		return resource.Quantity{}
	}
	text := strings.TrimSuffix(strings.ReplaceAll(strings.ToUpper(size), " ", ""), "B")
	text = strings.NewReplacer("I", "i", "K", "k").Replace(text)
	text = strings.Replace(text, "ki", "Ki", 1)
	if !sizePattern.MatchString(text) {
		return resource.Quantity{}
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	quantity.Mul(count)
	return quantity
}

// architecture by the CPU's name; empty if that isn't known.
func architecture(capabilities []bmm.MachineCapability) infrav1.Architecture {
	for _, c := range capabilities {
		if c.Type != bmm.CapabilityCPU {
			continue
		}
		name := strings.ToLower(c.Vendor + " " + c.Name)
		for _, known := range []struct {
			text         string
			architecture infrav1.Architecture
		}{
			{"grace", infrav1.ArchitectureARM64}, {"arm", infrav1.ArchitectureARM64}, {"neoverse", infrav1.ArchitectureARM64},
			{"intel", infrav1.ArchitectureAMD64}, {"amd", infrav1.ArchitectureAMD64}, {"xeon", infrav1.ArchitectureAMD64}, {"epyc", infrav1.ArchitectureAMD64},
		} {
			if strings.Contains(name, known.text) {
				return known.architecture
			}
		}
	}
	return ""
}
