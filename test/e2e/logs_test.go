package e2e

import (
	"context"
	"os"
	"path"
	"path/filepath"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// consoles collects the console logs of a cluster's machines before they are switched off.
type consoles struct{ machines string } // the folder with one folder for each machine

func (c consoles) CollectMachineLog(_ context.Context, _ client.Client, machine *clusterv1.Machine, folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	log, err := os.ReadFile(filepath.Join(c.machines, path.Base(machine.Spec.ProviderID), "console.log"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "console.log"), log, 0o600)
}

// CollectMachinePoolLog has nothing to do: there are no pools of machines.
func (consoles) CollectMachinePoolLog(context.Context, client.Client, *clusterv1.MachinePool, string) error {
	return nil
}

// CollectInfrastructureLogs has nothing to do: the simulator's log is beside those of the managers.
func (consoles) CollectInfrastructureLogs(context.Context, client.Client, *clusterv1.Cluster, string) error {
	return nil
}
