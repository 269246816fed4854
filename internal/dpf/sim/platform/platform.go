// Package platform makes Kubernetes clusters what DPF is installed on: an OpenShift cluster that meets its prerequisites, and DPU clusters of
// Kamaji's. It then stands for those that work there: OpenShift's operators and Argo CD.
package platform

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bedplate/bedplate/internal/dpf/sim/argo"
	"github.com/bedplate/bedplate/internal/dpf/sim/openshift"
	"github.com/bedplate/bedplate/internal/simulator"
)

// Objects are created in this order: kinds come before what is of them.
var (
	//go:embed crds.yaml
	crds []byte
	//go:embed ocp.yaml
	ocp []byte
	// tenant is what Kamaji has of each DPU cluster.
	//go:embed tenant.yaml
	tenant []byte
)

const (
	argoNamespace = "dpf-operator-system"
	retry         = 200 * time.Millisecond
	callTimeout   = 10 * time.Second
	creators      = 8
)

// Config says which clusters. The kind ClusterVersion has to be there: it is OpenShift's own.
type Config struct {
	// OCP is the path of the kubeconfig of the host cluster's administrator, DPUs are those of the DPU clusters'.
	OCP  string   `json:"ocp"`
	DPUs []string `json:"dpus"`
	// Nodes are few, if that isn't set.
	Nodes *Nodes `json:"nodes,omitempty"`
	// Light: of services only the DPUs' side of the provisioners runs on all DPUs, the others on the first of each cluster.
	Light bool `json:"light,omitempty"`
	// Bare: there are neither kubelets nor controllers of workloads. Nodes have what ovn-kubernetes writes, and workloads say that they are
	// ready.
	Bare bool `json:"bare,omitempty"`
	// Sync is how often Argo CD compares each Application with its cluster: every second, if that isn't set.
	Sync metav1.Duration `json:"sync,omitzero"`
}

// Load reads a configuration in YAML. Unknown fields are an error.
func Load(path string) (Config, error) { return simulator.Load(path, Config{}, Config.check) }

func (c Config) check() error {
	if c.OCP == "" || len(c.DPUs) == 0 {
		return errors.New("ocp is a kubeconfig of one cluster, and dpus are those of others")
	}
	return nil
}

// Platform is a running one.
type Platform struct {
	*http.ServeMux
	ocp       cluster
	dpus      []cluster
	nodes     Nodes
	bare      bool
	openshift *openshift.Cluster
	before    map[string]string
	end       context.CancelFunc
	ended     chan struct{}
}

// cluster with what its administrator may do.
type cluster struct {
	client.Client
	config     *rest.Config
	kubeconfig []byte
}

// Start makes the clusters what they are to be, and returns when all that works there has settled. It works until Close.
func Start(ctx context.Context, config Config) (*Platform, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), configv1.Install(scheme)); err != nil {
		return nil, err
	}
	p := &Platform{ServeMux: http.NewServeMux(), nodes: *cmp.Or(config.Nodes, &few), bare: config.Bare, ended: make(chan struct{})}
	var err error
	if p.ocp, err = connect(config.OCP, scheme); err != nil {
		return nil, err
	}
	for _, kubeconfig := range config.DPUs {
		c, err := connect(kubeconfig, scheme)
		if err != nil {
			return nil, err
		}
		p.dpus = append(p.dpus, c)
	}
	if err := p.install(ctx); err != nil {
		return nil, err
	}
	if p.openshift, err = openshift.New(ctx, p.ocp); err != nil {
		return nil, fmt.Errorf("read what OpenShift's release wants: %w", err)
	}
	mgr, err := p.stand(scheme, config)
	if err != nil {
		return nil, fmt.Errorf("make the stand-in of Argo CD: %w", err)
	}
	p.run(mgr)
	if !p.bare {
		err = p.settle(ctx)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.HandleFunc("GET /simulator/state", p.state)
	return p, nil
}

func connect(kubeconfig string, scheme *runtime.Scheme) (c cluster, err error) {
	if c.kubeconfig, err = os.ReadFile(kubeconfig); err != nil {
		return c, fmt.Errorf("read a kubeconfig: %w", err)
	}
	if c.config, err = clientcmd.RESTConfigFromKubeConfig(c.kubeconfig); err != nil {
		return c, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	c.config.QPS = -1
	calls := rest.CopyConfig(c.config)
	calls.Timeout = callTimeout
	if c.Client, err = client.New(calls, client.Options{Scheme: scheme}); err != nil {
		return c, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}

// stand for Argo CD. Its cache has what is looked at often, where there are many nodes.
func (p *Platform) stand(scheme *runtime.Scheme, config Config) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(p.ocp.config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	p.openshift.Often = mgr.GetClient()
	argoCD := &argo.Argo{Client: p.ocp, Namespace: argoNamespace, Charts: chart, Interval: cmp.Or(config.Sync.Duration, time.Second)}
	if config.Light {
		argoCD.Charts = lightChart
	}
	return mgr, argoCD.SetupWithManager(mgr)
}

// run the stand-ins.
func (p *Platform) run(mgr ctrl.Manager) {
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	var others sync.WaitGroup
	others.Go(func() { p.openshift.Run(ctx) })
	if p.bare {
		others.Go(func() { p.playWorkloads(ctx) })
	}
	go func() {
		defer close(p.ended)
		_ = mgr.Start(ctx) // its caches are all that can fail
		others.Wait()
	}()
}

// Close ends what works.
func (p *Platform) Close() {
	p.end()
	<-p.ended
}

// install everything. What is there already stays.
func (p *Platform) install(ctx context.Context) error {
	objects, err := decode(slices.Concat(crds, separator, argo.CRDs, separator, ocp))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := create(ctx, p.ocp, o); err != nil {
			return err
		}
	}
	for i, c := range p.dpus {
		if err := p.tenant(ctx, i, c); err != nil {
			return err
		}
	}
	return createAll(ctx, p.ocp, p.nodes.hosts(p.bare))
}

// createAll creates nodes, several at a time.
func createAll(ctx context.Context, c client.Client, nodes []*corev1.Node) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, n := range nodes {
		group.Go(func() error { return create(ctx, c, n) })
	}
	return group.Wait()
}

// separator of manifests.
var separator = []byte("\n---\n")

// tenant makes a DPU cluster one of Kamaji's.
func (p *Platform) tenant(ctx context.Context, i int, dpus cluster) error {
	name := "dpus"
	if i > 0 {
		name = fmt.Sprintf("dpus-%d", i+1)
	}
	objects, err := decode(bytes.ReplaceAll(tenant, []byte("NAME"), []byte(name)))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := p.complete(ctx, o, dpus); err != nil {
			return err
		}
		if err := create(ctx, p.ocp, o); err != nil {
			return err
		}
	}
	return createAll(ctx, dpus, p.nodes.dpus(i, len(p.dpus)))
}

// complete what Kamaji says of a DPU cluster. Its kubeconfig's Secret is controlled by its TenantControlPlane, which is there by then.
func (p *Platform) complete(ctx context.Context, o *unstructured.Unstructured, dpus cluster) error {
	if o.GetKind() == "TenantControlPlane" {
		return unstructured.SetNestedField(o.Object, dpus.config.Host, "status", "controlPlaneEndpoint")
	}
	plane := &unstructured.Unstructured{}
	plane.SetAPIVersion("kamaji.clastix.io/v1alpha1")
	plane.SetKind("TenantControlPlane")
	name := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()["kamaji.clastix.io/name"]}
	if err := p.ocp.Get(ctx, name, plane); err != nil {
		return err
	}
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(plane, plane.GroupVersionKind())})
	return unstructured.SetNestedField(o.Object, string(dpus.kubeconfig), "stringData", "admin.conf")
}

func decode(manifest []byte) (objects []*unstructured.Unstructured, _ error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		objects = append(objects, o)
	}
}

// create an object with its status. A kind that isn't served yet is waited for.
func create(ctx context.Context, c client.Client, o client.Object) error {
	wanted := o.DeepCopyObject().(client.Object)
	for {
		err := c.Create(ctx, o)
		if err == nil || apierrors.IsAlreadyExists(err) {
			break
		}
		if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) || !pause(ctx) {
			return fmt.Errorf("create %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
	}
	u, is := wanted.(*unstructured.Unstructured)
	if !is || u.Object["status"] == nil || u.GetKind() == "CustomResourceDefinition" {
		return nil
	}
	before := u.DeepCopy()
	delete(before.Object, "status")
	if err := c.Status().Patch(ctx, u, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status of %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retry):
		return true
	}
}

// state is what isn't as it was when all had settled, and how often OpenShift's operators have put something back.
func (p *Platform) state(w http.ResponseWriter, r *http.Request) {
	if p.bare { // nothing has settled
		simulator.WriteJSON(w, State{PutBack: p.openshift.PutBack()})
		return
	}
	now, err := p.snapshot(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	simulator.WriteJSON(w, State{PutBack: p.openshift.PutBack(), Changed: changed(p.before, now)})
}

// State of all clusters.
type State struct {
	// PutBack is how often an operator of OpenShift has put something back.
	PutBack int64 `json:"putBack"`
	// Changed are the objects that were made, changed or deleted since the start, and are still.
	Changed []string `json:"changed"`
}
