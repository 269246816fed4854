package components

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	provisioners "github.com/bedplate/bedplate/internal/dpf/provisioner/config"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// Render the objects of all components of a place, in the order of the table. Those of the network need hostCIDR, the range of the host
// cluster's machines; without a hostNetworkConfiguration there are none. Objects share nothing with each other, nor with the
// configuration.
func (r Release) Render(config *operatorv1.DPFOperatorConfig, place Place, network bool, hostCIDR netip.Prefix) (
	objects []*unstructured.Unstructured, _ error,
) {
	if network && config.Spec.HostNetworkConfiguration == nil {
		return nil, nil
	}
	for _, c := range Table {
		if c.Place != place || c.Network != network || c.Copied {
			continue
		}
		of, err := r.objects(c, config, hostCIDR)
		if err != nil {
			return nil, fmt.Errorf("render the component %s: %w", c.Key, err)
		}
		objects = append(objects, of...)
	}
	return objects, nil
}

// deployed are the kinds of all objects that Render may return.
func deployed() (map[schema.GroupKind]bool, error) {
	kinds := map[schema.GroupKind]bool{serviceKind.GroupKind(): true}
	for _, c := range Table {
		if c.Place == DPUClusters || c.Copied {
			continue
		}
		objects, err := read(manifest(c))
		if err != nil {
			return nil, err
		}
		maps.Copy(kinds, kindsOf(objects))
	}
	return kinds, nil
}

func manifest(c Component) string { return "manifests/" + string(c.Key) + ".yaml" }

var serviceKind = svcv1.GroupVersion.WithKind("DPUService")

func (r Release) objects(c Component, config *operatorv1.DPFOperatorConfig, hostCIDR netip.Prefix) ([]*unstructured.Unstructured, error) {
	if c.Place == DPUClusters {
		service, err := r.service(c, config, hostCIDR)
		return []*unstructured.Unstructured{service}, err
	}
	objects, err := read(manifest(c))
	if err != nil {
		return nil, err
	}
	return objects, r.edit(objects, c, config)
}

// edit what the configuration says into the manifests of a component.
func (r Release) edit(objects []*unstructured.Unstructured, c Component, config *operatorv1.DPFOperatorConfig) (err error) {
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment", "DaemonSet":
			err = editPod(o, images(r.image(c, config)), pullSecrets(config.Spec.ImagePullSecrets), r.arguments(c))
		case "PersistentVolumeClaim":
			err = unstructured.SetNestedField(o.Object, config.Spec.BFBPersistentVolume, "spec", "volumeName")
		case "ConfigMap":
			var text string
			if text, err = HostConfig(config); err == nil {
				err = unstructured.SetNestedField(o.Object, text, "data", provisioners.Key)
			}
		}
		if err != nil {
			return fmt.Errorf("edit %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// read a manifest. Each call decodes it, so that no two renderings share anything.
func read(name string) (objects []*unstructured.Unstructured, _ error) {
	data, err := manifests.ReadFile(name)
	if err != nil {
		return nil, err
	}
	const buffer = 4096
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), buffer)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		objects = append(objects, o)
	}
}

// edit of a Pod's template.
type edit func(*corev1.PodSpec) error

func editPod(workload *unstructured.Unstructured, edits ...edit) error {
	path := []string{"spec", "template", "spec"}
	fields, found, err := unstructured.NestedMap(workload.Object, path...)
	if err != nil || !found {
		return errors.Join(errors.New("it has no template of a Pod"), err)
	}
	pod := &corev1.PodSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, pod, true); err != nil {
		return fmt.Errorf("read the template of its Pods: %w", err)
	}
	for _, edit := range edits {
		if err := edit(pod); err != nil {
			return err
		}
	}
	if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(pod); err != nil {
		return fmt.Errorf("write the template of its Pods: %w", err)
	}
	return unstructured.SetNestedMap(workload.Object, fields, path...)
}

// images of all containers are one, as it is written: a port isn't a tag, and a digest stays.
func images(reference string) edit {
	return func(pod *corev1.PodSpec) error {
		if len(pod.Containers) == 0 {
			return errors.New("it has no containers")
		}
		for i := range pod.Containers {
			pod.Containers[i].Image = reference
		}
		return nil
	}
}

// arguments that the operator passes on.
func (r Release) arguments(c Component) edit {
	return func(pod *corev1.PodSpec) error {
		if c.Key == operatorv1.ComponentDPUService && r.SourceRepos != "" {
			pod.Containers[0].Args = append(pod.Containers[0].Args, "--source-repos="+r.SourceRepos)
		}
		return nil
	}
}

func pullSecrets(names []string) edit {
	return func(pod *corev1.PodSpec) error {
		pod.ImagePullSecrets = references(names)
		return nil
	}
}

func references(names []string) (secrets []corev1.LocalObjectReference) {
	for _, name := range names {
		secrets = append(secrets, corev1.LocalObjectReference{Name: name})
	}
	return secrets
}

// values of our charts.
type values struct {
	Image            string                        `json:"image"`
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	Config           string                        `json:"config,omitempty"`  // JSON: as an object, managedFields would have each name again
	CleanUp          bool                          `json:"cleanUp,omitempty"` // instead
}

// maxConfig is the size in bytes of a configuration as a string in JSON. Argo CD keeps the values of an Application three times: in spec,
// status.sync.comparedTo and status.operationState.syncResult. etcd takes 1.5 MiB, and something is left for all the rest.
const maxConfig = 480 << 10

// service is the DPUService of a component.
func (r Release) service(c Component, config *operatorv1.DPFOperatorConfig, hostCIDR netip.Prefix) (*unstructured.Unstructured, error) {
	v := values{Image: r.image(c, config), ImagePullSecrets: references(config.Spec.ImagePullSecrets)}
	if c.Key == operatorv1.ComponentDPUCNIProvisioner {
		var err error
		if v.Config, err = dpuConfig(config, hostCIDR); err != nil {
			return nil, err
		}
	}
	return r.serviceOf(c, v)
}

func (r Release) serviceOf(c Component, v values) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write the values of the chart: %w", err)
	}
	service := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: string(c.Key)}}
	service.Spec.ServiceID = string(c.Key) // so its Pods are found
	service.Spec.HelmChart = svcv1.HelmChart{
		Source: svcv1.ChartSource{RepoURL: r.Charts, Chart: "dpf-" + string(c.Key), Version: r.chart()},
		Values: &runtime.RawExtension{Raw: raw},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(service)
	if err != nil {
		return nil, fmt.Errorf("write the DPUService: %w", err)
	}
	delete(fields, "status")
	o := &unstructured.Unstructured{Object: fields}
	o.SetGroupVersionKind(serviceKind)
	return o, nil
}

// HostConfig is what the host's side of the provisioners is told, as JSON.
func HostConfig(config *operatorv1.DPFOperatorConfig) (string, error) {
	network := config.Spec.HostNetworkConfiguration
	vteps, err := netip.ParsePrefix(network.CIDR)
	if err != nil {
		return "", fmt.Errorf("read CIDR: %w", err)
	}
	side := provisioners.Host{
		PFIPs: map[string]netip.Prefix{}, Gateways: map[string]netip.Addr{}, VTEPCIDR: vteps, HostPF0: string(network.HostPF0),
	}
	for _, host := range network.Hosts {
		ip, errIP := netip.ParsePrefix(string(host.HostIP))
		gateway, errGateway := netip.ParseAddr(host.Gateway)
		if err := errors.Join(errIP, errGateway); err != nil {
			return "", fmt.Errorf("read the addresses of %s: %w", host.HostClusterNodeName, err)
		}
		side.PFIPs[string(host.HostClusterNodeName)], side.Gateways[string(host.HostClusterNodeName)] = ip, gateway
	}
	data, err := json.Marshal(side)
	return string(data), errors.Join(err, side.Validate())
}

// dpuConfig is what the DPUs' side of the provisioners is told, as JSON.
func dpuConfig(config *operatorv1.DPFOperatorConfig, hostCIDR netip.Prefix) (string, error) {
	side, err := dpuSide(config, hostCIDR)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(side)
	if err != nil {
		return "", fmt.Errorf("write the configuration of the DPUs: %w", err)
	}
	if size := len(data) + bytes.Count(data, []byte(`"`)); size > maxConfig { // each quotation mark has a backslash
		return "", fmt.Errorf("the configuration of %d DPUs has %d bytes, and Argo CD has room for %d: give their nodes shorter names",
			len(side.PerNodeConfig), size, maxConfig)
	}
	return string(data), nil
}

func dpuSide(config *operatorv1.DPFOperatorConfig, hostCIDR netip.Prefix) (side provisioners.DPU, _ error) {
	network := config.Spec.HostNetworkConfiguration
	vteps, err := netip.ParsePrefix(network.CIDR)
	if err != nil {
		return side, fmt.Errorf("read CIDR: %w", err)
	}
	side = provisioners.DPU{
		PerNodeConfig: map[string]provisioners.DPUNode{}, HostNodes: map[string]string{},
		VTEPCIDR: vteps, HostCIDR: hostCIDR, HostPF0: string(network.HostPF0),
	}
	for _, host := range network.Hosts {
		ip, errIP := netip.ParsePrefix(string(host.DPUIP))
		gateway, errGateway := netip.ParseAddr(host.Gateway)
		if err := errors.Join(errIP, errGateway); err != nil {
			return side, fmt.Errorf("read the addresses of %s: %w", host.DPUClusterNodeName, err)
		}
		side.PerNodeConfig[string(host.DPUClusterNodeName)] = provisioners.DPUNode{VTEPIP: ip, Gateway: gateway}
		side.HostNodes[string(host.DPUClusterNodeName)] = string(host.HostClusterNodeName)
	}
	return side, side.Validate()
}
