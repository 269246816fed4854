package localstack

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/localstack/process"
)

// manager is one of Bedplate's. It runs as its service account, so with no more rights than in production.
type manager struct {
	tool           string
	child          string // its name as a child, where it isn't the tool's
	namespace      string
	serviceAccount string
	manifests      []fs.FS // what it needs in the API: CRDs, RBAC, webhooks
	port           int     // of its health checks; the next one is for its metrics
	flags          []string
	plain          bool // it has no engine, and creates nothing outside
}

// engineFlags are those of managers with the engine. Simulated time is fast: settling takes five minutes.
var engineFlags = []string{"--settle=5s", "--create-timeout=2500ms"}

// startManager installs what a manager needs and starts it.
func (s *Stack) startManager(ctx context.Context, m manager) error {
	kubeconfig, server, err := s.installManager(ctx, m)
	if err != nil {
		return err
	}
	return s.runManager(ctx, m, kubeconfig, server.flags())
}

// runManager starts a manager for which everything is installed.
func (s *Stack) runManager(ctx context.Context, m manager, kubeconfig string, webhooks []string) error {
	health := net.JoinHostPort(s.managementAddress(), strconv.Itoa(m.port))
	engine := engineFlags
	if m.plain {
		engine = nil
	}
	s.children.keep(m.name())
	return s.start(ctx, process.Command{
		Name: m.name(), Path: s.cfg.Tools.Path(m.tool),
		Args: slices.Concat(webhooks, m.flags, engine, []string{
			"--kubeconfig=" + kubeconfig,
			"--health-addr=" + health,
			"--metrics-addr=" + net.JoinHostPort(s.managementAddress(), strconv.Itoa(m.port+1)),
			"--leader-election-namespace=" + m.namespace, "--leader-identity=" + m.name(),
			"--leader-elect-lease-duration=1m", // a busy computer may keep the API server from answering
			"--insecure-loopback-endpoints",    // where the lab's simulators are
			"--poll-interval=1s",
		}),
	}, answersOK("http://"+health+"/readyz"))
}

// installManager installs what a manager needs, and returns its kubeconfig and where its webhooks are asked.
func (s *Stack) installManager(ctx context.Context, m manager) (kubeconfig string, server webhookServer, err error) {
	objects, err := m.objects()
	if err != nil {
		return "", server, err
	}
	if server, err = s.newWebhookServer(); err != nil {
		return "", server, err
	}
	for _, object := range objects {
		server.serve(object)
	}
	if err := s.install(ctx, objects); err != nil {
		return "", server, err
	}
	kubeconfig, err = s.writeKubeconfig(m)
	return kubeconfig, server, err
}

func (s *Stack) writeKubeconfig(m manager) (path string, _ error) {
	path = filepath.Join(s.cfg.Dir, m.name()+".kubeconfig")
	return path, s.controlPlane.WriteServiceAccountKubeconfig(path, m.namespace, m.serviceAccount)
}

func (m manager) name() string { return cmp.Or(m.child, m.tool) }

// objects are the manager's namespace and its manifests.
func (m manager) objects() ([]*unstructured.Unstructured, error) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(m.namespace)
	objects := []*unstructured.Unstructured{namespace}
	for _, files := range m.manifests {
		more, err := manifest.DecodeAll(files)
		if err != nil {
			return nil, fmt.Errorf("read the manifests of %s: %w", m.tool, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}
