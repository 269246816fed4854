package operator_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/testenv"
)

// provisioners of two DPUs, which Argo CD has synced as their DPUService is.
func (f *fixture) provisioners(labels map[string]string, ready int32) {
	f.t.Helper()
	dpus, set := f.clusters[0].Client, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dpf-dpucniprovisioner"}}
	f.Expect(client.IgnoreNotFound(dpus.Delete(f.t.Context(), set))).To(Succeed())
	set.ResourceVersion = ""
	set.Spec.Template.Labels = map[string]string{svcv1.ServiceIDLabel: "dpucniprovisioner"}
	for key, value := range labels {
		set.Spec.Template.Labels[key] = value
	}
	set.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberReady: ready}
	f.Expect(dpus.Create(f.t.Context(), set)).To(Succeed())
}

// service of the provisioners on DPUs: what they are told, and the labels of their Pods.
func (f *fixture) service() (values map[string]any, labels map[string]string) {
	f.t.Helper()
	service := &svcv1.DPUService{}
	f.Expect(f.WithWatch.Get(f.t.Context(), client.ObjectKey{Namespace: namespace, Name: "dpucniprovisioner"}, service)).To(Succeed())
	f.Expect(json.Unmarshal(service.Spec.HelmChart.Values.Raw, &values)).To(Succeed())
	if service.Spec.ServiceDaemonSet != nil {
		labels = service.Spec.ServiceDaemonSet.Labels
	}
	return values, labels
}

// What the provisioners have made on DPUs is taken back before they go, whether all is deleted or only the network.
func TestCleanUp_ofTheDPUsBeforeTheirProvisionersGo(t *testing.T) {
	for name, end := range map[string]func(*fixture){
		"deleted": func(f *fixture) { f.Expect(f.WithWatch.Delete(f.t.Context(), f.config())).To(Succeed()) },
		"without a network": func(f *fixture) {
			config := f.config()
			config.Spec.HostNetworkConfiguration = nil
			f.Expect(f.Update(f.t.Context(), config)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t) // which deletes all in the end
			f.create()
			f.settle()
			f.provisioners(nil, 2)
			values, _ := f.service()
			f.Expect(values).To(And(HaveKey("config"), Not(HaveKey("cleanUp"))))
			end(f)
			f.settle()
			says := "the clean-up after the provisioners in DPU cluster dpus/a: DaemonSet dpf-dpucniprovisioner"
			f.Expect(f.condition(operatorv1.SystemComponentsReconciledCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
				says+" isn't synced"))
			values, labels := f.service()
			f.Expect(values).To(And(HaveKeyWithValue("cleanUp", true), Not(HaveKey("config"))))
			f.Expect(labels).To(HaveKey(operatorv1.NetworkCleanUpLabel))

			f.provisioners(labels, 1)
			f.settle()
			f.Expect(f.condition(operatorv1.SystemComponentsReconciledCondition).Message).To(ContainSubstring(says + ": 1 of 2 DPUs are clean"))
			f.provisioners(labels, 2)
			f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(2 * time.Hour)) // another look is due
			f.settle()
			f.Expect(f.objects()).NotTo(ContainElement(HaveSuffix("DPUService dpucniprovisioner")))
			f.Expect(f.events.Events).NotTo(Receive(ContainSubstring("NotRestored")))
		})
	}
}

// A DPU that is dead holds it up for nodeTimeout; then what isn't known is told.
func TestCleanUp_ofADPUThatIsDeadIsToldAndHoldsUpNothingForEver(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	f.provisioners(map[string]string{operatorv1.NetworkCleanUpLabel: ""}, 1)
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.objects()).To(ContainElement(HaveSuffix("DPUService dpucniprovisioner")))
	f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(16 * time.Minute))
	f.settle()
	f.Expect(f.config().Name).To(BeEmpty())
	f.Expect(f.events.Events).To(Receive(ContainSubstring("NotRestored it isn't known whether what the provisioners have made is gone: " +
		"the clean-up after the provisioners in DPU cluster dpus/a: DaemonSet dpf-dpucniprovisioner: 1 of 2 DPUs are clean")))
}

// One that is wanted again is what it was.
func TestCleanUp_endsWhereTheNetworkIsWantedAgain(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	before, _ := f.service()
	f.provisioners(nil, 2)
	config := f.config()
	network := config.Spec.HostNetworkConfiguration
	config.Spec.HostNetworkConfiguration = nil
	f.Expect(f.Update(t.Context(), config)).To(Succeed())
	f.settle()
	told, _ := f.service()
	f.Expect(told).To(HaveKey("cleanUp"))
	config = f.config()
	config.Spec.HostNetworkConfiguration = network
	f.Expect(f.Update(t.Context(), config)).To(Succeed())
	f.settle()
	values, labels := f.service()
	f.Expect(values).To(Equal(before))
	f.Expect(labels).To(BeEmpty())
	f.provisioners(map[string]string{operatorv1.NetworkCleanUpLabel: ""}, 2)
}

// A DPU cluster that has no copies of pull secrets, such as because there are none, has the provisioners all the same.
func TestCleanUp_waitsForADPUClusterThatIsAwayAndHasNoPullSecrets(t *testing.T) {
	f := newFixture(t)
	testenv.Kubectl(t, "apply", "-f", "../sim/argo/crds.yaml")
	f.addCluster("never", errAway)
	f.create()
	config := f.config()
	config.Spec.ImagePullSecrets = nil
	f.Expect(f.Update(t.Context(), config)).To(Succeed())
	f.settle()
	for _, cluster := range []string{"a", "never"} {
		application := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"project": "a", "destination": map[string]any{}}}}
		application.SetGroupVersionKind(dpuservice.ApplicationKind)
		application.SetNamespace(namespace)
		application.SetName(cluster)
		application.SetLabels(map[string]string{"svc.dpu.nvidia.com/dpuservice-uid": "a"})
		application.SetAnnotations(map[string]string{
			"svc.dpu.nvidia.com/dpuservice": namespace + "/dpucniprovisioner", "svc.dpu.nvidia.com/dpu-cluster": "dpus/" + cluster})
		if cluster == "a" {
			application.Object["status"] = map[string]any{"operationState": map[string]any{"phase": "Succeeded"}}
		}
		f.Eventually(func() error { return f.WithWatch.Create(t.Context(), application) }).Should(Succeed())
		t.Cleanup(func() { f.Expect(f.WithWatch.Delete(context.Background(), application)).To(Succeed()) })
	}
	record := f.record()
	record.Data = nil // no copies
	f.Expect(f.Update(t.Context(), record)).To(Succeed())
	f.clusters[0].Client, f.clusters[0].Err = nil, errAway
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.condition(operatorv1.SystemComponentsReconciledCondition)).To(And(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"the clean-up after the provisioners in DPU cluster dpus/a: it is away"), HaveField("Message", Not(ContainSubstring("never")))))
	f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(16 * time.Minute))
	f.settle()
	f.Expect(f.events.Events).To(Receive(ContainSubstring("in DPU cluster dpus/a: it is away")))
}

// A pause, or an operator that is away, makes no DPU late: nothing has cleaned up meanwhile.
func TestCleanUp_theTimeOfAPauseDoesntCount(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	f.provisioners(map[string]string{operatorv1.NetworkCleanUpLabel: ""}, 1)
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	pause := func(paused bool) {
		config := f.config()
		config.Spec.Paused = paused
		f.Expect(f.Update(t.Context(), config)).To(Succeed())
		f.settle()
	}
	pause(true)
	f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(16 * time.Minute))
	pause(false)
	f.Expect(f.objects()).To(ContainElement(HaveSuffix("DPUService dpucniprovisioner")))
	f.Expect(f.events.Events).NotTo(Receive(ContainSubstring("NotRestored")))
	f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(32 * time.Minute))
	f.settle()
	f.Expect(f.config().Name).To(BeEmpty())
}

// An earlier release had no DaemonSet that cleans up, and its provisioner doesn't make room for one. Neither does what others have deleted.
func TestCleanUp_ofHostsByAnOperatorThatWasUpgradedOnTheWayBack(t *testing.T) {
	for name, end := range map[string]func(*fixture){
		"deleted": func(f *fixture) { f.Expect(f.WithWatch.Delete(f.t.Context(), f.config())).To(Succeed()) },
		"without a network": func(f *fixture) {
			config := f.config()
			config.Spec.HostNetworkConfiguration = nil
			f.Expect(f.Update(f.t.Context(), config)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.create()
			f.settle()
			end(f)
			provisioner, cleanUp := &appsv1.DaemonSet{}, &appsv1.DaemonSet{}
			f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: components.HostNetworkProvisioner}, provisioner)).To(Succeed())
			provisioner.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[1].Key = "old"
			f.Expect(f.WithWatch.Update(t.Context(), provisioner)).To(Succeed())
			cleanUp.Namespace, cleanUp.Name = namespace, components.HostNetworkCleanUp
			f.Expect(f.WithWatch.Delete(t.Context(), cleanUp)).To(Succeed())
			f.start()
			f.Expect(f.once()).To(Succeed())
			f.Expect(f.network.moved).To(BeNumerically(">", 0))
			f.Expect(f.objects()).To(ContainElement(HaveSuffix("DaemonSet " + components.HostNetworkCleanUp)))
			f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(provisioner), provisioner)).To(Succeed())
			f.Expect(provisioner.Spec.Template.Spec.Affinity.String()).To(ContainSubstring(operatorv1.NetworkCleanUpLabel))
		})
	}
}
