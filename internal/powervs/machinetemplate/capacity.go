package machinetemplate

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

// threads that a virtual processor has: virtual machines start with SMT-8.
const threads = 8

// capacity for the autoscaler. A share of a processor is a whole virtual one for the system that runs on it.
func capacity(spec *infrav1.IBMPowerVSMachineSpec) corev1.ResourceList {
	virtual := int64(math.Ceil(spec.ProcessorCount()))
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(virtual*threads, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(spec.Memory())<<30, resource.BinarySI),
	}
}
