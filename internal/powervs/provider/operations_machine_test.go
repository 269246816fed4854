package provider_test

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/bedplate/bedplate/internal/optest"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func TestOperations_machine(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := plain(t)
			return f.World(f.NewMachine(func(*clusterv1.Machine) {}, "demo", "worker-1", cloudConfig))
		},
		Written: []string{"providerID"},
		Values: map[string][]any{
			"serviceInstanceID": {powervstest.WorkspaceID}, "serviceInstance.id": {powervstest.WorkspaceID}, "serviceInstance.name": {"shared"},
			"image.id": {powervstest.ImageID}, "image.name": {powervstest.ImageName}, "sshKey": {sim.DefaultSSHKey},
			"network.id": {powervstest.NetworkID}, "network.name": {"nodes"}, "network.regex": {"^no"},
			"systemType": {"s1022", "e980"}, "processors": {int64(1), "0.5", "2"},
		},
	}.Run(t)
}

func TestOperations_image(t *testing.T) {
	t.Parallel()
	optest.Suite{
		New: func(t *testing.T) *optest.World {
			f := plain(t)
			f.Create(f.Secret("another"))
			return f.World(f.NewImage("demo", "imported"))
		},
		Values: map[string][]any{
			"authentication.secretRef.name": {"demo", "another"}, "clusterName": {"demo"}, "region": {powervstest.Region},
			"serviceInstanceID": {powervstest.WorkspaceID}, "serviceInstance.id": {powervstest.WorkspaceID}, "serviceInstance.name": {"shared"},
			"bucket": {"images", "images/folder"}, "object": {"imported.ova.gz", "other.qcow2"}, "storageType": {"tier0", "tier3"},
		},
		Except: []string{"deletePolicy"}, // what is retained isn't gone with its object
	}.Run(t)
}
