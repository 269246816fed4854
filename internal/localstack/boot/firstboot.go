package boot

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/bedplate/bedplate/internal/localstack/boot/cloudinit"
	"github.com/bedplate/bedplate/internal/localstack/boot/ignition"
	"github.com/bedplate/bedplate/internal/localstack/boot/kubeadm"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
)

// boot does what the user data says and returns when the machine's Node is Ready.
func (m *machine) boot(ctx context.Context) error {
	if len(m.UserData) == 0 {
		m.console.Info("no user data: nothing to do")
		return nil
	}
	config, err := m.config(ctx)
	if err != nil || config == nil {
		return err
	}
	disk, err := os.OpenRoot(m.path(diskFolder))
	if err != nil {
		return fmt.Errorf("open the disk: %w", err)
	}
	defer disk.Close()

	for i := range config.BootCommands {
		m.console.Info("command not executed", "list", "bootcmd", "index", i)
	}
	for _, file := range config.Files {
		if err := file.Write(disk); err != nil {
			return err
		}
	}
	return m.runCommands(ctx, disk, config.RunCommands)
}

// config is what the user data asks for; nil for nothing.
func (m *machine) config(ctx context.Context) (*cloudinit.Config, error) {
	switch {
	case !ignition.Is(m.UserData):
		return cloudinit.Parse(m.UserData, m.Metadata)
	case !m.rack.config.Ignition:
		m.console.Info("Ignition: nothing to do, a lab has no machine config server")
		return nil, nil
	}
	return ignition.Parse(ctx, m.UserData)
}

// runCommands executes the first call of kubeadm. Other commands can't run here; they may hold secrets, so the log has
// only their number.
func (m *machine) runCommands(ctx context.Context, disk *os.Root, lines []string) error {
	ran := false
	for i, line := range lines {
		command, ok := kubeadm.FindCommand(line)
		if !ok || ran {
			m.console.Info("command not executed", "list", "runcmd", "index", i)
			continue
		}
		ran = true
		if err := m.kubeadm(ctx, disk, command); err != nil {
			return fmt.Errorf("kubeadm %s: %w", command.Verb, err)
		}
	}
	if !ran {
		return errors.New("runcmd calls neither kubeadm init nor kubeadm join")
	}
	return nil
}

func (m *machine) kubeadm(ctx context.Context, disk *os.Root, command kubeadm.Command) error {
	if command.Config == "" {
		return errors.New("no --config file is given")
	}
	data, err := disk.ReadFile(cloudinit.OnDisk(command.Config))
	if err != nil {
		return fmt.Errorf("read the --config file: %w", err)
	}
	host := kubeadm.Host{
		Hostname: m.Hostname, Address: m.Address, Disk: m.path(diskFolder), State: m.path(stateFolder),
		Tools: m.rack.config.Tools, Console: m.console,
	}
	node, err := m.runKubeadm(ctx, host, command.Verb, data)
	if err != nil {
		return err
	}
	m.atPowerOff = append(m.atPowerOff, node.Stop)
	m.watch(ctx, node.Processes)
	if node.ControlPlane != nil {
		if err := m.runCloudController(ctx, node.ControlPlane); err != nil {
			return err
		}
	}
	if command.Sentinel == "" {
		return nil
	}
	return cloudinit.File{Path: command.Sentinel, Content: []byte("success\n"), Mode: 0o644}.Write(disk)
}

func (m *machine) runKubeadm(ctx context.Context, host kubeadm.Host, verb kubeadm.Verb, data []byte) (*kubeadm.Node, error) {
	if verb == kubeadm.VerbJoin {
		return m.join(ctx, host, data)
	}
	config, err := kubeadm.ParseInit(data)
	if err != nil {
		return nil, err
	}
	endpoint, ok, err := config.Endpoint()
	if err != nil {
		return nil, err
	}
	if ok {
		if err := m.serve(endpoint, m.rack.createEndpoint); err != nil {
			return nil, err
		}
	}
	return kubeadm.Init(ctx, host, config)
}

func (m *machine) join(ctx context.Context, host kubeadm.Host, data []byte) (*kubeadm.Node, error) {
	config, err := kubeadm.ParseJoin(data)
	if err != nil {
		return nil, err
	}
	if config.ControlPlane != nil {
		endpoint, err := kubeadm.ParseEndpoint(config.Discovery.BootstrapToken.APIServerEndpoint)
		if err != nil {
			return nil, fmt.Errorf("apiServerEndpoint: %w", err)
		}
		if err := m.serve(endpoint, m.rack.joinEndpoint); err != nil {
			return nil, err
		}
	}
	return kubeadm.Join(ctx, host, config)
}

// serve puts this machine behind the virtual address of its cluster until it is switched off, unless a load balancer is there.
func (m *machine) serve(endpoint netip.AddrPort, add func(endpoint, backend netip.AddrPort) error) error {
	if m.rack.config.Balanced {
		return nil
	}
	backend := netip.AddrPortFrom(m.Address, controlplane.APIPort)
	if err := add(endpoint, backend); err != nil {
		return err
	}
	m.atPowerOff = append(m.atPowerOff, func() { m.rack.leaveEndpoint(endpoint, backend) })
	return nil
}
