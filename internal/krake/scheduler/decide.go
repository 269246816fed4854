package scheduler

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
)

// Decision on which cloud a Cluster is made.
type Decision struct {
	// Cloud is nil if there is none.
	Cloud *krakev1.CloudReference
	// Reason of the condition Scheduled, and its Message, which names every cloud and why it was chosen or not.
	Reason, Message string

	code krakev1.ReasonCode // if there is no cloud
	note string             // says the same in an event
}

// Decider decides by the objects that there are.
type Decider struct {
	client.Reader
	Metrics *Metrics
	// MadeOn and NoGlobal are those of Config.
	MadeOn   func(context.Context, *krakev1.Cluster) (*krakev1.CloudReference, error)
	NoGlobal string
	// Seed of the choice among equal clouds.
	Seed uint64
}

// Decide on the cloud of a Cluster that isn't bound. The error is one of Kubernetes' API, or errAsking.
func (d *Decider) Decide(ctx context.Context, cluster *krakev1.Cluster) (Decision, error) {
	made, err := d.madeOn(ctx, cluster)
	switch {
	case made != nil && (err == nil || cluster.Spec.Kubeconfig != nil): // one with a kubeconfig has been made before
		return d.stay(made), nil
	case fault.ClassOf(err) == fault.Invalid:
		return invalid(err.Error()), nil
	case err != nil:
		return Decision{}, err
	}
	switch binding, err := oldest(ctx, d, cluster.Namespace, cluster.Name); {
	case err != nil:
		return Decision{}, err
	case binding != nil:
		return d.follow(ctx, binding)
	}
	clouds, err := d.clouds(ctx, cluster.Namespace)
	if err != nil {
		return Decision{}, err
	}
	values, err := d.Metrics.ofAll(ctx, cluster.Namespace, clouds)
	if err != nil {
		return Decision{}, err
	}
	choice, err := Choose(cluster, clouds, values, d.Seed)
	if err != nil {
		return invalid(err.Error() + ". Correct it"), nil //nolint:nilerr // it is shown
	}
	o := Decision{Cloud: choice.Cloud, Reason: ReasonBound, Message: choice.String(maxMessage), note: choice.String(maxNote)}
	if choice.Cloud == nil {
		o.Reason, o.code = ReasonNoSuitableCloud, krakev1.ReasonNoSuitableResource
		say := "no cloud matches: change the constraints, or a cloud. "
		if len(clouds) == 0 {
			say = "there is no cloud: write a Cloud in this namespace, or have a GlobalCloud written"
		}
		o.Message, o.note = say+choice.String(maxMessage-len(say)), say+choice.String(maxNote-len(say))
	}
	return o, nil
}

// madeOn is nil if nothing was made for a Cluster yet.
func (d *Decider) madeOn(ctx context.Context, cluster *krakev1.Cluster) (*krakev1.CloudReference, error) {
	if d.MadeOn == nil || cluster.Spec.TOSCA == "" {
		return nil, nil
	}
	return d.MadeOn(ctx, cluster)
}

// Lost reports whether a Cluster that isn't bound was made, so that its status is lost. With a kubeconfig it isn't registered then.
func (d *Decider) Lost(ctx context.Context, c *krakev1.Cluster) (bool, error) {
	if c.Status.ScheduledTo != nil || c.Spec.Kubeconfig != nil && c.Spec.Kubeconfig.SecretRef.Name != c.Name+"-kubeconfig" {
		return false, nil
	}
	made, err := d.madeOn(ctx, c)
	if made != nil {
		return true, nil // whose it is decides Decide
	}
	return false, err
}

// stay where a Cluster that has lost its status was made, whatever matches best now.
func (d *Decider) stay(made *krakev1.CloudReference) Decision {
	text := fmt.Sprintf("%s: the Cluster was made there, as its ledger says", made)
	return Decision{Cloud: made, Reason: ReasonBound, Message: text, note: text}
}

// follow a binding by hand, whatever the constraints are.
func (d *Decider) follow(ctx context.Context, binding *krakev1.CloudBinding) (Decision, error) {
	wanted := binding.Spec.Cloud
	text := fmt.Sprintf("%s: named by CloudBinding %s", wanted, binding.Name)
	var cloud client.Object = &krakev1.Cloud{}
	key := client.ObjectKey{Namespace: binding.Namespace, Name: wanted.Name}
	if wanted.Kind == krakev1.KindGlobalCloud {
		cloud, key.Namespace = &krakev1.GlobalCloud{}, ""
		if d.NoGlobal != "" {
			return notFound(text + ": " + d.NoGlobal), nil
		}
	}
	err := d.Get(ctx, key, cloud)
	if err != nil && !apierrors.IsNotFound(err) {
		return Decision{}, fmt.Errorf("get %s: %w", wanted, err)
	}
	if err == nil && cloud.GetDeletionTimestamp().IsZero() {
		return Decision{Cloud: &wanted, Reason: ReasonBound, Message: text, note: text}, nil
	}
	return notFound(text + ", doesn't exist or is being deleted: write it, or delete the CloudBinding"), nil
}

func notFound(text string) Decision {
	return Decision{Reason: ReasonNotFound, code: krakev1.ReasonNotFound, Message: text, note: text}
}

func invalid(text string) Decision {
	return Decision{Reason: ReasonInvalid, code: krakev1.ReasonInvalidResource, Message: text, note: text}
}

// clouds that Clusters of a namespace may be made on.
func (d *Decider) clouds(ctx context.Context, namespace string) (clouds []krakev1.AnyCloud, _ error) {
	var own krakev1.CloudList
	var global krakev1.GlobalCloudList
	err := d.List(ctx, &own, client.InNamespace(namespace))
	if d.NoGlobal == "" {
		err = errors.Join(err, d.List(ctx, &global))
	}
	if err != nil {
		return nil, fmt.Errorf("list the clouds: %w", err)
	}
	for i := range own.Items {
		clouds = append(clouds, &own.Items[i])
	}
	for i := range global.Items {
		clouds = append(clouds, &global.Items[i])
	}
	return clouds, nil
}
