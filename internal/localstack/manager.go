package localstack

import (
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
	tool           string // and its name as a child
	namespace      string
	serviceAccount string
	manifests      []fs.FS // what it needs in the API: CRDs, RBAC, webhooks
	port           int     // of its health checks; the next one is for its metrics
	flags          []string
}

// startManager installs what a manager needs and starts it.
func (s *Stack) startManager(ctx context.Context, m manager) error {
	objects, err := m.objects()
	if err != nil {
		return err
	}
	server, err := s.newWebhookServer()
	if err != nil {
		return err
	}
	for _, object := range objects {
		server.serve(object)
	}
	if err := s.install(ctx, objects); err != nil {
		return err
	}
	kubeconfig := filepath.Join(s.cfg.Dir, m.tool+".kubeconfig")
	if err := s.controlPlane.WriteServiceAccountKubeconfig(kubeconfig, m.namespace, m.serviceAccount); err != nil {
		return err
	}
	health := net.JoinHostPort(s.managementAddress(), strconv.Itoa(m.port))
	return s.start(ctx, process.Command{
		Name: m.tool, Path: s.cfg.Tools.Path(m.tool),
		Args: slices.Concat(server.flags(), m.flags, []string{
			"--kubeconfig=" + kubeconfig,
			"--health-addr=" + health,
			"--metrics-addr=" + net.JoinHostPort(s.managementAddress(), strconv.Itoa(m.port+1)),
			"--leader-election-namespace=" + m.namespace,
			"--poll-interval=1s", "--settle=5s", // simulated time is fast: that is five minutes
		}),
	}, answersOK("http://"+health+"/readyz"))
}

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
