package actuator

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/actuator/providerspec"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	"github.com/bedplate/bedplate/internal/machineapi"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=bmm.bedplate.dev,namespace=openshift-machine-api,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// AddToScheme makes every kind known that the controller reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, machinev1.Install, ledgerv1.AddToScheme(ledgerv1.GroupBMM))
	return builder.AddToScheme(scheme)
}

// Setup registers the machine controller with its actuator. Change may modify the configuration of clients of the BMM
// API.
func Setup(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, change func(*bmm.Config), options controller.Options) error {
	specs, err := providerspec.NewReader()
	if err != nil {
		return err
	}
	if err := indexMachines(ctx, mgr); err != nil {
		return err
	}
	instances := inventory.New(engine.Poll, engine.Clock)
	if err := mgr.Add(instances); err != nil {
		return fmt.Errorf("add the inventory of instances: %w", err)
	}
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client to drain Nodes with: %w", err)
	}
	if err := mgr.Add(&ledgers.Keeper{Store: engine.Store, Poll: engine.Poll, Owners: []client.ObjectList{&machinev1.MachineList{}}}); err != nil {
		return fmt.Errorf("add the keeper of ledgers: %w", err)
	}
	secrets := guard(mgr, engine)
	machines := &machineapi.Reconciler{
		Client: mgr.GetClient(), Live: engine.Live, Kube: kube, Recorder: engine.Recorder, Poll: engine.Poll,
		Ours: func(m *machinev1.Machine) bool { return providerspec.IsOurs(m.Spec.ProviderSpec) },
		Actuator: &Actuator{
			Logins: lifecycle.Logins[*bmm.Client]{
				Engine: engine, Guard: secrets,
				Clients: &credentials.Cache[*bmm.Client]{
					Reader: engine.Live, Metadata: mgr.GetCache(), Clock: engine.Clock, Build: bmm.Connect(change),
				},
			},
			Specs: specs, Instances: instances,
			Places: NewPlaces(engine.Poll, clock.RealClock{}), Topology: topology.NewLookup(engine.Poll/2, clock.RealClock{}),
		},
	}
	if err := machines.SetupWithManager(mgr, options, sources(mgr, engine, instances)...); err != nil {
		return fmt.Errorf("set up the Machine controller: %w", err)
	}
	if err := secrets.SetupWithManager(mgr, &machinev1.Machine{}, secretOf, options); err != nil {
		return fmt.Errorf("set up the guard of credentials: %w", err)
	}
	return nil
}

// guard keeps the Secrets that Machines log in with.
func guard(mgr ctrl.Manager, engine *graph.Engine) *credentials.Guard {
	return &credentials.Guard{
		Client: mgr.GetClient(), Metadata: mgr.GetCache(), Live: engine.Live, Finalizer: bmmv1.SecretFinalizer,
		InUse: func(ctx context.Context, secret types.NamespacedName) (bool, error) {
			users := &machinev1.MachineList{}
			err := mgr.GetClient().List(ctx, users, client.InNamespace(secret.Namespace), client.Limit(1),
				client.MatchingFields{credentialsIndex: secret.Name})
			return len(users.Items) > 0, err
		},
	}
}
