package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/testenv"
)

// folder is the given one, or a temporary one that remove deletes.
func folder(dir string) (path string, remove func(), err error) {
	if dir != "" {
		return dir, func() {}, nil
	}
	path, err = os.MkdirTemp("", "bedplate-scale-")
	return path, func() { _ = os.RemoveAll(path) }, err
}

// rig is an API server with the CRDs of a system, what is simulated outside, and the manager.
type rig struct {
	system system
	dir    string
	tools  tools.Dir
	block  *loopback.Block
	plane  *controlplane.ControlPlane
	config *rest.Config
	client client.WithWatch
	site   *site
	// manager is nil while none runs.
	manager *manager
}

// startRig starts everything but a manager. All files are in dir.
func startRig(ctx context.Context, bin tools.Dir, dir string, of system) (*rig, error) {
	if err := bin.Require(of.tools()...); err != nil {
		return nil, err
	}
	block, err := loopback.Claim()
	if err != nil {
		return nil, err
	}
	r := &rig{system: of, dir: dir, tools: bin, block: block}
	if err := r.start(ctx); err != nil {
		r.stop()
		return nil, fmt.Errorf("start the rig in %s: %w", dir, err)
	}
	return r, nil
}

func (r *rig) start(ctx context.Context) error {
	// Nothing needs a controller, but there has to be one.
	if err := r.startPlane(ctx, controlplane.Config{Controllers: []string{"namespace-controller"}}); err != nil {
		return err
	}
	if err := r.install(ctx); err != nil {
		return err
	}
	var err error
	r.site, err = r.startSite(ctx)
	return err
}

// startPlane starts the management cluster, and makes its client.
func (r *rig) startPlane(ctx context.Context, cfg controlplane.Config) (err error) {
	cfg.Name, cfg.Dir, cfg.PKI = "management", filepath.Join(r.dir, "management"), pki.Dir(filepath.Join(r.dir, "pki"))
	cfg.Tools, cfg.Address = r.tools, r.block.Address(254, 1)
	if err := cfg.PKI.CreateAuthorities(); err != nil {
		return err
	}
	if r.plane, err = controlplane.Start(ctx, cfg); err != nil {
		return err
	}
	r.config = r.plane.AdminConfig()
	r.config.QPS, r.config.Burst = -1, -1 // the measurement must not throttle itself
	scheme := runtime.NewScheme()
	if err := errors.Join(r.system.addToScheme(scheme), clusterv1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)); err != nil {
		return err
	}
	r.client, err = client.NewWithWatch(r.config, client.Options{Scheme: scheme})
	return err
}

// install puts into the API server what the manager and the reader of its metrics need there.
func (r *rig) install(ctx context.Context) error {
	crds := filepath.Join(r.dir, "crds")
	if err := os.CopyFS(crds, r.system.crds); err != nil {
		return err
	}
	core, err := testenv.ClusterAPI(r.tools)
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(r.config, envtest.CRDInstallOptions{
		CRDs: core, Paths: []string{filepath.Join(crds, "crd", "bases")}, ErrorIfPathMissing: true, MaxTime: time.Minute,
	}); err != nil {
		return err
	}
	if err := r.untilServed(ctx); err != nil {
		return err
	}
	for _, name := range []string{r.system.namespace, fleetNamespace} {
		if err := r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	if err := r.createAll(ctx, r.system.rbac); err != nil {
		return err
	}
	return r.allowMetrics(ctx, r.system.account)
}

// allowMetrics lets service accounts read the metrics of the system's programs.
func (r *rig) allowMetrics(ctx context.Context, accounts ...string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scale-metrics-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.system.metricsReader},
	}
	for _, account := range accounts {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: r.system.namespace, Name: account})
	}
	return r.client.Create(ctx, binding)
}

// untilServed waits until the API server's discovery knows the CRDs' kinds.
func (r *rig) untilServed(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = errors.Join(r.client.List(ctx, r.system.clusters),
			r.client.List(ctx, r.system.machines), r.client.List(ctx, &clusterv1.MachineList{}))
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// createAll creates every object of the files.
func (r *rig) createAll(ctx context.Context, files fs.FS) error {
	objects, err := manifest.DecodeAll(files)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := r.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// apiserver is the process of the API server.
func (r *rig) apiserver() int {
	for _, p := range r.plane.Processes() {
		if p.Name() == "kube-apiserver" {
			return p.PID()
		}
	}
	panic("a control plane without an API server")
}

// stop ends everything. The files stay.
func (r *rig) stop() {
	r.stopManager()
	if r.site != nil {
		r.site.process.Stop(stopGrace)
	}
	if r.plane != nil {
		r.plane.Stop()
	}
	r.block.Close()
}
