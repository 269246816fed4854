package components

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
)

// HostCleanUp are the manifests that the clean-up on hosts takes, without the configuration of the provisioner: it needs none, and there may
// be none any more.
func (r Release) HostCleanUp(config *operatorv1.DPFOperatorConfig) ([]*unstructured.Unstructured, error) {
	c := component(operatorv1.ComponentHostNetworkProvisioner)
	objects, err := read(manifest(c))
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ConfigMap" })
	return objects, r.edit(objects, c, config)
}

func component(key operatorv1.Component) Component {
	return Table[slices.IndexFunc(Table, func(c Component) bool { return c.Key == key })]
}

// cleanUpAnnotation of the DPUService of the DPUs' provisioners says since when they only take back what they have made.
const cleanUpAnnotation = "operator.dpu.nvidia.com/clean-up-since"

// CleanUp has the provisioners on DPUs take back what they have made, before their DPUService goes, and says since when. It is zero where
// there is no such DPUService, or where it is going already. Applied as usual it is what it was.
func (s Set) CleanUp(ctx context.Context, release Release, now time.Time) (since time.Time, _ error) {
	c := component(operatorv1.ComponentDPUCNIProvisioner)
	want, err := release.serviceOf(c, values{
		Image: release.image(c, s.Owner), ImagePullSecrets: references(s.Owner.Spec.ImagePullSecrets), CleanUp: true,
	})
	if err != nil {
		return since, err
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(want.GroupVersionKind())
	err = s.Reader.Get(ctx, client.ObjectKeyFromObject(want), found)
	if err != nil || found.GetDeletionTimestamp() != nil || !IsMember(found) {
		return since, client.IgnoreNotFound(err)
	}
	if since, err = time.Parse(time.RFC3339, found.GetAnnotations()[cleanUpAnnotation]); err != nil {
		since = now
	}
	want.SetAnnotations(map[string]string{cleanUpAnnotation: since.UTC().Format(time.RFC3339)})
	labels := map[string]any{operatorv1.NetworkCleanUpLabel: ""}
	// No DPU waits for another one: they carry no traffic of hosts any more.
	strategy := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "100%"}}
	daemonSet := map[string]any{"labels": labels, "updateStrategy": strategy}
	if err := unstructured.SetNestedMap(want.Object, daemonSet, "spec", "serviceDaemonSet"); err != nil {
		return since, fmt.Errorf("edit DPUService %s: %w", want.GetName(), err)
	}
	_, err = s.apply(ctx, want, found)
	return since, err
}
