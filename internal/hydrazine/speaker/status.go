package speaker

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
)

// report writes this speaker's entry, if it has changed.
func (r *configurations) report(ctx context.Context, configuration *networkfabricv1.BGPConfiguration) error {
	mine := r.entry()
	of := func(s networkfabricv1.BGPSpeaker) bool { return s.Name == r.name }
	if i := slices.IndexFunc(configuration.Status.Speakers, of); i >= 0 &&
		equality.Semantic.DeepEqual(configuration.Status.Speakers[i], mine) {
		return nil
	}
	entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&mine)
	if err != nil {
		return fmt.Errorf("write status.speakers: %w", err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"speakers": []any{entry}}}}
	object.SetGroupVersionKind(networkfabricv1.GroupVersion.WithKind("BGPConfiguration"))
	object.SetName(configuration.Name)
	object.SetUID(configuration.UID)
	err = r.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(lease.Name(r.name)), client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status.speakers: %w", err)
	}
	return nil
}

// maxAddresses limits the addresses in a status.
const maxAddresses = 16

// entry of this speaker.
func (r *configurations) entry() networkfabricv1.BGPSpeaker {
	all := r.bgp.Sessions()
	count(all)
	entry := networkfabricv1.BGPSpeaker{
		Name: r.name, RouterID: resourcev1.IPAddress(r.routerID.String()), Announced: int32(r.table.size()), //nolint:gosec // few
	}
	for _, a := range r.addresses[:min(len(r.addresses), maxAddresses)] {
		entry.Addresses = append(entry.Addresses, resourcev1.IPAddress(a.String()))
	}
	for _, s := range all {
		entry.Sessions = append(entry.Sessions, networkfabricv1.BGPSession{
			Neighbor: resourcev1.IPAddress(s.Neighbor.String()), State: s.State, Message: s.Message,
			Since: &metav1.Time{Time: metav1.NewTime(s.Since).Rfc3339Copy().Time},
		})
	}
	return entry
}

// bury removes the entries of speakers that are gone for good: their Leases are gone, or have been expired for so long that
// no neighbor keeps their routes any more.
func (r *configurations) bury(ctx context.Context, configuration *networkfabricv1.BGPConfiguration) error {
	var gone []string
	for _, speaker := range configuration.Status.Speakers {
		if speaker.Name == r.name {
			continue
		}
		l := &coordinationv1.Lease{}
		err := r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: lease.Name(speaker.Name)}, l)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read the Lease of speaker %s: %w", speaker.Name, err)
		}
		if err != nil || lease.Silent(l, lease.Memory(configuration.Spec), r.clock.Now()) {
			gone = append(gone, speaker.Name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	before := configuration.DeepCopy()
	configuration.Status.Speakers = slices.DeleteFunc(configuration.Status.Speakers,
		func(s networkfabricv1.BGPSpeaker) bool { return slices.Contains(gone, s.Name) })
	err := r.Status().Patch(ctx, configuration, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove speakers that are gone from status.speakers: %w", err)
	}
	return nil
}
