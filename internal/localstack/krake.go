package localstack

import (
	"context"
	"crypto/rand"
	"io/fs"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"

	krakeconfig "github.com/bedplate/bedplate/config/krake"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/workload"
)

// KrakeManager is the name of a child, for Kill and Restart; also the tool's name.
const KrakeManager = "krake-manager"

const krakeNamespace = "bedplate-krake-system"

// KrakeTools are those of a stack with the system krake.
func KrakeTools() []string {
	return slices.Concat(controlplane.Tools, workload.Tools, []string{KrakeManager})
}

// Krake is a running simulator of an infrastructure manager, as who may use it sees it.
type Krake struct {
	URL                string // of IM and, below /simulator, of the simulator's own switches
	Username, Password string // the password is a secret
}

// world is the simulator's configuration.
func (k *Krake) world() map[string]any {
	return map[string]any{
		"users": map[string]string{k.Username: k.Password},
		"speed": 60, // a minute per second
	}
}

// Variables returns the values of the example's variables that depend on the infrastructure manager.
func (k *Krake) Variables() map[string]string {
	return map[string]string{
		"IM_URL": k.URL, "IM_USERNAME": k.Username, "IM_PASSWORD": k.Password,
		"OPENSTACK_USERNAME": "krake", "OPENSTACK_PASSWORD": rand.Text(),
		"EC2_ACCESS_KEY_ID": "krake", "EC2_SECRET_ACCESS_KEY": rand.Text(),
	}
}

// StartKrake installs the system krake and starts its simulator and its manager.
func (s *Stack) StartKrake(ctx context.Context) (*Krake, error) {
	if err := s.cfg.Tools.Require(KrakeTools()...); err != nil {
		return nil, err
	}
	k := &Krake{
		URL: "http://" + netip.AddrPortFrom(s.block.Address(254, 3), simulatorPort).String(), Username: "krake", Password: rand.Text(),
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.step("IM simulator", func() error { return s.startSimulator(groupCtx, "im", k.URL, k.world()) })
	})
	group.Go(func() error {
		return s.step("Krake", func() error {
			return s.startManager(groupCtx, manager{
				tool: KrakeManager, namespace: krakeNamespace, serviceAccount: "bedplate-krake-manager",
				manifests: []fs.FS{krakeconfig.CRDs, krakeconfig.RBAC, krakeconfig.Webhooks}, port: 9500,
				flags: []string{"--observe-interval=1s", "--tosca-imports=https://raw.githubusercontent.com/grycap/tosca/"},
			})
		})
	})
	return k, group.Wait()
}
