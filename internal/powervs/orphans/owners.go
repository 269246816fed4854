package orphans

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/orphans"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/image"
)

var owners = []*orphans.OwnerKind{
	{Name: "IBMPowerVSCluster", List: clusters, MayHave: func(s orphans.Stage) bool { return s > stageImage }},
	{Name: "IBMPowerVSMachine", List: machines, MayHave: func(s orphans.Stage) bool { return s < stageImage }},
	{Name: "IBMPowerVSImage", List: images, MayHave: func(s orphans.Stage) bool { return s == stageImage }},
}

func clusters(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
	list := &infrav1.IBMPowerVSClusterList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *infrav1.IBMPowerVSCluster) (orphans.Holder, bool) {
		secret := cluster.SecretOf(types.NamespacedName{})(o)
		return holder(o, o.Spec, "IBMPowerVSCluster", secret, all), true
	}), err
}

func machines(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
	list := &infrav1.IBMPowerVSMachineList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *infrav1.IBMPowerVSMachine) (orphans.Holder, bool) {
		return holder(o, o.Spec, "IBMPowerVSMachine", types.NamespacedName{}, all), true
	}), err
}

func images(ctx context.Context, c client.Reader, all orphans.Ledgers) ([]orphans.Holder, error) {
	list := &infrav1.IBMPowerVSImageList{}
	err := c.List(ctx, list)
	return orphans.Holders(list.Items, func(o *infrav1.IBMPowerVSImage) (orphans.Holder, bool) {
		return holder(o, o.Spec, "IBMPowerVSImage", image.SecretOf(o), all), true
	}), err
}

// holder logs in with the Secret that its spec names, or else that its ledger does: what it has was created with that. The default
// credentials of a manager are in another namespace, and aren't known here: they have to be named.
func holder(o ledgers.Owner, spec any, kind string, secret types.NamespacedName, all orphans.Ledgers) orphans.Holder {
	ledger := all.Of(kind, o)
	of := ledgers.SecretOf(o, ledger)
	if ledger == nil || !slices.Contains(ledger.Spec.Credentials, of.String()) {
		of.Name = ""
	}
	if secret.Name != "" {
		of = secret
	}
	return orphans.Holder{Owner: o, Spec: spec, Secret: of}
}
