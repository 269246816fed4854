package localstack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// capiManager is one of Cluster API's managers: a tool, and beside the tools its manifest as kustomize renders it.
type capiManager struct {
	tool     string
	manifest string
	flags    []string
}

// featureGates turn on what is alpha and still wanted here: ClusterClass, and taints that follow a Machine to its node, as
// Cluster API's end-to-end specs need.
const featureGates = "--feature-gates=ClusterTopology=true,MachineTaintPropagation=true"

// ignitionGate lets machines boot with Ignition.
const ignitionGate = "KubeadmBootstrapFormatIgnition=true"

var capiManagers = []capiManager{
	{"capi-core", "core.yaml", []string{featureGates}},
	{"capi-kubeadm-bootstrap", "bootstrap-kubeadm.yaml", []string{"--feature-gates=" + ignitionGate}},
	{"capi-kubeadm-control-plane", "control-plane-kubeadm.yaml", []string{featureGates + "," + ignitionGate}},
}

func capiTools() []string {
	var names []string
	for _, m := range capiManagers {
		names = append(names, m.tool, filepath.Join("manifests", m.manifest))
	}
	return names
}

// startCAPI installs Cluster API's CRDs and webhooks and runs its managers, as administrators.
func (s *Stack) startCAPI(ctx context.Context) error {
	servers := make([]webhookServer, len(capiManagers))
	install, installCtx := errgroup.WithContext(ctx)
	for i, m := range capiManagers {
		var err error
		if servers[i], err = s.newWebhookServer(); err != nil {
			return err
		}
		install.Go(func() error { return s.installCAPI(installCtx, m, servers[i]) })
	}
	if err := install.Wait(); err != nil {
		return err
	}
	start, startCtx := errgroup.WithContext(ctx)
	for i, m := range capiManagers {
		start.Go(func() error { return s.startCAPIManager(startCtx, m, i, servers[i]) })
	}
	return start.Wait()
}

// installCAPI creates what a manager needs in the API. Its Deployment and RBAC are left out: the manager runs as a child
// and as an administrator.
func (s *Stack) installCAPI(ctx context.Context, m capiManager, server webhookServer) error {
	data, err := os.ReadFile(s.cfg.Tools.Path("manifests", m.manifest))
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	objects, err := manifest.Decode(data)
	if err != nil {
		return fmt.Errorf("read %s: %w", m.manifest, err)
	}
	objects = onlyKinds(objects, "Namespace", "CustomResourceDefinition",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	for _, object := range objects {
		server.serve(object)
	}
	return s.install(ctx, objects)
}

func (s *Stack) startCAPIManager(ctx context.Context, m capiManager, index int, server webhookServer) error {
	health := fmt.Sprintf("%s:%d", s.managementAddress(), 9440+index)
	return s.start(ctx, process.Command{
		Name: m.tool, Path: s.cfg.Tools.Path(m.tool),
		Args: slices.Concat([]string{
			"--kubeconfig=" + s.Kubeconfig(),
			"--health-addr=" + health,
			"--diagnostics-address=0", // its metrics aren't read
		}, server.flags(), m.flags),
	}, answersOK("http://"+health+"/readyz"))
}

// managementAddress is the address of the management cluster and of its managers.
func (s *Stack) managementAddress() string { return s.block.Address(254, 1).String() }
