package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

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
	// TLS is how the agent speaks to the controller; ControllerName is the name in the certificate of that one.
	TLS            mtls.Files
	ControllerName string

	OVSDatabase   string
	OVSRunDir     string
	VswitchdCtl   string
	OVNRunDir     string
	OVNLogDir     string
	OVNController string
}

// Datapaths of Open vSwitch: in the kernel or the hardware, and in userspace.
const (
	systemDatapath    = "system"
	userspaceDatapath = "netdev"
)

// DefaultPort is where agents listen.
const DefaultPort = 9660

// AddFlags adds the options to a command line.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", fmt.Sprintf(":%d", DefaultPort), "Address that the controller calls the agent at.")
	o.TLS.AddFlags(flags)
	flags.StringVar(&o.ControllerName, "controller-name", "hydrazine-manager", "Who may drive the agent: the name (DNS name or "+
		"common name) in the controller's certificate.")
	flags.StringVar(&o.MetricsAddress, "metrics-addr", "127.0.0.1:9661", "Address that /metrics and /healthz are served at, "+
		"unprotected. An empty one turns them off.")
	flags.StringVar(&o.StateDir, "state-dir", "/var/lib/hydrazine-agent", "Folder for what outlives the agent.")
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
	flags.StringVar(&o.VswitchdCtl, "ovs-vswitchd-ctl", "", "Control socket of ovs-vswitchd. Without it it is found by its pid "+
		"file.")
	flags.StringVar(&o.OVNRunDir, "ovn-rundir", "/run/ovn", "Folder for ovn-controller's pid file and socket.")
	flags.StringVar(&o.OVNLogDir, "ovn-logdir", "/var/log/ovn", "Folder for ovn-controller's log.")
	flags.StringVar(&o.OVNController, "ovn-controller", "ovn-controller", "The program ovn-controller.")
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	var problems []error
	if len(o.Uplinks) == 0 {
		problems = append(problems, errors.New("--uplink: name at least one interface to the fabric"))
	}
	if o.LACP && len(o.Uplinks) < 2 {
		problems = append(problems, errors.New("--lacp: needs several uplinks"))
	}
	if o.DatapathType != systemDatapath && o.DatapathType != userspaceDatapath {
		problems = append(problems, fmt.Errorf("--datapath: %q is neither %s nor %s", o.DatapathType, systemDatapath,
			userspaceDatapath))
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
