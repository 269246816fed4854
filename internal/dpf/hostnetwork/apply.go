package hostnetwork

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply the steps. One that fails holds up none of another node.
func (m Move) apply(ctx context.Context, o *observation, steps []Step) error {
	var errs []error
	for _, step := range steps {
		var err error
		if step.Node != "" {
			err = m.applyToNode(ctx, o, step)
		} else {
			err = m.applyToCluster(ctx, o, step.Action)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step, err))
		}
	}
	return errors.Join(errs...)
}

func (m Move) applyToNode(ctx context.Context, o *observation, step Step) error {
	record := o.journal.State().Nodes[step.Node]
	switch step.Action {
	case Begin:
		return m.begin(ctx, o, step.Node)
	case Enter:
		record.Phase, record.Since, record.Message = step.Phase, metav1.NewTime(o.Now), step.Message
		return o.journal.PutNode(ctx, step.Node, record)
	case NoteUnclean:
		record.Unclean = true
		return o.journal.PutNode(ctx, step.Node, record)
	case Forget:
		return o.journal.DropNode(ctx, step.Node)
	}
	node := o.nodes[step.Node]
	edited := node.DeepCopy()
	editNode(edited, step.Action, record.ChassisID)
	return m.patch(ctx, node, edited)
}

// begin a node: its original is recorded as the API server has it, not as a cache had it.
func (m Move) begin(ctx context.Context, o *observation, name string) error {
	node, err := get(ctx, m.Uncached, &corev1.Node{}, "", name)
	if err != nil {
		return err
	}
	if node == nil || node.UID != o.Nodes[name].UID || factsOf(node).marked() {
		return changed("nodes", name, errors.New("it has changed since it was looked at"))
	}
	record := newRecord(o.Facts, o.journal.State(), name)
	record.ChassisID = factsOf(node).ChassisID
	return o.journal.PutNode(ctx, name, record)
}

// changed is a conflict: the step is decided once more.
func changed(resource, name string, err error) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: resource}, name, err)
}

// create an object. One that exists wasn't seen: the cache lags, or another client was first.
func (m Move) create(ctx context.Context, resource string, object client.Object) error {
	err := m.Client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return changed(resource, object.GetName(), err)
	}
	return err
}

// delete an object, if it hasn't changed since it was read.
func (m Move) delete(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(m.Client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}

// patch what differs, if nothing else has changed since it was read.
func (m Move) patch(ctx context.Context, before, after client.Object) error {
	return m.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// applyToCluster writes originals to the journal before, and what is restored after.
func (m Move) applyToCluster(ctx context.Context, o *observation, action Action) error {
	if action == RemoveJournal {
		return o.journal.Remove(ctx)
	}
	before := o.journal.State().Cluster
	recorded := before
	recordOriginal(action, o.Facts, &recorded)
	if recorded != before {
		if err := o.journal.PutCluster(ctx, recorded); err != nil {
			return err
		}
	}
	if err := m.change(ctx, o, action); err != nil {
		return err
	}
	restored := recorded
	markRestored(action, o.Facts, &restored)
	if restored == recorded {
		return nil
	}
	return o.journal.PutCluster(ctx, restored)
}

func (m Move) change(ctx context.Context, o *observation, action Action) error {
	state := o.journal.State().Cluster
	switch action {
	case ReleaseOperator:
		version := o.version.DeepCopy()
		setOverride(version, &released)
		mark(version)
		return m.patch(ctx, o.version, version)
	case StopOperator:
		return m.scale(ctx, o, 0)
	case DeleteWebhook:
		if o.webhook == nil {
			return nil
		}
		return m.delete(ctx, o.webhook)
	case KeepAway:
		edited := o.daemonSet.DeepCopy()
		edited.Spec.Template.Spec.Affinity = keepAway(o.Affinity)
		return m.patch(ctx, o.daemonSet, edited)
	case WriteCopies:
		return m.writeCopies(ctx, o)
	case DeleteCopies:
		return m.deleteCopies(ctx, o)
	case LetBack:
		if o.daemonSet == nil {
			return nil
		}
		edited := o.daemonSet.DeepCopy()
		edited.Spec.Template.Spec.Affinity, _ = affinityBack(o.Affinity, state)
		if equality.Semantic.DeepEqual(edited.Spec, o.daemonSet.Spec) {
			return nil
		}
		return m.patch(ctx, o.daemonSet, edited)
	case RestoreWebhook:
		if create, _ := webhookBack(o.Webhook, state); create {
			webhook := state.Webhook.Configuration.DeepCopy()
			webhook.UID, webhook.ResourceVersion, webhook.Generation = "", "", 0
			webhook.ManagedFields, webhook.CreationTimestamp = nil, metav1.Time{}
			return m.create(ctx, "validatingwebhookconfigurations", webhook)
		}
	case StartOperator:
		if scale, _ := replicasBack(o.Operator, state); scale {
			return m.scale(ctx, o, state.Operator.Replicas)
		}
	case RestoreOverride:
		change, _ := overrideBack(o.Override, state)
		if !change && !o.Marked {
			return nil
		}
		version := o.version.DeepCopy()
		if unmark(version); change {
			setOverride(version, state.Override.Entry)
		}
		return m.patch(ctx, o.version, version)
	}
	return nil
}

func (m Move) scale(ctx context.Context, o *observation, replicas int32) error {
	operator := o.operator.DeepCopy()
	operator.Spec.Replicas = ptr.To(replicas)
	if *o.Operator == replicas {
		return nil
	}
	return m.patch(ctx, o.operator, operator)
}

func (m Move) writeCopies(ctx context.Context, o *observation) error {
	for _, wanted := range o.wanted {
		existing := o.copyOf(wanted)
		if existing == nil {
			if err := m.create(ctx, "copies", wanted); err != nil {
				return err
			}
			continue
		}
		if !isOurs(existing) {
			return fmt.Errorf("%s/%s exists and isn't ours: rename or delete it", wanted.GetNamespace(), wanted.GetName())
		}
		if existing.GetAnnotations()[hashAnnotation] == wanted.GetAnnotations()[hashAnnotation] {
			continue
		}
		wanted.SetResourceVersion(existing.GetResourceVersion())
		if err := m.Client.Update(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

func isOurs(object client.Object) bool { return object.GetLabels()[managedBy] == manager }

// deleteCopies, the DaemonSet first: its Pods read the others.
func (m Move) deleteCopies(ctx context.Context, o *observation) error {
	for _, existing := range o.existing {
		if !isOurs(existing) {
			continue
		}
		if err := m.delete(ctx, existing); err != nil {
			return err
		}
	}
	return nil
}
