package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/mtls"
)

// Options of the agent, from its command line.
type Options struct {
	Listen         string
	MetricsAddress string
	StateDir       string
	Uplinks        []string
	LACP           bool
	HostPorts      []string // patterns of names
	Chassis        string
	DatapathType   string
	MinMTU         int
	// TLS is for the connections of the controller; ControllerName is the name in its certificate.
	TLS            mtls.Files
	ControllerName string

	OVSDatabase   string
	OVSRunDir     string
	VswitchdCtl   string
	OVNRunDir     string
	OVNLogDir     string
	OVNController string
	OVNUnit       string
}

// Datapaths of Open vSwitch: in the kernel or the hardware, and in userspace.
const (
	systemDatapath    = "system"
	userspaceDatapath = "netdev"
)

// Bounds of --min-mtu: what each network carries, and the maximum length of a packet.
const minMinMTU, maxMinMTU = 576, 65535

// DefaultPort is where agents listen.
const DefaultPort = 9660

// AddFlags adds the options to a command line.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", "", fmt.Sprintf("Address that the agent listens on for the manager. If empty, port %d of all "+
		"addresses of the uplink, and of no other interface.", DefaultPort))
	o.TLS.AddFlags(flags)
	flags.StringVar(&o.ControllerName, "controller-name", "hydrazine-manager", "Name of the manager that may call the agent (DNS name or "+
		"common name in its certificate).")
	flags.StringVar(&o.MetricsAddress, "metrics-addr", "127.0.0.1:9661", "Address that /metrics and /healthz are served at, "+
		"unprotected. An empty one turns them off.")
	flags.StringVar(&o.StateDir, "state-dir", "/var/lib/hydrazine-agent", "Folder for state that survives restarts of the agent.")
	flags.StringSliceVar(&o.Uplinks, "uplink", nil, "Interface to the fabric, such as p0. Repeat it for several, bonded ones.")
	flags.BoolVar(&o.LACP, "lacp", false, "Several uplinks are one aggregated link of the switch's (LACP). Without it one "+
		"carries all traffic and the others stand by.")
	flags.StringSliceVar(&o.HostPorts, "host-port", []string{"pf*hpf"}, "Interface to a host, or a pattern. Repeatable.")
	flags.StringVar(&o.Chassis, "chassis", "", "The DPU's name in OVN, unique among all DPUs. Without it the system-id that "+
		"Open vSwitch has, or else the host name.")
	flags.StringVar(&o.DatapathType, "datapath", systemDatapath, "Datapath of Open vSwitch: system or netdev.")
	flags.IntVar(&o.MinMTU, "min-mtu", 1280, "Report a problem when packets of so many bytes don't fit through a tunnel.")
	flags.StringVar(&o.OVSDatabase, "ovs-db", "unix:/run/openvswitch/db.sock", "Database of Open vSwitch.")
	flags.StringVar(&o.OVSRunDir, "ovs-rundir", "/run/openvswitch", "Folder with Open vSwitch's pid files and sockets.")
	flags.StringVar(&o.VswitchdCtl, "ovs-vswitchd-ctl", "", "Control socket of ovs-vswitchd. If empty, it is derived from the pid "+
		"file.")
	flags.StringVar(&o.OVNRunDir, "ovn-rundir", "/run/ovn", "Folder for ovn-controller's pid file and socket.")
	flags.StringVar(&o.OVNLogDir, "ovn-logdir", "/var/log/ovn", "Folder for ovn-controller's log.")
	flags.StringVar(&o.OVNController, "ovn-controller", "ovn-controller", "The program ovn-controller.")
	flags.StringVar(&o.OVNUnit, "ovn-controller-unit", "", "Unit of systemd that runs ovn-controller in a cgroup of its own. Without it the "+
		"agent does, in its own.")
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	problems := []error{
		flagcheck.That("listen", o.Listen, o.Listen == "" || flagcheck.Address("", o.Listen) == nil,
			"HOST:PORT or :PORT, or nothing for the uplink's addresses"),
		flagcheck.Address("metrics-addr", o.MetricsAddress, ""),
		// Otherwise a certificate without a name could control the agent.
		flagcheck.That("controller-name", o.ControllerName, o.ControllerName != "", "the name in the controller's certificate"),
		// The agent and the timer that stands in for it have to find the same leases, whatever their working directory.
		flagcheck.That("state-dir", o.StateDir, filepath.IsAbs(o.StateDir), "the absolute path of a folder"),
		flagcheck.That("uplink", strings.Join(o.Uplinks, ","), len(o.Uplinks) > 0, "at least one interface to the fabric"),
		flagcheck.That("lacp", o.LACP, !o.LACP || len(o.Uplinks) > 1, "false where there is one --uplink"),
		flagcheck.That("datapath", o.DatapathType, o.DatapathType == systemDatapath || o.DatapathType == userspaceDatapath,
			systemDatapath+" or "+userspaceDatapath),
		flagcheck.That("host-port", strings.Join(o.HostPorts, ","), len(o.HostPorts) > 0, "at least one interface to a host"),
		flagcheck.That("min-mtu", o.MinMTU, o.MinMTU >= minMinMTU && o.MinMTU <= maxMinMTU,
			fmt.Sprintf("at least %d and at most %d", minMinMTU, maxMinMTU)),
	}
	for _, pattern := range o.HostPorts {
		if _, err := filepath.Match(pattern, ""); err != nil {
			problems = append(problems, fmt.Errorf("--host-port: %q: %w", pattern, err))
		}
		for _, uplink := range o.Uplinks {
			if ok, _ := filepath.Match(pattern, uplink); ok {
				problems = append(problems, fmt.Errorf("--host-port: %q is the uplink %s too", pattern, uplink))
			}
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(o.Uplinks)))) != len(o.Uplinks) {
		problems = append(problems, errors.New("--uplink: an interface is named twice"))
	}
	return errors.Join(problems...)
}
