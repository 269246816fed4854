package dpuagent

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/patch"
)

// report what is real of each object. Where a call has failed, that is what all of them wait for.
func (a *agent) report(ctx context.Context, o objects, p plan, failed error) error {
	var problems []error
	if a.config.has(Interfaces) {
		for _, i := range o.interfaces {
			reconciled, ready := p.ofInterface(client.ObjectKeyFromObject(i))
			problems = append(problems, a.set(ctx, i, svcv1.ServiceInterfaceReconciledCondition, reconciled, ready, failed))
		}
	}
	for _, c := range o.chains {
		reconciled, ready := p.ofChain(client.ObjectKeyFromObject(c))
		problems = append(problems, a.set(ctx, c, svcv1.ServiceChainReconciledCondition, reconciled, ready, failed))
	}
	return errors.Join(problems...)
}

func (p plan) ofInterface(key client.ObjectKey) (reconciled, ready problem) {
	if wrong := p.interfaces[key]; wrong != (problem{}) {
		return wrong, wrong
	}
	return problem{}, p.waiting[p.plugs[key].port]
}

// ofChain: it is ready when all its interfaces are, and have the addresses that it gives them.
func (p plan) ofChain(key client.ObjectKey) (reconciled, ready problem) {
	if wrong := p.chains[key]; wrong != (problem{}) {
		return wrong, wrong
	}
	for _, i := range p.members[key] {
		if _, wrong := p.ofInterface(i); wrong != (problem{}) {
			return problem{}, problem{wrong.reason, "ServiceInterface " + i.Name + ": " + wrong.message}
		}
	}
	return problem{}, p.addresses[key]
}

// set the conditions, and write them if they are new.
func (a *agent) set(ctx context.Context, object svcv1.Object, kind string, reconciled, ready problem, failed error) error {
	deleted := !object.GetDeletionTimestamp().IsZero()
	if failed != nil {
		reconciled = problem{svcv1.ReasonError, failed.Error()}
		if deleted {
			reconciled.reason = svcv1.ReasonAwaitingDeletion
		}
		ready = reconciled
	} else if deleted { // it goes at once
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	status := object.GetStatus()
	status.ObservedGeneration = object.GetGeneration()
	for _, each := range []struct {
		kind  string
		wrong problem
	}{{kind, reconciled}, {svcv1.ReadyCondition, ready}} {
		condition := metav1.Condition{
			Type: each.kind, Status: metav1.ConditionFalse, ObservedGeneration: object.GetGeneration(), Reason: each.wrong.reason, Message: each.wrong.message,
		}
		if each.wrong == (problem{}) {
			condition.Status, condition.Reason = metav1.ConditionTrue, svcv1.ReasonSuccess
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return patch.All(ctx, a.Client, before, object.(client.Object))
}
