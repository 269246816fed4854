// Package localstack runs a management cluster on one computer, without containers: a real Kubernetes control plane,
// Cluster API's managers and Bedplate's own, all as child processes on loopback addresses. It belongs to "bedplate lab"
// and to tests.
package localstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/boot"
	"github.com/bedplate/bedplate/internal/localstack/controlplane"
	"github.com/bedplate/bedplate/internal/localstack/loopback"
	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/localstack/pki"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools"
)

// Tools returns the names of all tools that a stack and its machines need.
func Tools() []string {
	return slices.Concat(BMMTools(), OpenShiftTools(), HydrazineTools(), PowerVSTools(), KrakeTools(), DPFTools())
}

// BMMTools are those of a stack with the system bmm.
func BMMTools() []string { return slices.Concat(boot.Tools, capiTools(), []string{BMMManager}) }

// OpenShiftTools are those of a stack with OpenShift's Machine API.
func OpenShiftTools() []string { return slices.Concat(boot.Tools, openshiftTools()) }

// HydrazineTools are those of a stack with the system hydrazine.
func HydrazineTools() []string { return slices.Concat(controlplane.Tools, hydrazineTools) }

// Files returns the names of all that a stack makes in its folder.
func Files() []string {
	names := []string{"pki", "management", "webhooks", "logs", "machines", "net", "kubeconfig", "bmm.yaml", simulators, fleet, dpus, dpus + ".kubeconfig"}
	for _, tool := range slices.Concat(programs, dpfPrograms) {
		names = append(names, tool+".kubeconfig")
	}
	return names
}

// simulators is the folder for the configurations of simulators.
const simulators = "simulators"

// programs that have a kubeconfig each.
var programs = []string{BMMManager, BMMMachineController, HydrazineManager, hydrazineSpeaker, hydrazineProxy, PowerVSManager, KrakeManager}

// Config describes a stack.
type Config struct {
	Dir     string     // for all files of the stack: secrets, data and logs
	Tools   tools.Dir  // as built by "make tools"
	Observe func(Step) // called with progress, from several goroutines; may be nil

	Bedplate string // the program "bedplate", which plays the simulators; default: the one beside the tools

	Workloads bool // the management cluster has all controllers and a scheduler
}

// Step is one step of a start, as seen by Config.Observe.
type Step struct {
	Name string
	Done bool
	Err  error // of a step that is done
}

// Stack is a running management cluster.
type Stack struct {
	cfg          Config
	block        *loopback.Block
	controlPlane *controlplane.ControlPlane
	client       client.Client
	webhookCA    []byte
	children     *children
	overlay      *overlay.Overlay // nil unless StartHydrazine was called
	dpf          *dpf             // nil unless StartDPF was called
}

// Start starts Kubernetes and Cluster API and returns when both are ready. After an error nothing is left running.
func Start(ctx context.Context, cfg Config) (*Stack, error) {
	if err := cfg.Tools.Require(capiTools()...); err != nil {
		return nil, err
	}
	s, err := StartKubernetes(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.step("Cluster API", func() error { return s.startCAPI(ctx) }); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// StartKubernetes is Start without Cluster API.
func StartKubernetes(ctx context.Context, cfg Config) (*Stack, error) {
	if cfg.Observe == nil {
		cfg.Observe = func(Step) {}
	}
	if cfg.Bedplate == "" {
		cfg.Bedplate = cfg.Tools.Path("bedplate")
	}
	if err := cfg.Tools.Require(controlplane.Tools...); err != nil {
		return nil, err
	}
	block, err := loopback.Claim()
	if err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg, block: block, children: newChildren()}
	if err := s.step("Management cluster", func() error { return s.startKubernetes(ctx) }); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// step runs and reports one step.
func (s *Stack) step(name string, run func() error) error {
	s.cfg.Observe(Step{Name: name})
	err := run()
	s.cfg.Observe(Step{Name: name, Done: true, Err: err})
	return err
}

func (s *Stack) startKubernetes(ctx context.Context) error {
	keys := pki.Dir(filepath.Join(s.cfg.Dir, "pki"))
	if err := keys.CreateAuthorities(); err != nil {
		return err
	}
	config := controlplane.Config{
		Name: "management", Dir: filepath.Join(s.cfg.Dir, "management"), PKI: keys, Tools: s.cfg.Tools,
		Address: s.block.Address(254, 1), Scheduler: s.cfg.Workloads, Audit: s.cfg.Workloads,
	}
	if !s.cfg.Workloads {
		config.Controllers = []string{"garbage-collector-controller", "namespace-controller"}
	}
	var err error
	if s.controlPlane, err = controlplane.Start(ctx, config); err != nil {
		return err
	}
	for _, p := range s.controlPlane.Processes() {
		s.children.watch(p)
	}
	if err := s.controlPlane.WriteKubeconfig(s.Kubeconfig(), "kubernetes-admin", "system:masters"); err != nil {
		return err
	}
	s.client, err = client.New(s.AdminConfig(), client.Options{Scheme: scheme()})
	if err != nil {
		return fmt.Errorf("client for the management cluster: %w", err)
	}
	return nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, machinev1.Install, resourcev1.AddToScheme,
		networkfabricv1.AddToScheme, krakev1.AddToScheme, operatorv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // two types of one name: a mistake in this program
		}
	}
	return s
}

// Client returns an administrator's client that knows Kubernetes' own types, Cluster API's core types, OpenShift's Machine
// API, Hydrazine's, Krake's and the DPFOperatorConfig.
func (s *Stack) Client() client.Client { return s.client }

// AdminConfig returns an administrator's client configuration.
func (s *Stack) AdminConfig() *rest.Config { return s.controlPlane.AdminConfig() }

// Kubeconfig returns the path of an administrator's kubeconfig.
func (s *Stack) Kubeconfig() string { return filepath.Join(s.cfg.Dir, "kubeconfig") }

// Block returns the loopback addresses that belong to this stack.
func (s *Stack) Block() *loopback.Block { return s.block }

// Crashes delivers an error, with the end of its log, for every child that ends on its own.
func (s *Stack) Crashes() <-chan error { return s.children.crashes }

// Kill kills a child at once, as kill -9 does. See Restart.
func (s *Stack) Kill(name string) error { return s.children.kill(name) }

// Restart starts a killed child again and waits until it is ready.
func (s *Stack) Restart(ctx context.Context, name string) error { return s.children.restart(ctx, name) }

// Stop ends everything and returns when all processes have ended. The files stay.
func (s *Stack) Stop() {
	if s.dpf != nil {
		s.dpf.end() // first: it starts children
	}
	s.children.stop()
	if s.dpf != nil {
		s.dpf.stop()
	}
	if s.overlay != nil {
		_ = errors.Join(s.overlay.Stop(), s.overlay.Down()) // CleanUp says what is left
	}
	if s.controlPlane != nil {
		s.controlPlane.Stop()
	}
	s.children.wait()
	s.block.Close()
}

// answersOK is a probe: the URL answers 200.
func answersOK(url string) func(context.Context) error {
	return func(ctx context.Context) error { return process.AnswersOK(ctx, http.DefaultClient, url) }
}

// log returns the path of a child's log.
func (s *Stack) log(name string) string { return filepath.Join(s.cfg.Dir, "logs", name+".log") }

// start starts a tool as a named child and waits until it is ready.
func (s *Stack) start(ctx context.Context, command process.Command, ready func(context.Context) error) error {
	command.Log = s.log(command.Name)
	return s.children.start(ctx, command, ready)
}
