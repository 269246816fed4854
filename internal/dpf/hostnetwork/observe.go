package hostnetwork

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
)

const (
	ovnNamespace      = "openshift-ovn-kubernetes"
	stockName         = "ovnkube-node"
	operatorNamespace = "openshift-network-operator"
	operatorName      = "network-operator"
	webhookName       = "network-node-identity.openshift.io"
	versionName       = "version"
)

// objects are what facts were seen of. Patches are made against them.
type objects struct {
	version  *configv1.ClusterVersion
	operator *appsv1.Deployment
	webhook  *admissionregistrationv1.ValidatingWebhookConfiguration
	sources
	nodes    map[string]*corev1.Node
	wanted   []client.Object // copies
	existing []client.Object // likewise
}

// observation is one look at the host cluster and the journal.
type observation struct {
	Facts
	objects
	journal *journal.Journal
}

// get returns nil for an object that definitely doesn't exist.
func get[T client.Object](ctx context.Context, c client.Reader, object T, namespace, name string) (T, error) {
	var none T
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read %T %s: %w", object, client.ObjectKey{Namespace: namespace, Name: name}, err)
	}
	return object, nil
}

func (m Move) observe(ctx context.Context, config *operatorv1.DPFOperatorConfig, awake time.Time) (*observation, error) {
	j, err := journal.Load(ctx, m.Uncached, m.Client, ovnNamespace)
	if err != nil {
		return nil, err
	}
	o := &observation{journal: j, Facts: Facts{
		Now: m.Now(), Awake: awake, Generation: config.Generation, MaxUnavailable: 1, Timeout: Timeout(config), Nodes: map[string]Node{},
	}}
	if network := config.Spec.HostNetworkConfiguration; network != nil {
		o.Want, o.Hosts, o.MaxUnavailable = config.DeletionTimestamp.IsZero(), network.Hosts, max(1, int(network.MaxUnavailable))
	}
	if !o.Want && j.State().Empty() {
		o.Marked, err = m.marked(ctx)
		return o, err
	}
	for _, look := range []func(context.Context) error{o.lookAtObjects(m.reader(o.Want, j.State())), o.lookAtNodes(m)} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	if o.Marked = marked(o.version); o.Marked && j.State().Cluster.Override == nil {
		if o.Marked, err = m.marked(ctx); err != nil {
			return nil, err
		}
	}
	if o.Want {
		o.planCopies(config)
	}
	return o, nil
}

// reader of what exists once. A cache may lag: by it, a state after a change would be recorded as the original, and an original that isn't
// back would be taken for restored. So it is used only between these: once all originals are in the journal, until all nodes are back.
func (m Move) reader(want bool, s journal.State) client.Reader {
	recorded := s.Cluster.Override != nil && s.Cluster.Operator != nil && s.Cluster.Webhook != nil && s.Cluster.DaemonSet != nil
	back := !want || returning(s.Cluster)
	moved := slices.ContainsFunc(slices.Collect(maps.Values(s.Nodes)), func(n journal.Node) bool { return !n.Untouched() })
	if !back && recorded || back && moved {
		return m.Client
	}
	return m.Uncached
}

// marked says whether the cluster is changed although the journal knows nothing of it. A cache may still have what was taken back.
func (m Move) marked(ctx context.Context) (bool, error) {
	for _, reader := range []client.Reader{m.Client, m.Uncached} {
		version, err := get(ctx, reader, &configv1.ClusterVersion{}, "", versionName)
		if meta.IsNoMatchError(err) {
			return false, nil // no OpenShift cluster
		}
		if err != nil || !marked(version) {
			return false, err
		}
	}
	return true, nil
}

func (o *observation) lookAtObjects(c client.Reader) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if o.version, err = get(ctx, c, &configv1.ClusterVersion{}, "", versionName); err != nil {
			return err
		}
		if o.operator, err = get(ctx, c, &appsv1.Deployment{}, operatorNamespace, operatorName); err != nil {
			return err
		}
		o.webhook, err = get(ctx, c, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", webhookName)
		if err != nil {
			return err
		}
		if o.daemonSet, err = get(ctx, c, &appsv1.DaemonSet{}, ovnNamespace, stockName); err != nil {
			return err
		}
		if o.config, err = get(ctx, c, &corev1.ConfigMap{}, ovnNamespace, configName); err != nil {
			return err
		}
		if o.script, err = get(ctx, c, &corev1.ConfigMap{}, ovnNamespace, scriptName); err != nil {
			return err
		}
		if err := o.lookAtCopies(ctx, c); err != nil {
			return err
		}
		o.state()
		return nil
	}
}

func (o *observation) lookAtCopies(ctx context.Context, c client.Reader) error {
	config, err := get(ctx, c, &corev1.ConfigMap{}, ovnNamespace, configName+suffix)
	if err != nil {
		return err
	}
	script, err := get(ctx, c, &corev1.ConfigMap{}, ovnNamespace, scriptName+suffix)
	if err != nil {
		return err
	}
	daemonSet, err := get(ctx, c, &appsv1.DaemonSet{}, ovnNamespace, stockName+suffix)
	if err != nil {
		return err
	}
	if daemonSet != nil {
		o.existing = append(o.existing, daemonSet)
	}
	for _, m := range []*corev1.ConfigMap{config, script} {
		if m != nil {
			o.existing = append(o.existing, m)
		}
	}
	o.CopiesPresent = slices.ContainsFunc(o.existing, isOurs) // others stay: to wait for them would be for ever
	return nil
}

// state of the objects, as facts.
func (o *observation) state() {
	if o.version == nil {
		o.Problem = "there is no ClusterVersion version: this is no OpenShift cluster"
	} else {
		o.VersionUID, o.Override = o.version.UID, override(o.version)
	}
	if o.operator == nil {
		o.Problem = "there is no Deployment openshift-network-operator/network-operator"
	} else {
		o.OperatorUID, o.Operator, o.OperatorPods = o.operator.UID, ptr.To(ptr.Deref(o.operator.Spec.Replicas, 1)), o.operator.Status.Replicas
	}
	o.Webhook = o.webhook
	if o.daemonSet == nil {
		o.Problem = "there is no DaemonSet openshift-ovn-kubernetes/ovnkube-node: the network is no ovn-kubernetes"
		return
	}
	o.StockUID, o.Affinity, o.Rollout = o.daemonSet.UID, o.daemonSet.Spec.Template.Spec.Affinity, rollout(o.daemonSet)
	if o.config == nil || o.script == nil {
		o.Problem = "openshift-ovn-kubernetes has no ConfigMap ovnkube-config, or no ovnkube-script-lib"
	}
}

// rollout says what is waited for until every node has a Pod of the template. One that is only updated by hand isn't waited for.
func rollout(d *appsv1.DaemonSet) string {
	status := d.Status
	if status.ObservedGeneration >= d.Generation && status.UpdatedNumberScheduled >= status.DesiredNumberScheduled &&
		status.NumberUnavailable == 0 || d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return ""
	}
	return fmt.Sprintf("DaemonSet openshift-ovn-kubernetes/ovnkube-node is rolled out: %d of %d Pods are updated, %d aren't available",
		status.UpdatedNumberScheduled, status.DesiredNumberScheduled, status.NumberUnavailable)
}

func (o *observation) planCopies(config *operatorv1.DPFOperatorConfig) {
	if o.Problem != "" {
		return
	}
	var err error
	image := config.Spec.ImageOverrides[string(operatorv1.ComponentOVNKubernetes)]
	o.wanted, err = copies(o.sources, config.Spec.HostNetworkConfiguration, image)
	if err != nil {
		o.Problem = err.Error()
		return
	}
	o.CopiesCurrent = true
	for _, wanted := range o.wanted {
		existing := o.copyOf(wanted)
		if existing == nil || existing.GetAnnotations()[hashAnnotation] != wanted.GetAnnotations()[hashAnnotation] {
			o.CopiesCurrent = false
		}
	}
}

// copyOf is the object that exists with the kind and name of one that is wanted; nil: there is none.
func (o *observation) copyOf(wanted client.Object) client.Object {
	for _, existing := range o.existing {
		if existing.GetName() == wanted.GetName() {
			return existing
		}
	}
	return nil
}

func (o *observation) lookAtNodes(m Move) func(context.Context) error {
	return func(ctx context.Context) error {
		var nodes corev1.NodeList
		if err := m.Client.List(ctx, &nodes); err != nil {
			return fmt.Errorf("read the nodes: %w", err)
		}
		stock, err := m.pods(ctx, ovnNamespace, map[string]string{appLabel: stockName})
		if err != nil {
			return err
		}
		custom, err := m.pods(ctx, ovnNamespace, map[string]string{appLabel: stockName + suffix})
		if err != nil {
			return err
		}
		provisioner, err := m.pods(ctx, m.Provisioner.Namespace, m.Provisioner.Labels)
		if err != nil {
			return err
		}
		cleanUp, err := m.pods(ctx, m.CleanUp.Namespace, m.CleanUp.Labels)
		if err != nil {
			return err
		}
		o.nodes = map[string]*corev1.Node{}
		for i := range nodes.Items {
			node := &nodes.Items[i]
			o.nodes[node.Name] = node
			fact := factsOf(node)
			fact.Stock, fact.Custom, fact.Provisioner = stock[node.Name], custom[node.Name], provisioner[node.Name]
			fact.CleanedUp = cleanUp[node.Name]
			o.Nodes[node.Name] = fact
		}
		o.askDPUs(ctx, m)
		return nil
	}
}

func factsOf(node *corev1.Node) Node {
	fact := Node{UID: node.UID, DPU: node.Labels[operatorv1.DPUEnabledLabel] == "true", Tainted: tainted(node)}
	_, fact.Moved = node.Labels[operatorv1.NetworkMovedLabel]
	_, fact.Preconfigured = node.Labels[operatorv1.NetworkPreconfigReadyLabel]
	_, fact.CleanUp = node.Labels[operatorv1.NetworkCleanUpLabel]
	if id, has := node.Annotations[operatorv1.ChassisIDAnnotation]; has {
		fact.ChassisID = ptr.To(id)
	}
	return fact
}

// askDPUs about those whose nodes wait for them. One whose cluster doesn't answer isn't ready, and holds up no step of another node.
func (o *observation) askDPUs(ctx context.Context, m Move) {
	ctx, cancel := context.WithTimeout(ctx, dpuTimeout)
	defer cancel()
	for _, host := range o.Hosts {
		name := string(host.HostClusterNodeName)
		if o.journal.State().Nodes[name].Phase != operatorv1.NodeProvisioning {
			continue
		}
		fact := o.Nodes[name]
		var err error
		if fact.DPUSide, err = m.DPUSide(ctx, host); err != nil {
			why := fmt.Sprintf("the DPU cluster of %s doesn't say whether its provisioner is ready: %s", host.DPUClusterNodeName, err)
			fact.DPUSide = Readiness{Why: why}
		} else if !fact.DPUSide.Ready && fact.DPUSide.Why == "" {
			fact.DPUSide.Why = fmt.Sprintf("the Pod of the DPU CNI provisioner on %s isn't ready", host.DPUClusterNodeName)
		}
		if fact.UID != "" {
			o.Nodes[name] = fact
		}
	}
}

// pods of a DaemonSet, by their nodes.
func (m Move) pods(ctx context.Context, namespace string, labels map[string]string) (map[string]Pod, error) {
	var list corev1.PodList
	if err := m.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, fmt.Errorf("read the Pods in %s: %w", namespace, err)
	}
	all := map[string]Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		state := NotReady
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp.IsZero() {
				state = Ready
			}
		}
		// Of two that overlap the one that isn't ready counts: it is on its way out, or the next one.
		if before, seen := all[pod.Spec.NodeName]; !seen || state < before {
			all[pod.Spec.NodeName] = state
		}
	}
	return all, nil
}
