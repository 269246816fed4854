package dpuservice_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
)

// provisioner is the DPUService of the DPUs' side of as many hosts as there may be, whose nodes have names of a length.
func provisioner(length int, hostPF0 string) (*svcv1.DPUService, error) {
	c := &operatorv1.DPFOperatorConfig{}
	c.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{
		HostPF0: operatorv1.Interface(hostPF0), HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.0.0/8",
	}
	for i := range operatorv1.MaxHosts {
		network, suffix := fmt.Sprintf("10.1%02d.1%02d.", i/100, i%100), fmt.Sprintf("-%d", i)
		name := func(prefix string) operatorv1.NodeName {
			return operatorv1.NodeName(prefix + strings.Repeat("a", length-len(prefix)-len(suffix)) + suffix)
		}
		c.Spec.HostNetworkConfiguration.Hosts = append(c.Spec.HostNetworkConfiguration.Hosts, operatorv1.Host{
			HostClusterNodeName: name("h"), DPUClusterNodeName: name("d"), HostIP: operatorv1.AddressWithPrefix(network + "110/24"),
			DPUIP: operatorv1.AddressWithPrefix(network + "120/24"), Gateway: network + "254",
		})
	}
	release := components.Release{Charts: components.DefaultCharts, Version: "v1.2.3"}
	objects, err := release.Render(c, components.DPUClusters, true, netip.MustParsePrefix("192.0.2.0/24"))
	if err != nil {
		return nil, err
	}
	service := &svcv1.DPUService{}
	return service, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, service)
}

// Argo CD keeps the values of an Application in it several times. The API server and etcd have limits of their own: they are real here.
func TestService_hasRoomForTheConfigurationOfEveryHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	const longest = 54
	_, err := provisioner(longest+10, "ens2f0np0")
	f.Expect(err).To(MatchError(ContainSubstring("the configuration of 2000 DPUs has")))

	rendered, err := provisioner(longest, "ens2f0np0")
	f.Expect(err).NotTo(HaveOccurred())
	s := f.service(f.argo, "dpucniprovisioner", func(spec *svcv1.DPUServiceSpec) {
		spec.ServiceID, spec.HelmChart.Values = rendered.Spec.ServiceID, rendered.Spec.HelmChart.Values
	})
	f.Eventually(f.ready(s)).Should(Equal("True"))
	rendered, err = provisioner(longest, "ens3f0np0")
	f.Expect(err).NotTo(HaveOccurred())
	f.change(s, func() { s.Spec.HelmChart.Values = rendered.Spec.HelmChart.Values })
	f.Eventually(f.ready(s)).Should(Equal("True"))
	a := f.applications()["a/"+f.argo]
	f.Expect(a.Object["status"]).NotTo(HaveKey("history"))
	text, _, _ := unstructured.NestedString(a.Object, "spec", "source", "helm", "valuesObject", "config")
	side, err := config.ParseDPU([]byte(text))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(side.PerNodeConfig).To(HaveLen(operatorv1.MaxHosts))
	bytes := func(of any) int {
		data, err := json.Marshal(of)
		f.Expect(err).NotTo(HaveOccurred())
		return len(data)
	}
	t.Logf("the configuration has %d bytes, the DPUService %d, the Application %d", len(text), bytes(s), bytes(a.Object))
	const etcd = 3 << 19
	f.Expect(bytes(a.Object)).To(BeNumerically("<", etcd))
	f.Expect(strings.Count(string(must(json.Marshal(a.Object))), "d"+strings.Repeat("a", longest-3)+"-0")).To(Equal(6),
		"each of three copies has it twice, and nothing else does")

	made := &corev1.ConfigMap{}
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(a), made)).To(Succeed())
	var values struct{ Config string }
	f.Expect(yaml.Unmarshal([]byte(made.Data["values"]), &values)).To(Succeed())
	f.Expect(values.Config).To(Equal(text))
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
