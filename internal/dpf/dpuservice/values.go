package dpuservice

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

const daemonSetValue = "serviceDaemonSet"

// valuesOf a chart: those of the spec, and of the DaemonSet what the spec says of it, the service's ID and its networks, with what is
// asked of them. The result shares nothing with the service: a change of one never reaches the other.
func valuesOf(service *svcv1.DPUService, interfaces []svcv1.DPUServiceInterface, asked map[string]*request) (map[string]any, error) {
	values := map[string]any{}
	if given := service.Spec.HelmChart.Values; given != nil {
		if err := utiljson.Unmarshal(given.Raw, &values); err != nil {
			return nil, fmt.Errorf("read spec.helmChart.values: %w", err)
		}
	}
	daemonSet, _, err := unstructured.NestedMap(values, daemonSetValue)
	if err != nil {
		return nil, fmt.Errorf("read spec.helmChart.values: %s has to be an object", daemonSetValue)
	}
	given := svcv1.ServiceDaemonSet{}
	if service.Spec.ServiceDaemonSet != nil {
		given = *service.Spec.ServiceDaemonSet.DeepCopy()
	}
	given.Labels, given.Annotations = maps.Clone(given.Labels), maps.Clone(given.Annotations)
	if id := service.Spec.ServiceID; id != "" {
		given.Labels = with(given.Labels, svcv1.ServiceIDLabel, id)
	}
	networks, err := networksOf(service, interfaces, asked)
	if err != nil {
		return nil, err
	}
	if networks != "" {
		given.Annotations = with(given.Annotations, svcv1.NetworksAnnotation, networks)
	}
	if daemonSet, err = merged(daemonSet, given); err != nil {
		return nil, err
	}
	if len(daemonSet) > 0 {
		values[daemonSetValue] = daemonSet
	}
	return values, nil
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// merged are the chart's own values of its DaemonSet with what is given: labels and annotations one by one, everything else as a whole.
func merged(values map[string]any, given svcv1.ServiceDaemonSet) (map[string]any, error) {
	data, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("write spec.serviceDaemonSet: %w", err)
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("write spec.serviceDaemonSet: %w", err)
	}
	if values == nil {
		values = map[string]any{}
	}
	for name, field := range fields {
		before, isMap := values[name].(map[string]any)
		if add, is := field.(map[string]any); is && isMap && (name == "labels" || name == "annotations") {
			maps.Copy(before, add)
			continue
		}
		values[name] = field
	}
	return values, nil
}

// networksOf the pods, in the order of the spec; "" without any.
func networksOf(service *svcv1.DPUService, interfaces []svcv1.DPUServiceInterface, asked map[string]*request) (string, error) {
	type network struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Interface string `json:"interface"`
		*request
	}
	var all []network
	for i := range interfaces {
		def := interfaces[i].Spec.Template.Spec.Template.Spec.Service
		if def == nil || def.Network == "" {
			continue
		}
		n := network{Name: def.Network, Namespace: service.Namespace, Interface: def.InterfaceName, request: asked[interfaces[i].Name]}
		if namespace, name, is := strings.Cut(def.Network, "/"); is {
			n.Namespace, n.Name = namespace, name
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return "", nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("write the networks of the service: %w", err)
	}
	return string(data), nil
}
