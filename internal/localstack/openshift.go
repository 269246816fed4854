package localstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	machinecontrollerconfig "github.com/bedplate/bedplate/config/bmm-machine-controller"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

// BMMMachineController is the name of a child, for Kill and Restart; also the tool's name.
const BMMMachineController = "bmm-machine-controller"

// MachineNamespace is where OpenShift has its Machines.
const MachineNamespace = "openshift-machine-api"

// machineAPI are OpenShift's CRDs of the Machine API, beside the tools.
var machineAPI = filepath.Join("manifests", "machine-api.yaml")

func openshiftTools() []string { return []string{BMMMachineController, machineAPI} }

// StartMachineAPI makes the management cluster one of OpenShift's as far as machines go: with the Machine API, and with the
// machine controller for the simulated site. Its other controllers are OpenShift's own business: see the package machineset.
func (s *Stack) StartMachineAPI(ctx context.Context) (*BMM, error) {
	if err := s.cfg.Tools.Require(openshiftTools()...); err != nil {
		return nil, err
	}
	bmm := newBMM(s.block)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.startBMMSimulator(groupCtx, bmm); err != nil {
			return err
		}
		return bmm.makeNetwork(groupCtx)
	})
	group.Go(func() error {
		return s.step("Machine controller", func() error { return s.startMachineController(groupCtx) })
	})
	return bmm, group.Wait()
}

func (s *Stack) startMachineController(ctx context.Context) error {
	if err := s.installKinds(ctx, machineAPI); err != nil {
		return err
	}
	return s.startManager(ctx, manager{
		tool: BMMMachineController, namespace: MachineNamespace, serviceAccount: "bedplate-bmm-machine-controller",
		manifests: []fs.FS{machinecontrollerconfig.CRDs, machinecontrollerconfig.RBAC, machinecontrollerconfig.Webhooks}, port: 9460,
		flags: []string{"--namespace=" + MachineNamespace}, // its rights end there
	})
}

// installKinds installs CRDs of OpenShift's, beside the tools.
func (s *Stack) installKinds(ctx context.Context, file string) error {
	data, err := os.ReadFile(s.cfg.Tools.Path(file))
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	crds, err := manifest.Decode(data)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return s.install(ctx, crds)
}

// makeNetwork makes a VPC and a subnet as a user of the tenant does by hand: machines are put into existing networks.
func (b *BMM) makeNetwork(ctx context.Context) error {
	var err error
	b.VPCID, err = b.make(ctx, "vpc", map[string]any{
		"name": "openshift", "siteId": b.SiteID, "networkVirtualizationType": "ETHERNET_VIRTUALIZER",
	})
	if err != nil {
		return err
	}
	b.SubnetName = "nodes"
	_, err = b.make(ctx, "subnet", map[string]any{
		"name": b.SubnetName, "vpcId": b.VPCID, "ipv4BlockId": b.IPBlockID, "prefixLength": 24,
	})
	return err
}

// make makes an object in the simulator, and returns its ID.
func (b *BMM) make(ctx context.Context, kind string, request any) (string, error) {
	body, err := json.Marshal(map[string]any{"kind": kind, "request": request})
	if err != nil {
		return "", fmt.Errorf("make a %s: %w", kind, err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+"/simulator/objects", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("make a %s: %w", kind, err)
	}
	response, err := http.DefaultClient.Do(post)
	if err != nil {
		return "", fmt.Errorf("make a %s: %w", kind, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("make a %s: %w", kind, err)
	}
	var made struct{ ID string }
	if err := json.Unmarshal(answer, &made); err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("make a %s: the simulator answers %s: %s", kind, response.Status, answer)
	}
	return made.ID, nil
}
