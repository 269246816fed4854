// Package machineapi is the machine controller of OpenShift's Machine API: it leads a Machine through its phases, drains its
// Node, and asks an Actuator for everything that is outside Kubernetes. It knows no provider.
//
//	reconciler := &machineapi.Reconciler{
//		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Kube: clientset, Recorder: mgr.GetEventRecorder(name),
//		Poll: options.Poll, Actuator: actuator, Ours: func(m *machinev1.Machine) bool { … },
//	}
//	err := reconciler.SetupWithManager(mgr, options.Controller(), source.TypedChannel(…), engine.Creates.Woken(&machinev1.Machine{}))
//
// A Machine is reconciled when others change it, when a source wakes it, and when the actuator asks for it. Only a Node that
// is drained is polled.
package machineapi
