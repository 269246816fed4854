package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/kubeconfig"
	"github.com/bedplate/bedplate/internal/krake/tosca"
)

// Keys within the graph.
const (
	infrastructureKey = "infrastructure"
	kubeconfigKey     = "kubeconfig"
)

// What the ledger has of an attempt: the cloud, as KIND/NAME, and which version of the provider's login it was made with.
const (
	cloudParam = "cloud"
	loginParam = "login"
)

func cloudOf(params map[string]string) (krakev1.CloudReference, bool) {
	kind, name, known := strings.Cut(params[cloudParam], "/")
	return krakev1.CloudReference{Kind: kind, Name: name}, known
}

// maxRepairs is how often an infrastructure is reconfigured.
const maxRepairs = 5

// node is the graph of one Cluster: its template is valid, its infrastructure is made of it, and its kubeconfig is in a Secret.
type node struct {
	*Reconciler
	object *krakev1.Cluster
	on     *Place
	api    Manager
	graph  *graph.Graph
	kind   *graph.Kind[infrastructure]
	// template that is wanted; nil if it can't be read.
	template *tosca.Template
	made     *graph.Handle[infrastructure]
}

func (r *Reconciler) open(ctx context.Context, api Manager, on *Place, object *krakev1.Cluster) (_ *node, err error) {
	n := &node{Reconciler: r, object: object, on: on, api: api}
	n.kind = n.infrastructureKind(r.Engine)
	if n.graph, err = r.Engine.New(ctx, object, on.secrets(), n.kind); err != nil {
		return nil, err
	}
	return n, n.takeOver(ctx)
}

// Reconcile brings the infrastructure to what the spec says, and shows it in the object.
func (n *node) Reconcile(ctx context.Context) (ctrl.Result, error) {
	n.graph.Gate(krakev1.ReadyCondition, n.online, n.want(ctx))
	result, err := n.graph.Reconcile(ctx)
	n.project()
	if err == nil && meta.IsStatusConditionTrue(n.object.Status.Conditions, krakev1.KubeconfigReadyCondition) {
		err = n.refer(ctx)
	}
	return result, err
}

// want what the spec asks for, of which the last is returned.
func (n *node) want(ctx context.Context) graph.Ref {
	valid := n.graph.Gate(krakev1.TemplateValidCondition, func() phases.Phase { return n.validate(ctx) })
	n.made = n.wantInfrastructure(valid)
	return n.graph.Put(graph.Object{
		Key: kubeconfigKey, Condition: krakev1.KubeconfigReadyCondition, After: []graph.Ref{n.made}, Make: n.kubeconfig,
	})
}

// Delete the infrastructure. What its kubeconfig is in goes with the object.
func (n *node) Delete(ctx context.Context, finalizer string) (ctrl.Result, error) {
	result, err := n.graph.DeleteAndRelease(ctx, finalizer)
	if status := &n.object.Status; n.graph.ID(infrastructureKey) == "" {
		status.ClusterID, status.VMs, status.Log = "", nil, nil
	}
	return result, err
}

// validate the template: its structure here, and the rest by the manager, which is asked once for each template.
func (n *node) validate(ctx context.Context) phases.Phase {
	known := n.validated()
	if known == metav1.ConditionUnknown { // while the manager is down, nothing is read and written for what isn't sent
		if err := n.api.Answers(ctx); err != nil {
			return phases.Of(err)
		}
	}
	template, err := tosca.Parse(n.object.Spec.TOSCA)
	if err != nil {
		return phases.Of(fault.Invalidf("spec.tosca: %w. Correct it", err))
	}
	problems := n.Imports.Problems
	if known != metav1.ConditionFalse { // but the manager may have been restarted, and allow less
		problems = n.Imports.Refuse
	}
	if all := problems(template); len(all) > 0 {
		return phases.Of(fault.Invalidf("spec.tosca: %s", strings.Join(all, "; ")))
	}
	n.template = template
	if known == metav1.ConditionTrue || n.object.Status.LastAppliedTOSCAHash == template.Hash() {
		return phases.Ready()
	}
	marked, err := template.Marked(n.graph.OwnerID())
	if err == nil {
		_, err = n.api.DryRun(ctx, marked)
	}
	if err != nil {
		return phases.Of(fault.Correct("spec.tosca", err))
	}
	return phases.Ready()
}

// validated is what is known of this template: True if the manager accepts it, Unknown if it couldn't be asked.
func (n *node) validated() metav1.ConditionStatus {
	known := meta.FindStatusCondition(n.object.Status.Conditions, krakev1.TemplateValidCondition)
	if known == nil || known.ObservedGeneration != n.object.Generation {
		return metav1.ConditionFalse
	}
	return known.Status
}

func (n *node) wantInfrastructure(valid graph.Ref) *graph.Handle[infrastructure] {
	return graph.Add(n.graph, n.kind, graph.Want[infrastructure]{
		Key: infrastructureKey, Condition: krakev1.InfrastructureReadyCondition, After: []graph.Ref{valid},
		Choose: func(context.Context, *infrastructure) (map[string]string, error) {
			on := n.on.Cloud.Reference()
			return map[string]string{cloudParam: on.Kind + "/" + on.Name, loginParam: n.on.written}, nil
		},
		Create: n.create,
		Update: n.update,
		Given:  n.on.given,
		Repair: &graph.Repair[infrastructure]{
			After: n.CreateDeadline, Limits: graph.Limits{Most: maxRepairs},
			Remedy: n.reconfigure,
		},
	})
}

// reconfigure an infrastructure, unless someone has stopped it: its machines would fail, or start.
func (n *node) reconfigure(ctx context.Context, i *infrastructure) error {
	if phase := phaseOf(i); i.State == im.Stopped || i.State == im.Off {
		return &fault.Error{Class: fault.Busy, Err: errors.New(phase.Message)}
	}
	return n.api.Reconfigure(ctx, i.id)
}

func (n *node) create(_ context.Context, key graph.Key) (graph.Call[infrastructure], error) {
	marked, err := n.template.Marked(key.Owner)
	if err != nil {
		return nil, fault.Invalidf("spec.tosca: %w", err)
	}
	applied, err := tosca.Read(marked)
	if err != nil {
		return nil, fault.Invalidf("spec.tosca: with its mark %w", err)
	}
	api := n.api
	return func(ctx context.Context) (*infrastructure, error) {
		id, err := api.Create(ctx, marked)
		return &infrastructure{id: id, applied: applied, Infrastructure: im.Infrastructure{State: im.Pending}}, err
	}, nil
}

// update an infrastructure that was made of another template. Its mark says of which, whatever was merged into it.
func (n *node) update(i *infrastructure) graph.Update {
	wanted, is := n.template, i.applied.Mark().Hash
	if wanted == nil || is == wanted.Hash() {
		return graph.Update{}
	}
	marked, err := wanted.Marked(n.graph.OwnerID())
	if err != nil {
		return graph.Update{Refused: fault.Invalidf("spec.tosca: %w", err)}
	}
	return graph.Update{
		Changes: []graph.Change{{Field: "template", From: short(is), To: short(wanted.Hash())}},
		Apply: func(ctx context.Context) error {
			if err := n.isNewest(ctx); err != nil {
				return err
			}
			api := n.api
			return n.made.Behind(ctx, i.id+" "+wanted.Hash(), func(ctx context.Context) error { return api.Update(ctx, i.id, marked) })
		},
	}
}

// isNewest fails if the spec was read from a cache that lags behind: an older template may have fewer machines.
func (n *node) isNewest(ctx context.Context) error {
	newest := &krakev1.Cluster{}
	if err := n.Engine.Live.Get(ctx, client.ObjectKeyFromObject(n.object), newest); err != nil {
		return err
	}
	if newest.UID != n.object.UID || newest.Generation != n.object.Generation {
		return phases.ErrStale
	}
	return nil
}

// short form of a hash, for people.
func short(hash string) string { return hash[:min(len(hash), 12)] }

// kubeconfig of the cluster, in the format of Cluster API. It is read from the manager once, whenever the infrastructure has become ready.
func (n *node) kubeconfig(ctx context.Context) (client.Object, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.object.Name + "-kubeconfig", Namespace: n.object.Namespace, Labels: map[string]string{clusterv1.ClusterNameLabel: n.object.Name},
		},
		Type: clusterv1.ClusterSecretType,
	}
	if text := n.stored(ctx, client.ObjectKeyFromObject(secret)); text != nil {
		secret.Data = map[string][]byte{kubeconfig.Key: text}
		return secret, nil
	}
	outputs, err := n.api.Outputs(ctx, n.made.ID())
	if err != nil {
		return nil, err
	}
	text := []byte(outputs["kubeconfig"])
	if len(text) == 0 {
		return nil, &fault.Error{Class: fault.Busy, Op: "read the kubeconfig", Err: fmt.Errorf(
			"infrastructure %s is configured, and its output kubeconfig has no value yet", n.made.ID())}
	}
	if _, err := kubeconfig.Read(text); err != nil {
		return nil, fault.Invalidf("the output kubeconfig of infrastructure %s: %w. Correct spec.tosca", n.made.ID(), err)
	}
	secret.Data = map[string][]byte{kubeconfig.Key: text}
	return secret, nil
}

// stored is the kubeconfig that was read before; nil if it isn't there, is wrong, or may be another one now.
func (n *node) stored(ctx context.Context, name client.ObjectKey) []byte {
	secret := &corev1.Secret{}
	if !meta.IsStatusConditionTrue(n.object.Status.Conditions, krakev1.KubeconfigReadyCondition) || n.Engine.Live.Get(ctx, name, secret) != nil {
		return nil
	}
	if _, err := kubeconfig.Read(secret.Data[kubeconfig.Key]); err != nil {
		return nil
	}
	return secret.Data[kubeconfig.Key]
}
