package provisioner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/version"
)

const (
	cleanUpTimeout = 30 * time.Second
	headerTimeout  = 5 * time.Second
)

// Options of a provisioner, from its command line.
type Options struct {
	Config, Node, StateDir, HealthAddress, OVSDatabase string
	Interval                                           time.Duration
}

func (o *Options) addFlags(flags *pflag.FlagSet, side Side) {
	flags.StringVar(&o.Config, "config", "/etc/dpf/"+config.Key, "File with the configuration of all nodes. It may change at any time.")
	flags.StringVar(&o.Node, "node-name", os.Getenv("NODE_NAME"), "Name of this node in its cluster. Without it the environment variable NODE_NAME.")
	flags.StringVar(&o.StateDir, "state-dir", "/run/"+side.Name, "Folder for the record of what was made here. It has to outlive this program, "+
		"and must not outlive the machine's network: a reboot has to empty it.")
	flags.StringVar(&o.HealthAddress, "health-addr", "127.0.0.1:9441", "Address that /healthz and /readyz are served at. It is ready when this "+
		"node's network is as the configuration wants it; otherwise the answer says what is missing.")
	flags.DurationVar(&o.Interval, "interval", 2*time.Second, "How often the configuration is read and the network is looked at. Changes of the "+
		"network are seen at once besides.")
	if side.bridge {
		flags.StringVar(&o.OVSDatabase, "ovs-db", "unix:/run/openvswitch/db.sock", "Database of Open vSwitch.")
	}
}

func (o *Options) validate() error {
	return errors.Join(
		flagcheck.That("node-name", o.Node, len(validation.IsDNS1123Subdomain(o.Node)) == 0, "the name of a node; or set NODE_NAME"),
		flagcheck.That("state-dir", o.StateDir, filepath.IsAbs(o.StateDir), "the absolute path of a folder"),
		flagcheck.That("config", o.Config, filepath.IsAbs(o.Config), "the absolute path of a file"),
		flagcheck.That("interval", o.Interval, o.Interval >= 100*time.Millisecond && o.Interval <= time.Hour, "between 100ms and 1h"),
		flagcheck.Address("health-addr", o.HealthAddress),
	)
}

// Command is the command line of a side's provisioner.
func Command(side Side) *cobra.Command {
	var options Options
	run := func(do func(*Provisioner, context.Context) error) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, _ []string) error {
			if err := options.validate(); err != nil {
				return err
			}
			p, err := New(side, options)
			if err != nil {
				return err
			}
			return do(p, c.Context())
		}
	}
	command := &cobra.Command{
		Use: side.Name, Short: side.Short, Version: version.Get(), Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: run((*Provisioner).Run),
	}
	var stay bool
	cleanUp := &cobra.Command{
		Use: "clean-up", Short: "Takes away all that was made on this node, and ends. The provisioner itself mustn't run any more",
		Args: cobra.NoArgs, RunE: run(func(p *Provisioner, ctx context.Context) error {
			if stay {
				return p.Stay(ctx)
			}
			return p.CleanUp(ctx)
		}),
	}
	cleanUp.Flags().BoolVar(&stay, "stay", false, "Wait for the provisioner itself to end, go on until this one is ended, and be ready as long as "+
		"nothing is left.")
	command.AddCommand(cleanUp)
	command.CompletionOptions.DisableDefaultCmd = true
	options.addFlags(command.PersistentFlags(), side)
	return command
}

// lock keeps two from working on one node. The kernel gives the lock back when the process ends in any way.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for the record: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock this node: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another one runs on this node, with the same --state-dir %s: %w", dir, err)
	}
	return func() { _ = file.Close() }, nil
}

// listen serves what probes ask.
func (p *Provisioner) listen(ctx context.Context) (*http.Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.options.HealthAddress)
	if err != nil {
		return nil, fmt.Errorf("serve health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		p.mutex.Lock()
		err := p.problem
		p.mutex.Unlock()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.ErrorContext(ctx, "Health isn't served any more", "error", err)
		}
	}()
	return server, nil
}
