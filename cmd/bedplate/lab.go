//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/hydrazine/topology/drawing"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

const refreshInterval = time.Second

func labCommand(all catalogue) *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "Run a management cluster with simulated machines on this computer",
		Long: `A lab is a real management cluster made of plain processes: etcd, kube-apiserver, Cluster API's managers and
Bedplate's, on loopback addresses, without containers. Only the infrastructure is simulated: the cloud's API, and machines
that boot the user data they get into real workload clusters. It has examples of these systems: ` + all.String() + `.

The programs it needs are built by "make tools". They are looked for in --tools, $BEDPLATE_TOOLS, then ./bin.`,
	}
	command.AddCommand(labUpCommand(all), labDownCommand(), simulateCommand(all), superviseCommand())
	return command
}

func labUpCommand(all catalogue) *cobra.Command {
	var o lab.Options
	var toolsFlag, output string
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a lab, create an example's cluster and wait until its nodes are ready",
		Long: `Starts a lab in the background, creates what is in an example, and shows the progress until the nodes are ready. Then it prints how
to look around, and leaves the lab running until "bedplate lab down".

If something fails, or on Ctrl-C, everything is taken down: no process and no file stays.`,
		Example: `  # A cluster with one control plane machine and two workers, on simulated NVIDIA bare metal
  bedplate lab up --example bmm

  # Three control plane machines: three etcd members, three API servers, one virtual address
  bedplate lab up --example bmm --control-planes 3

  # Only the management cluster, to apply YAML of your own
  bedplate lab up

  # A cluster on Power Virtual Server, behind a load balancer of a simulated account of IBM Cloud
  bedplate lab up --example powervs

  # A cluster on the better of two clouds, made by a simulated infrastructure manager
  bedplate lab up --example krake

  # DPF on an OpenShift cluster, whose workers' networks move onto their DPUs one after the other
  bedplate lab up --example dpf

  # OpenShift's Machine API: a Machine and a MachineSet that become instances
  bedplate lab up --example openshift-machines

  # Three tenants' networks over six DPUs, with real OVN and real packets; as root, after "make lab-deps"
  sudo bedplate lab up --example hydrazine

  # For scripts: one JSON object per line, the last one says how to reach the clusters
  bedplate lab up --example bmm -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := labTools(toolsFlag, o.Example)
			if err != nil {
				return err
			}
			o.Tools = string(dir)
			return labUp(cmd.Context(), cmd.OutOrStdout(), all, o, output)
		},
	}
	addDirFlag(command, &o.Dir)
	addToolsFlag(command, &toolsFlag)
	flags := command.Flags()
	flags.StringVar(&o.Example, "example", "", "create what is in this example: "+strings.Join(all.examples(), ", "))
	flags.IntVar(&o.ControlPlanes, "control-planes", 1, "control plane machines of the example's cluster")
	flags.IntVar(&o.Workers, "workers", 2, "worker machines of the example")
	flags.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "give up after this time")
	addOutputFlag(command, &output, "text", "json")
	return command
}

// labTools finds the tools, all that the example needs, before anything is started.
func labTools(flag, example string) (tools.Dir, error) {
	dir, err := tools.Find(flag)
	if err != nil {
		return "", err
	}
	return dir, dir.Require(lab.Tools(example)...)
}

func labUp(ctx context.Context, out io.Writer, all catalogue, o lab.Options, output string) error {
	if err := checkExample(all, o.Example); err != nil {
		return err
	}
	if o.ControlPlanes < 1 || o.ControlPlanes%2 == 0 {
		return fmt.Errorf("--control-planes must be an odd number: etcd needs a majority of its members")
	}
	if o.Workers < 0 {
		return fmt.Errorf("--workers can't be negative")
	}
	began := time.Now()
	show, stop := refreshed(reporter(out, output))
	running, err := lab.Up(ctx, o, show)
	stop()
	if err != nil || output == "json" {
		return err
	}
	if err := printLab(out, running, o.Tools, time.Since(began)); err != nil || running.Overlay == nil {
		return err
	}
	return printOverlay(ctx, out, running)
}

// checkExample refuses an example that no system has, or that can't run on this computer.
func checkExample(all catalogue, name string) error {
	if name == "" {
		return nil
	}
	of := all.with(func(s system) bool { return slices.Contains(s.examples, name) })
	if len(of) == 0 {
		return fmt.Errorf("no example %q: there are %s", name, strings.Join(all.examples(), ", "))
	}
	if of[0].canRun == nil {
		return nil
	}
	if err := of[0].canRun(); err != nil {
		return fmt.Errorf("the example %s can't run here (see \"make lab-deps\"): %w", name, err)
	}
	return nil
}

func canRunOverlay() error { return overlay.Check() }

func reporter(out io.Writer, output string) lab.Reporter {
	if output == "json" {
		return lab.JSONReporter(out)
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return lab.TerminalReporter(out, width)
		}
	}
	return lab.PlainReporter(out)
}

// refreshed lets the reporter's clocks run between events. Call stop when there are no more events.
func refreshed(r lab.Reporter) (show func(lab.Event), stop func()) {
	var mu sync.Mutex
	var running sync.WaitGroup
	done := make(chan struct{})
	running.Go(func() {
		ticker := time.NewTicker(refreshInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				mu.Lock()
				r.Refresh()
				mu.Unlock()
			}
		}
	})
	show = func(e lab.Event) {
		mu.Lock()
		defer mu.Unlock()
		r.Show(e)
	}
	return show, func() { close(done); running.Wait() }
}

func printLab(out io.Writer, l *lab.Lab, toolDir string, took time.Duration) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\nThe lab is up after %.0f s. Look around:\n\n", took.Seconds())
	fmt.Fprintf(&text, "  export PATH=%s:$PATH KUBECONFIG=%s\n", toolDir, l.Kubeconfig)
	if c := l.Cluster; c != nil {
		describe, list := "cluster", "clusters,machines"
		if c.System != "" {
			describe, list = c.System, "krc,clouds"
		}
		fmt.Fprintf(&text, "  bedplate describe %s %s\n", describe, c.Name)
		fmt.Fprintf(&text, "  kubectl get %s\n", list)
		fmt.Fprintf(&text, "  kubectl --kubeconfig %s get nodes\n", c.Kubeconfig)
	}
	if l.DPUKubeconfig != "" {
		fmt.Fprintf(&text, "  kubectl -n dpf-operator-system get dpfoperatorconfig,dpuservices\n")
		fmt.Fprintf(&text, "  kubectl get nodes --selector dpf.nvidia.com/network-moved\n")
		fmt.Fprintf(&text, "  kubectl -n openshift-ovn-kubernetes get pods -o wide\n")
		fmt.Fprintf(&text, "  kubectl --kubeconfig %s -n dpf-operator-system get pods -o wide\n", l.DPUKubeconfig)
	}
	if l.MachineNamespace != "" {
		fmt.Fprintf(&text, "  kubectl -n %s get machinesets,machines\n", l.MachineNamespace)
	}
	if n := l.Overlay; n != nil {
		fmt.Fprintf(&text, "  kubectl get resourcegroups,managedresources\n")
		fmt.Fprintf(&text, "  bedplate topology %s -o svg > %s.svg\n", n.Groups[0], n.Groups[0])
		fmt.Fprintf(&text, "  ip netns exec %s-%s ping %s\n", n.Prefix, n.Traffic[0].From, n.Traffic[0].Address)
		fmt.Fprintf(&text, "  PROXY=%s TENANT=%q OPERATOR=%q\n", n.Proxy.Address, grpcurl(n.Proxy.Tenant), grpcurl(n.Proxy.Operator))
	}
	if l.Simulator != "" {
		fmt.Fprintf(&text, "  curl %s/simulator/state\n", l.Simulator)
	}
	fmt.Fprintf(&text, "\nLogs are below %s. The end: bedplate lab down%s\n", l.Dir, dirArgument(l.Dir))
	_, err := io.WriteString(out, text.String())
	return err
}

// grpcurl takes these flags from a client of the proxy's with the certificate in a folder.
func grpcurl(dir string) string {
	return fmt.Sprintf("-cacert %[1]s/ca.crt -cert %[1]s/tls.crt -key %[1]s/tls.key", dir)
}

// printOverlay shows where packets go, and the networks.
func printOverlay(ctx context.Context, out io.Writer, l *lab.Lab) error {
	_, _ = fmt.Fprintln(out)
	if err := overlay.Table(out, l.Overlay.Traffic); err != nil {
		return err
	}
	c, _, err := (&management{kubeconfig: l.Kubeconfig, systems: catalogue{hydrazineSystem}}).connect()
	if err != nil {
		return err
	}
	for _, group := range l.Overlay.Groups {
		_, _ = fmt.Fprintln(out)
		t, err := topologyOf(ctx, c, client.ObjectKey{Namespace: l.Overlay.Namespace, Name: group})
		if err != nil {
			return err
		}
		if err := drawing.Text(out, t); err != nil {
			return err
		}
	}
	return nil
}

// dirArgument repeats the folder where it isn't the default.
func dirArgument(dir string) string {
	if dir == lab.DefaultDir() {
		return ""
	}
	return " --dir " + dir
}

func labDownCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "down",
		Short: "End a lab and remove everything it left",
		Long: `Ends the lab in the folder, waits until all its processes have ended, and removes the folder. It reports what crashed
meanwhile, and also cleans up after a lab that was killed. If there is no lab, it does nothing. If the folder has files that
no lab makes, it leaves them there and fails.`,
		Example: `  bedplate lab down
  bedplate lab down --dir /tmp/my-lab`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			crashes := lab.Crashes(dir)
			found, err := lab.Down(cmd.Context(), dir)
			if err != nil && !found {
				return err
			}
			return errors.Join(printDown(cmd.OutOrStdout(), dir, found, crashes), err)
		},
	}
	addDirFlag(command, &dir)
	return command
}

func printDown(out io.Writer, dir string, found bool, crashes string) error {
	message := "There is no lab in " + dir
	if found {
		message = "The lab in " + dir + " is gone"
	}
	if crashes != "" {
		message += ". While it ran, this crashed:\n" + crashes
	}
	_, err := fmt.Fprintln(out, message)
	return err
}

// superviseCommand is how "lab up" starts the process that owns a lab.
func superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    lab.SuperviseArg + " DIR",
		Short:  "Own a lab: for \"lab up\" only",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return lab.Supervise(cmd.Context(), args[0], slog.New(slog.NewTextHandler(os.Stderr, nil)))
		},
	}
}

func addDirFlag(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", lab.DefaultDir(), "folder for all files of the lab; removed at its end")
}

func addToolsFlag(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "tools", "", "folder with the programs built by \"make tools\" (default $BEDPLATE_TOOLS, then ./bin)")
}
