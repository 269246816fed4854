// Package cloudcontroller runs a cluster's cloud controller manager on a control plane machine, as soon as there is a
// DaemonSet of it, and as that DaemonSet says. It stands for the scheduler, the kubelet and the container of this one pod:
// the program, its rights, its flags and the files that are mounted for it are those of the cluster.
package cloudcontroller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Tool is the program, and the name of its DaemonSet in kube-system.
const Tool = "bmm-cloud-controller-manager"

const (
	syncInterval = time.Second // a kubelet takes up to a minute to notice a Secret that has changed
	restartAfter = 5 * time.Second
)

// Config describes the machine.
type Config struct {
	Client  kubernetes.Interface // an administrator's
	Address netip.Addr           // of the machine: the pod uses the host's network
	Volumes string               // folder for the files that are mounted for the pod
	State   string               // folder for its kubeconfig and log
	Tools   tools.Dir
	Console *slog.Logger
	// WriteKubeconfig of a service account of the cluster to a file.
	WriteKubeconfig func(path, namespace, name string) error
}

// controller is what runs of the DaemonSet on one machine.
type controller struct {
	config  Config
	version string // of the DaemonSet that runs
	process *process.Process
	started time.Time
	trouble string // reported last
}

// Run follows the DaemonSet until ctx ends, and returns when nothing runs any more.
func Run(ctx context.Context, config Config) {
	c := &controller{config: config}
	defer c.stop()
	ticker := time.NewTicker(syncInterval)
	defer ticker.Stop()
	for {
		c.tell(ctx, c.sync(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tell reports once what is wrong. It is a warning, because it may recover: the boot of the machine has not failed.
func (c *controller) tell(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != c.trouble {
		c.config.Console.Warn("cloud controller manager", "error", err)
	}
	c.trouble = trouble
}

// sync makes what runs here match the cluster. What runs keeps running while the cluster can't be reached.
func (c *controller) sync(ctx context.Context) error {
	daemonSet, err := c.config.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, Tool, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.stop()
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the DaemonSet: %w", err)
	}
	pod := &daemonSet.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		return errors.New("the pod has not one container")
	}
	mounts := mountsOf(pod, c.config.Volumes)
	if err := c.mount(ctx, mounts); err != nil {
		return err
	}
	version := fmt.Sprintf("%s/%d", daemonSet.UID, daemonSet.Generation)
	if c.process != nil && version != c.version {
		c.stop()
	}
	if c.process != nil {
		return c.revive()
	}
	c.version = version
	return c.start(ctx, pod, mounts)
}

// revive lets a program that has ended be started again. That one ends that isn't the leader any more is usual.
func (c *controller) revive() error {
	select {
	case <-c.process.Done():
	default:
		return nil
	}
	err := c.process.ExitError()
	if time.Since(c.started) > restartAfter {
		c.process = nil
	}
	return err
}

// start starts the program as the pod's service account, on the machine's own address.
func (c *controller) start(ctx context.Context, pod *corev1.PodSpec, mounts []mount) error {
	accounts := c.config.Client.CoreV1().ServiceAccounts(metav1.NamespaceSystem)
	if _, err := accounts.Get(ctx, pod.ServiceAccountName, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("look for the pod's service account: %w", err)
	}
	kubeconfig := filepath.Join(c.config.State, Tool+".kubeconfig")
	if err := c.config.WriteKubeconfig(kubeconfig, metav1.NamespaceSystem, pod.ServiceAccountName); err != nil {
		return err
	}
	command := c.command(&pod.Containers[0], mounts, kubeconfig)
	p, err := process.Start(command)
	if err != nil {
		return err
	}
	c.config.Console.Info("cloud controller manager started", "args", command.Args)
	c.process, c.started = p, time.Now()
	return nil
}

func (c *controller) stop() {
	if c.process != nil {
		c.process.Kill()
		c.process = nil
	}
}
