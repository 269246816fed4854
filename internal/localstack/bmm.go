package localstack

import (
	"context"
	"crypto/rand"
	_ "embed" // for the simulator's world
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	bmmconfig "github.com/bedplate/bedplate/config/bmm"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// BMMManager is the name of a child, for Kill and Restart; also the tool's name.
const BMMManager = "bmm-manager"

const simulatorPort = 8080

// StartBMM installs the system bmm and starts its simulator and its manager.
func (s *Stack) StartBMM(ctx context.Context) (*BMM, error) {
	bmm := newBMM(s.block)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.startBMMSimulator(groupCtx, bmm) })
	group.Go(func() error { return s.StartBMMManager(groupCtx) })
	return bmm, group.Wait()
}

func (s *Stack) startBMMSimulator(ctx context.Context, bmm *BMM) error {
	config := filepath.Join(s.cfg.Dir, "bmm.yaml")
	if err := bmm.writeWorld(config); err != nil {
		return err
	}
	return s.step("BMM simulator", func() error {
		return s.start(ctx, process.Command{
			Name: "bmm-simulator", Path: s.cfg.Bedplate,
			Args: []string{
				"lab", "simulate", "bmm",
				"--config=" + config,
				"--listen=" + strings.TrimPrefix(bmm.URL, "http://"),
				"--dir=" + filepath.Join(s.cfg.Dir, "machines"),
				"--tools=" + string(s.cfg.Tools),
			},
		}, answersOK(bmm.URL+"/simulator/state"))
	})
}

// StartBMMManager installs the system bmm and starts its manager, for clusters at another stack's simulator.
func (s *Stack) StartBMMManager(ctx context.Context) error {
	if err := s.cfg.Tools.Require(BMMManager); err != nil {
		return err
	}
	return s.step("BMM provider", func() error {
		return s.startManager(ctx, manager{
			tool: BMMManager, namespace: "bedplate-bmm-system", serviceAccount: "bedplate-bmm-manager",
			manifests: []fs.FS{bmmconfig.CRDs, bmmconfig.RBAC, bmmconfig.Webhooks}, port: 9450,
		})
	})
}

// BMM is a running simulator of one site with free machines, as its tenant sees it. All IDs are the lab's own.
type BMM struct {
	URL               string // of the API and, below /simulator, of the simulator's own switches
	Org               string
	Token             string // a secret
	TenantID          string
	SiteID            string
	IPBlockID         string
	InstanceTypeID    string
	OperatingSystemID string // any: the simulated machines boot no image

	// The networks of OpenShift's machines; empty if Cluster API makes them.
	VPCID      string
	SubnetName string

	Machines netip.Prefix   // the IP block
	Endpoint netip.AddrPort // outside the IP block, for a cluster's control plane
}

func newBMM(block *loopback.Block) *BMM {
	return &BMM{
		URL:               "http://" + netip.AddrPortFrom(block.Address(254, 2), simulatorPort).String(),
		Org:               "lab",
		Token:             rand.Text(),
		TenantID:          uuid.NewString(),
		SiteID:            uuid.NewString(),
		IPBlockID:         uuid.NewString(),
		InstanceTypeID:    uuid.NewString(),
		OperatingSystemID: uuid.NewString(),
		Machines:          block.Machines(),
		Endpoint:          netip.AddrPortFrom(block.Address(255, 1), controlplane.APIPort),
	}
}

// Variables returns the values of the examples' variables that depend on the site.
func (b *BMM) Variables() map[string]string {
	return map[string]string{
		"CONTROL_PLANE_ENDPOINT_HOST": b.Endpoint.Addr().String(),
		"CONTROL_PLANE_ENDPOINT_PORT": strconv.Itoa(int(b.Endpoint.Port())),
		"BMM_ENDPOINT":                b.URL,
		"BMM_ORG":                     b.Org,
		"BMM_TOKEN":                   b.Token,
		"BMM_SITE_ID":                 b.SiteID,
		"BMM_TENANT_ID":               b.TenantID,
		"BMM_INSTANCE_TYPE_ID":        b.InstanceTypeID,
		"BMM_IP_BLOCK_ID":             b.IPBlockID,
		"BMM_OPERATING_SYSTEM_ID":     b.OperatingSystemID,
		"BMM_VPC_ID":                  b.VPCID,
		"BMM_SUBNET_NAME":             b.SubnetName,
	}
}

//go:embed bmm-world.yaml
var bmmWorld string

// writeWorld writes the simulator's configuration. It holds the token: other users can't read it.
func (b *BMM) writeWorld(path string) error {
	world, err := template.New("bmm-world.yaml").Parse(bmmWorld)
	if err != nil {
		return fmt.Errorf("write the simulator's world: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the simulator's world: %w", err)
	}
	if err := errors.Join(world.Execute(file, b), file.Close()); err != nil {
		return fmt.Errorf("write the simulator's world: %w", err)
	}
	return nil
}
