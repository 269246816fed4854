package localstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"

	hydrazineconfig "github.com/bedplate/bedplate/config/hydrazine"
	hydrazineproxy "github.com/bedplate/bedplate/config/hydrazine-proxy"
	hydrazinespeaker "github.com/bedplate/bedplate/config/hydrazine-speaker"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
)

// HydrazineManager is the name of a tool.
const HydrazineManager = "hydrazine-manager"

const (
	hydrazineAgent   = "hydrazine-agent"
	hydrazineSpeaker = "hydrazine-speaker"
	hydrazineProxy   = "hydrazine-proxy"

	hydrazineNamespace = "bedplate-hydrazine-system"
	speakersNamespace  = "bedplate-hydrazine-speaker"
)

var hydrazineTools = []string{HydrazineManager, hydrazineAgent, hydrazineSpeaker, hydrazineProxy}

// StartHydrazine builds a fabric of network namespaces, installs the system hydrazine, and starts its manager, an agent on
// each DPU, and what else the topology has servers for. It needs root and what overlay.Check looks for.
func (s *Stack) StartHydrazine(ctx context.Context, topology fabric.Topology) (*overlay.Overlay, error) {
	if err := s.cfg.Tools.Require(hydrazineTools...); err != nil {
		return nil, err
	}
	var f *fabric.Fabric
	dir := filepath.Join(s.cfg.Dir, "net") // short, for the sockets in there
	if err := s.step("Fabric", func() (err error) {
		f, err = fabric.Up(ctx, dir, FabricPrefix(s.cfg.Dir), topology)
		return err
	}); err != nil {
		return nil, err
	}
	f.KeepSwitches(s.children.report)
	err := s.step("Hydrazine", func() (err error) {
		s.overlay, err = s.startOverlay(ctx, f, dir)
		return err
	})
	if err != nil {
		_ = f.Down() // the error of the start says more; CleanUp comes back to it
	}
	return s.overlay, err
}

// startOverlay starts the manager in a namespace of the fabric, where DPUs reach the OVN centrals that it starts.
func (s *Stack) startOverlay(ctx context.Context, f *fabric.Fabric, dir string) (*overlay.Overlay, error) {
	m := manager{
		tool: HydrazineManager, namespace: hydrazineNamespace, serviceAccount: "bedplate-hydrazine-manager",
		manifests: []fs.FS{
			hydrazineconfig.CRDs, hydrazineconfig.RBAC, hydrazineconfig.Webhooks, hydrazinespeaker.RBAC, hydrazineproxy.RBAC,
		}, port: 9470,
	}
	kubeconfig, server, err := s.installManager(ctx, m)
	if err != nil {
		return nil, err
	}
	speaker, proxy := filepath.Join(s.cfg.Dir, hydrazineSpeaker+".kubeconfig"), filepath.Join(s.cfg.Dir, hydrazineProxy+".kubeconfig")
	if err := errors.Join(
		s.controlPlane.WriteServiceAccountKubeconfig(speaker, speakersNamespace, "bedplate-"+hydrazineSpeaker),
		s.controlPlane.WriteServiceAccountKubeconfig(proxy, hydrazineNamespace, "bedplate-"+hydrazineProxy),
	); err != nil {
		return nil, err
	}
	api, err := url.Parse(s.AdminConfig().Host)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	address, err := netip.ParseAddrPort(api.Host)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	//nolint:gosec // ports
	webhooks := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(server.port))
	metrics := netip.AddrPortFrom(s.block.Address(254, 1), 9471)
	return overlay.Start(ctx, f, overlay.Config{
		Dir: dir, Agent: s.cfg.Tools.Path(hydrazineAgent), Manager: s.cfg.Tools.Path(HydrazineManager),
		Speaker: s.cfg.Tools.Path(hydrazineSpeaker), Proxy: s.cfg.Tools.Path(hydrazineProxy),
		APIServer: address, Kubeconfig: kubeconfig, SpeakerKubeconfig: speaker, ProxyKubeconfig: proxy,
		SpeakersNamespace: speakersNamespace, Served: []netip.AddrPort{webhooks, metrics}, Proxied: s.proxied(f.Topology()),
		Crashed: s.children.report, KeepManager: true,
		Flags: slices.Concat(server.flags(), []string{
			"--metrics-addr=" + metrics.String(), "--leader-election-namespace=" + m.namespace, "--poll-interval=1s",
			"--agent-heartbeat=1s",
		}),
	})
}

// proxied is where clients reach the proxy, where there is one.
func (s *Stack) proxied(t fabric.Topology) netip.AddrPort {
	if !slices.Contains(t.Nodes(), fabric.Proxy) {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(s.block.Address(254, 1), 9661)
}

// CleanUp removes what a stack in that folder may have left although all its processes have ended: the namespaces of a fabric.
func CleanUp(dir string) error { return fabric.Down(FabricPrefix(dir)) }

// FabricPrefix is what the names of a fabric's namespaces begin with whose stack is in that folder.
func FabricPrefix(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "lab" + hex.EncodeToString(sum[:4])
}
