// Package openshift stands for those parts of OpenShift that put back what the move of the network changes: the cluster-version-operator,
// the network operator and ovn-kubernetes' Pods. Each stops when it is told to, as the original does.
package openshift

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	ovnNamespace      = "openshift-ovn-kubernetes"
	ovnName           = "ovnkube-node"
	operatorNamespace = "openshift-network-operator"
	operatorName      = "network-operator"
	webhookName       = "network-node-identity.openshift.io"
	chassisID         = "k8s.ovn.org/node-chassis-id"
	interval          = 100 * time.Millisecond
)

// Cluster is an OpenShift cluster, as its release has it.
type Cluster struct {
	// Often reads Nodes and Pods. It may be a cache: what is written by it is under a lock.
	Often client.Reader

	client   client.Client
	webhook  *admissionregistrationv1.ValidatingWebhookConfiguration
	affinity *corev1.Affinity
	putBack  atomic.Int64
}

// New takes what there is in a cluster for what its release wants.
func New(ctx context.Context, c client.Client) (*Cluster, error) {
	o := &Cluster{Often: c, client: c, webhook: &admissionregistrationv1.ValidatingWebhookConfiguration{}}
	var set appsv1.DaemonSet
	err := errors.Join(
		c.Get(ctx, client.ObjectKey{Name: webhookName}, o.webhook),
		c.Get(ctx, client.ObjectKey{Namespace: ovnNamespace, Name: ovnName}, &set))
	o.affinity = set.Spec.Template.Spec.Affinity
	o.webhook.ResourceVersion, o.webhook.UID = "", ""
	return o, err
}

// PutBack is how often something was put back.
func (o *Cluster) PutBack() int64 { return o.putBack.Load() }

// Run until the context ends. Errors are tried again.
func (o *Cluster) Run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, part := range []func(context.Context) error{o.versionOperator, o.networkOperator, o.nodes} {
			_ = part(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// versionOperator scales the network operator, if no override says that it isn't managed.
func (o *Cluster) versionOperator(ctx context.Context) error {
	var version configv1.ClusterVersion
	var operator appsv1.Deployment
	err := errors.Join(
		o.client.Get(ctx, client.ObjectKey{Name: "version"}, &version),
		o.client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &operator))
	released := slices.Contains(version.Spec.Overrides, configv1.ComponentOverride{
		Group: "apps", Kind: "Deployment", Namespace: operatorNamespace, Name: operatorName, Unmanaged: true,
	})
	if err != nil || released || *operator.Spec.Replicas == 1 {
		return err
	}
	operator.Spec.Replicas = ptr.To[int32](1)
	o.putBack.Add(1)
	return o.client.Update(ctx, &operator)
}

// networkOperator restores the webhook and the DaemonSet's affinity, as long as it has a Pod.
func (o *Cluster) networkOperator(ctx context.Context) error {
	var operator appsv1.Deployment
	if err := o.client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &operator); err != nil {
		return err
	}
	if operator.Status.Replicas == 0 {
		return nil
	}
	err := o.client.Get(ctx, client.ObjectKey{Name: webhookName}, &admissionregistrationv1.ValidatingWebhookConfiguration{})
	if apierrors.IsNotFound(err) {
		o.putBack.Add(1)
		err = o.client.Create(ctx, o.webhook.DeepCopy())
	}
	var set appsv1.DaemonSet
	if err := errors.Join(err, o.client.Get(ctx, client.ObjectKey{Namespace: ovnNamespace, Name: ovnName}, &set)); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(set.Spec.Template.Spec.Affinity, o.affinity) {
		return nil
	}
	set.Spec.Template.Spec.Affinity = o.affinity.DeepCopy()
	o.putBack.Add(1)
	return o.client.Update(ctx, &set)
}

// nodes get the annotation of the chassis that the Pod of ovn-kubernetes on them runs: the host's own, or the DPU's.
func (o *Cluster) nodes(ctx context.Context) error {
	var pods corev1.PodList
	var list corev1.NodeList
	if err := errors.Join(o.Often.List(ctx, &pods, client.InNamespace(ovnNamespace)), o.Often.List(ctx, &list)); err != nil {
		return err
	}
	nodes := map[string]*corev1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	var errs []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		id, runs := map[string]string{ovnName: "host-", ovnName + "-dpf": "dpu-"}[pod.Labels["app"]]
		if !runs || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
			continue
		}
		node := nodes[pod.Spec.NodeName]
		if id += pod.Spec.NodeName; node != nil && node.Annotations[chassisID] != id {
			before := node.DeepCopy()
			if node.Annotations == nil {
				node.Annotations = map[string]string{}
			}
			node.Annotations[chassisID] = id
			o.putBack.Add(1)
			errs = append(errs, o.client.Patch(ctx, node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
		}
	}
	return errors.Join(errs...)
}
