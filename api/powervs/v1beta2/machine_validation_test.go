package v1beta2_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	. "github.com/bedplate/bedplate/api/powervs/v1beta2"
)

func validMachine() *IBMPowerVSMachine {
	return &IBMPowerVSMachine{Spec: IBMPowerVSMachineSpec{
		ServiceInstance: byName("workspace"), SSHKey: "key", Image: byName("image"), Network: byName("nodes"),
	}}
}

func validImage() *IBMPowerVSImage {
	return &IBMPowerVSImage{Spec: IBMPowerVSImageSpec{
		ClusterName: "demo", ServiceInstance: byName("workspace"), Bucket: "images/power", Object: "image.ova.gz", Region: "us-south",
	}}
}

func TestMachine_isChecked(t *testing.T) {
	t.Parallel()
	checkCreate(t, validMachine, []refusal[*IBMPowerVSMachine]{
		{"a valid one", func(*IBMPowerVSMachine) {}, ""},
		{"its cluster's network and workspace", func(m *IBMPowerVSMachine) { m.Spec.Network, m.Spec.ServiceInstance = nil, nil }, ""},
		{"an image object", func(m *IBMPowerVSMachine) { m.Spec.Image, m.Spec.ImageRef = nil, &LocalObjectReference{Name: "image"} }, ""},
		{"no image", func(m *IBMPowerVSMachine) { m.Spec.Image = nil }, "spec.image: Invalid value: exactly one of image and imageRef must be set"},
		{"both images", func(m *IBMPowerVSMachine) { m.Spec.ImageRef = &LocalObjectReference{Name: "image"} }, "exactly one of image and imageRef must be set"},
		{"an image by regex", func(m *IBMPowerVSMachine) { m.Spec.Image = &IBMPowerVSResourceReference{RegEx: "x"} },
			"spec.image: Invalid value: the image must be named by its id or its name: regex can't be used for it"},
		{"a network by ID and regex", func(m *IBMPowerVSMachine) { m.Spec.Network = &IBMPowerVSResourceReference{ID: "x", RegEx: "x"} },
			"spec.network: Invalid value: at most one of id, name and regex may be set"},
		{"the old field and another", func(m *IBMPowerVSMachine) { m.Spec.ServiceInstance, m.Spec.ServiceInstanceID = byID("v"), "w" },
			"spec.serviceInstanceID: Invalid value"},
		{"1 GiB", func(m *IBMPowerVSMachine) { m.Spec.MemoryGiB = 1 }, "spec.memoryGiB: Invalid value: 1: spec.memoryGiB in body should be greater than or equal to 2"},
		{"2 GiB", func(m *IBMPowerVSMachine) { m.Spec.MemoryGiB = 2 }, ""},
		{"an old type", func(m *IBMPowerVSMachine) { m.Spec.SystemType = "s922" }, ""},
		{"a type that isn't there", func(m *IBMPowerVSMachine) { m.Spec.SystemType = "s923" }, `spec.systemType: Unsupported value: "s923"`},
		{"another processor type", func(m *IBMPowerVSMachine) { m.Spec.ProcessorType = "shared" }, `spec.processorType: Unsupported value: "shared"`},
		{"another provider's ID", func(m *IBMPowerVSMachine) { m.Spec.ProviderID = "ibm://x" }, "spec.providerID: Invalid value"},
	})
}

func TestMachine_itsProcessorsFitTheirType(t *testing.T) {
	t.Parallel()
	const number, whole, least = "spec.processors: Invalid value: processors must be a number with at most two decimals, such as 2 or '0.25'",
		"spec.processors: Invalid value: with processorType Dedicated processors must be a whole number of at least 1",
		"spec.processors: Invalid value: processors must be at least 0.25, in steps of 0.25"
	var rows []refusal[*IBMPowerVSMachine]
	for _, row := range []struct {
		kind       PowerVSProcessorType
		processors intstr.IntOrString
		message    string
	}{
		{"Shared", intstr.FromString("0.25"), ""}, {"Capped", intstr.FromString("0.5"), ""}, {"Shared", intstr.FromInt32(1), ""},
		{"Shared", intstr.FromString("1.75"), ""}, {"Capped", intstr.FromString("2.50"), ""}, {"Capped", intstr.FromString("3.0"), ""},
		{"Shared", intstr.FromString("0.3"), least}, {"", intstr.FromString("1.99"), least}, {"Shared", intstr.FromString("0.00"), least},
		{"", intstr.FromString("0.25"), ""}, {"Shared", intstr.FromString("0.2"), least}, {"Capped", intstr.FromInt32(0), least},
		{"Shared", intstr.FromString("one"), number}, {"Shared", intstr.FromString("-1"), number}, {"Shared", intstr.FromString("0.255"), number},
		{"Shared", intstr.FromString("1e3"), number}, {"Dedicated", intstr.FromString("NaN"), number},
		{"Dedicated", intstr.FromInt32(1), ""}, {"Dedicated", intstr.FromString("16"), ""}, {"Dedicated", intstr.FromString("2.00"), ""},
		{"Dedicated", intstr.FromString("1.5"), whole}, {"Dedicated", intstr.FromString("0.25"), whole}, {"Dedicated", intstr.FromInt32(0), whole},
		{"Dedicated", intstr.FromInt32(-1), whole}, {"Dedicated", intstr.FromString("0"), whole},
	} {
		rows = append(rows, refusal[*IBMPowerVSMachine]{string(row.kind) + " " + row.processors.String(), func(m *IBMPowerVSMachine) {
			m.Spec.ProcessorType, m.Spec.Processors = row.kind, &row.processors
		}, row.message})
	}
	checkCreate(t, validMachine, rows)
}

func TestMachine_isImmutable(t *testing.T) {
	t.Parallel()
	processors := intstr.FromInt32(2)
	immutable := func(field string) string {
		return "spec." + field + ": Invalid value: " + field + " … immutable: the virtual machine gets"
	}
	checkUpdate(t, validMachine, []refusal[*IBMPowerVSMachine]{
		{"labels", func(m *IBMPowerVSMachine) { m.Labels = map[string]string{"a": "b"} }, ""},
		{"sshKey", func(m *IBMPowerVSMachine) { m.Spec.SSHKey = "other" }, immutable("sshKey")},
		{"image", func(m *IBMPowerVSMachine) { m.Spec.Image = byName("other") }, immutable("image")},
		{"imageRef", func(m *IBMPowerVSMachine) { m.Spec.Image, m.Spec.ImageRef = nil, &LocalObjectReference{Name: "x"} }, immutable("imageRef")},
		{"systemType", func(m *IBMPowerVSMachine) { m.Spec.SystemType = "e1080" }, immutable("systemType")},
		{"processorType", func(m *IBMPowerVSMachine) { m.Spec.ProcessorType = ProcessorTypeCapped }, immutable("processorType")},
		{"processors", func(m *IBMPowerVSMachine) { m.Spec.Processors = &processors }, immutable("processors")},
		{"memoryGiB", func(m *IBMPowerVSMachine) { m.Spec.MemoryGiB = 4 }, immutable("memoryGiB")},
		{"network", func(m *IBMPowerVSMachine) { m.Spec.Network = nil }, immutable("network")},
		{"serviceInstance", func(m *IBMPowerVSMachine) { m.Spec.ServiceInstance = byName("other") }, immutable("serviceInstance")},
		{"serviceInstanceID", func(m *IBMPowerVSMachine) { m.Spec.ServiceInstance, m.Spec.ServiceInstanceID = nil, "w" }, immutable("serviceInstance")},
	})
}

func TestMachine_itsProviderIDIsThatOfItsInstance(t *testing.T) {
	t.Parallel()
	const id = "ibmpowervs://dal/dal10/w/vm-1"
	checkUpdate(t, validMachine, []refusal[*IBMPowerVSMachine]{
		{"before there is one", func(m *IBMPowerVSMachine) { m.Spec.ProviderID = id },
			"spec.providerID: Invalid value: Bedplate sets providerID when the virtual machine exists: remove it"},
	})
	made := func() *IBMPowerVSMachine {
		m := validMachine()
		m.Status.InstanceID = "vm-1"
		return m
	}
	checkUpdate(t, made, []refusal[*IBMPowerVSMachine]{
		{"its own", func(m *IBMPowerVSMachine) { m.Spec.ProviderID = id }, ""},
		{"another's", func(m *IBMPowerVSMachine) { m.Spec.ProviderID = id + "2" }, "spec.providerID: Invalid value: Bedplate sets providerID"},
	})
	// An object that another management cluster has moved here has it from the beginning.
	moved := func() *IBMPowerVSMachine {
		m := made()
		m.Spec.ProviderID = id
		return m
	}
	checkUpdate(t, moved, []refusal[*IBMPowerVSMachine]{
		{"none", func(m *IBMPowerVSMachine) { m.Spec.ProviderID = "" }, "spec.providerID: Invalid value: providerID is immutable once it is set"},
		{"labels", func(m *IBMPowerVSMachine) { m.Labels = map[string]string{"a": "b"} }, ""},
	})
}

func TestImage_isCheckedAndImmutable(t *testing.T) {
	t.Parallel()
	checkCreate(t, validImage, []refusal[*IBMPowerVSImage]{
		{"a valid one", func(*IBMPowerVSImage) {}, ""},
		{"retained", func(i *IBMPowerVSImage) { i.Spec.DeletePolicy = DeletePolicyRetain }, ""},
		{"no cluster", func(i *IBMPowerVSImage) { i.Spec.ClusterName = "" }, "spec.clusterName: Required value"},
		{"no bucket", func(i *IBMPowerVSImage) { i.Spec.Bucket = "" }, "spec.bucket: Required value"},
		{"no object", func(i *IBMPowerVSImage) { i.Spec.Object = "" }, "spec.object: Required value"},
		{"no region", func(i *IBMPowerVSImage) { i.Spec.Region = "" }, "spec.region: Required value"},
		{"another storage", func(i *IBMPowerVSImage) { i.Spec.StorageType = "tier2" }, `spec.storageType: Unsupported value: "tier2"`},
		{"another policy", func(i *IBMPowerVSImage) { i.Spec.DeletePolicy = "keep" }, `spec.deletePolicy: Unsupported value: "keep"`},
		{"the old field and another", func(i *IBMPowerVSImage) { i.Spec.ServiceInstance, i.Spec.ServiceInstanceID = byID("v"), "w" },
			"spec.serviceInstanceID: Invalid value"},
	})
	immutable := func(field string) string {
		return "spec." + field + ": Invalid value: " + field + " is immutable: write another one"
	}
	checkUpdate(t, validImage, []refusal[*IBMPowerVSImage]{
		{"deletePolicy", func(i *IBMPowerVSImage) { i.Spec.DeletePolicy = DeletePolicyRetain }, ""},
		{"authentication", func(i *IBMPowerVSImage) {
			i.Spec.Authentication = &Authentication{SecretRef: SecretReference{Name: "ibm"}}
		}, ""},
		{"clusterName", func(i *IBMPowerVSImage) { i.Spec.ClusterName = "other" }, immutable("clusterName")},
		{"bucket", func(i *IBMPowerVSImage) { i.Spec.Bucket = "other" }, immutable("bucket")},
		{"object", func(i *IBMPowerVSImage) { i.Spec.Object = "other" }, immutable("object")},
		{"region", func(i *IBMPowerVSImage) { i.Spec.Region = "us-east" }, immutable("region")},
		{"storageType", func(i *IBMPowerVSImage) { i.Spec.StorageType = "tier3" }, immutable("storageType")},
		{"serviceInstance", func(i *IBMPowerVSImage) { i.Spec.ServiceInstance = nil }, immutable("serviceInstance")},
	})
}

func TestTemplates_areCheckedLikeWhatTheyMake(t *testing.T) {
	t.Parallel()
	checkCreate(t, func() *IBMPowerVSMachineTemplate {
		m := &IBMPowerVSMachineTemplate{}
		m.Spec.Template.Spec = validMachine().Spec
		return m
	}, []refusal[*IBMPowerVSMachineTemplate]{
		{"a valid one", func(*IBMPowerVSMachineTemplate) {}, ""},
		{"no image", func(m *IBMPowerVSMachineTemplate) { m.Spec.Template.Spec.Image = nil }, "spec.template.spec.image: Invalid value: exactly one"},
		{"with a provider ID", func(m *IBMPowerVSMachineTemplate) { m.Spec.Template.Spec.ProviderID = "ibmpowervs://x" },
			"spec.template.spec.providerID: Invalid value: a template has no providerID, since each of its machines gets its own: remove it"},
	})
	checkCreate(t, func() *IBMPowerVSClusterTemplate {
		c := &IBMPowerVSClusterTemplate{}
		c.Spec.Template.Spec = validCluster().Spec
		return c
	}, []refusal[*IBMPowerVSClusterTemplate]{
		{"a valid one", func(*IBMPowerVSClusterTemplate) {}, ""},
		{"two public balancers", func(c *IBMPowerVSClusterTemplate) { c.Spec.Template.Spec.LoadBalancers[1].Public = nil },
			"spec.template.spec.loadBalancers: Invalid value: exactly one load balancer must be public"},
	})
}
