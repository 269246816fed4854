package machineapi_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bedplate/bedplate/internal/machineapi"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

// start runs a manager with the controller. It polls once an hour, so everything in such a test comes from events.
func (f *fixture) start() (wake chan event.GenericEvent) {
	mgr, err := ctrl.NewManager(testenv.Config(f.t), ctrl.Options{
		Scheme:     testenv.Scheme(f.t),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.name.Namespace: {}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager
	})
	f.Expect(err).NotTo(HaveOccurred())
	r := f.reconciler()
	r.Client, r.Live, r.Recorder = mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("test")
	wake = make(chan event.GenericEvent)
	woken := source.Channel(wake, &handler.EnqueueRequestForObject{})
	f.Expect(r.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: 2, NewQueue: queue.New[reconcile.Request]}, woken)).To(Succeed())
	testenv.Run(f.t, mgr)
	return wake
}

func (f *fixture) phase() string { return ptr.Deref(f.machine().Status.Phase, "") }

func TestWake_byEventsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = hook })
	f.SetDefaultEventuallyTimeout(time.Minute)
	f.cloud.slow = true
	f.cloud.set("Update", &machineapi.RequeueAfterError{After: time.Hour}) // the instance isn't there yet, however often it is polled
	wake := f.start()
	f.Eventually(f.phase).Should(Equal(machinev1.PhaseProvisioning))
	f.cloud.set("Update", nil)
	wake <- event.GenericEvent{Object: f.machine()} // as an inventory does
	f.Eventually(f.phase).Should(Equal(machinev1.PhaseProvisioned))
	f.join()
	f.Eventually(f.phase).Should(Equal(machinev1.PhaseRunning))
	for _, authority := range []machinev1.MachineAuthority{machinev1.MachineAuthorityMigrating, machinev1.MachineAuthorityMachineAPI} {
		f.changeStatus(func(m *machinev1.Machine) { m.Status.AuthoritativeAPI = authority })
		f.Eventually(func() []machinev1.Condition { return f.machine().Status.Conditions }).Should(ContainElement(And(
			HaveField("Type", machineapi.PausedCondition), HaveField("Message", ContainSubstring(string(authority))),
		)))
	}

	f.delete()
	f.Eventually(f.phase).Should(Equal(machinev1.PhaseDeleting))
	f.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
	f.Eventually(func() string { return f.cloud.state(f.name) }).Should(Equal("Terminating"))
	machine := f.machine()
	f.cloud.end(machine)
	wake <- event.GenericEvent{Object: machine}
	f.Eventually(f.isGone).Should(BeTrue())
	f.Expect(f.nodeIsGone()).To(BeTrue())
}
