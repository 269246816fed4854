package v1beta2

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Kinds of what machines and images have at IBM Cloud, as ledgers name them.
const (
	KindVM            = "virtual machine"
	KindImage         = "image"
	KindImageImport   = "image import"
	KindPool          = "pool"
	KindPoolMember    = "pool member"
	KindBootstrapData = "bootstrap data"
)

// The values of a machine's spec, with defaults for what is omitted.

const (
	defaultMemoryGiB  = 2
	defaultProcessors = 0.25
)

// System is the type of the host.
func (s *IBMPowerVSMachineSpec) System() string {
	if s.SystemType == "" {
		return DefaultSystemType
	}
	return s.SystemType
}

// Processor is how processors are shared.
func (s *IBMPowerVSMachineSpec) Processor() PowerVSProcessorType {
	if s.ProcessorType == "" {
		return DefaultProcessorType
	}
	return s.ProcessorType
}

// ProcessorCount is the number of processors.
func (s *IBMPowerVSMachineSpec) ProcessorCount() float64 {
	if p := s.Processors; p != nil && p.Type == intstr.Int && p.IntVal > 0 {
		return float64(p.IntVal)
	} else if p != nil {
		if count, err := strconv.ParseFloat(p.StrVal, 64); err == nil {
			return count
		}
	}
	if s.Processor() == ProcessorTypeDedicated {
		return 1
	}
	return defaultProcessors
}

// Memory is its size in GiB.
func (s *IBMPowerVSMachineSpec) Memory() int32 {
	if s.MemoryGiB == 0 {
		return defaultMemoryGiB
	}
	return s.MemoryGiB
}

// OutsideIDs are the IDs of what spec and status say was made.
func (m *IBMPowerVSMachine) OutsideIDs() []ledgerv1.OutsideID {
	id, in := m.Status.InstanceID, ledgerv1.Scope(nil)
	if parts := strings.Split(m.Spec.ProviderID, "/"); len(parts) == 6 { // ibmpowervs://REGION/ZONE/WORKSPACE/VM
		id, in = parts[5], ledgerv1.Scope{KindZone: parts[3], KindWorkspace: parts[4]}
	}
	if id == "" {
		return nil
	}
	return []ledgerv1.OutsideID{{Kind: KindVM, ID: id, Scope: in}}
}

// OutsideIDs are the IDs of what the status says was made: an image without an import is the user's own.
func (i *IBMPowerVSImage) OutsideIDs() []ledgerv1.OutsideID {
	if i.Status.ImageID == "" || i.Status.JobID == "" {
		return nil
	}
	return []ledgerv1.OutsideID{{Kind: KindImage, ID: i.Status.ImageID}}
}
