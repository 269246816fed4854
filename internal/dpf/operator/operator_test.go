package operator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/testenv"
)

func is(status metav1.ConditionStatus, reason, says string) OmegaMatcher {
	return And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(says)))
}

func pending(says string) OmegaMatcher {
	return is(metav1.ConditionFalse, operatorv1.ReasonPending, says)
}

var success = is(metav1.ConditionTrue, operatorv1.ReasonSuccess, "")

var everything = []string{
	operatorv1.PrerequisitesMetCondition, operatorv1.ImagePullSecretsReconciledCondition, operatorv1.SystemComponentsReconciledCondition,
	operatorv1.SystemComponentsReadyCondition, operatorv1.DPUClustersReachableCondition, operatorv1.HostNetworkConfiguredCondition,
	operatorv1.ReadyCondition,
}

func TestReconcile_changesNothingBeforeItsPrerequisitesAreMet(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.missing = preflight.Report{{Prerequisite: preflight.Prerequisite{Name: "Kamaji", Remedy: "install Kamaji"}, Problems: []string{"there is no Kamaji"}}}
	f.settle()
	f.Expect(f.objects()).To(BeEmpty())
	f.Expect(f.labelled()).To(BeEmpty())
	f.Expect(f.network.moved).To(BeZero())
	f.Expect(f.condition(operatorv1.PrerequisitesMetCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonFailure, "Kamaji: there is no Kamaji: install Kamaji"))
	f.Expect(f.condition(operatorv1.SystemComponentsReconciledCondition)).To(pending("it waits for the prerequisites"))
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonFailure, "PrerequisitesMet: Kamaji"))

	// What only the network needs holds up the network only.
	f.missing[0].Network = true
	f.start()
	f.settle()
	f.Expect(f.objects()).To(ContainElement(HaveSuffix("Deployment dpf-dpuservice-controller")))
	f.Expect(f.objects()).NotTo(ContainElement(HaveSuffix("dpf-hostnetworkprovisioner")))
	f.Expect(f.condition(operatorv1.SystemComponentsReadyCondition)).To(success)
	f.Expect(f.condition(operatorv1.HostNetworkConfiguredCondition)).To(pending("it waits for the prerequisites"))
	f.Expect(f.network.moved).To(BeZero())
}

func TestReconcile_deploysThenMovesTheNetworkThenRests(t *testing.T) {
	f := newFixture(t)
	f.create()
	_, err := f.Reconcile(t.Context(), request)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.condition(operatorv1.SystemComponentsReconciledCondition)).To(success)
	f.Expect(f.condition(operatorv1.SystemComponentsReadyCondition)).To(pending("Deployment dpf-operator-system/dpf-dpuservice-controller wasn't looked at"))
	f.Expect(f.condition(operatorv1.HostNetworkConfiguredCondition)).To(pending("it waits for the system components on the host cluster"))
	f.Expect(f.condition(operatorv1.ImagePullSecretsReconciledCondition)).To(pending("DPU cluster dpus/a has no Secret ngc"))
	f.Expect(f.network.moved).To(BeZero())
	f.Expect(f.labelled()).To(ConsistOf("ngc"))

	f.others()
	f.settle()
	f.Expect(f.network.begun).To(And(ContainSubstring("DaemonSet dpf-hostnetworkprovisioner"), ContainSubstring("DPUService dpucniprovisioner")),
		"nodes that are moved need both")
	for _, kind := range everything {
		f.Expect(f.condition(kind)).To(And(success, HaveField("ObservedGeneration", f.config().Generation)), kind)
	}
	status := f.config().Status
	f.Expect(status.Nodes).To(ConsistOf(HaveField("Phase", operatorv1.NodeReady)))
	f.Expect(status.DPUClusters).To(ConsistOf(operatorv1.DPUClusterStatus{Namespace: "dpus", Name: "a", Reachable: true}))

	before := len(f.writes)
	f.start()
	for range 3 {
		f.Expect(f.once()).To(Succeed())
	}
	f.Expect(f.writes[before:]).To(BeEmpty(), "nothing has changed")
}

// A DPU cluster that is down is told about, and holds up no other cluster.
func TestReconcile_oneDPUClusterDown(t *testing.T) {
	f := newFixture(t)
	f.addCluster("b", errors.New("it doesn't answer in time"))
	f.create()
	f.settle()
	f.Expect(f.condition(operatorv1.DPUClustersReachableCondition)).To(pending("dpus/b: it doesn't answer in time"))
	f.Expect(f.condition(operatorv1.ImagePullSecretsReconciledCondition)).To(pending("dpus/b: it doesn't answer in time"))
	f.Expect(f.condition(operatorv1.HostNetworkConfiguredCondition)).To(success)
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(pending("DPUClustersReachable: dpus/b"))
	f.clusters = f.clusters[:1]
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)
}

// A Secret that only looks like a kubeconfig is told about, and holds up no other: it gets no pull secrets, so that a deletion has none to
// remove.
func TestReconcile_aDPUClusterThatIsRefused(t *testing.T) {
	f := newFixture(t)
	f.refused = []dpucluster.Cluster{{Name: types.NamespacedName{Namespace: "users", Name: "x"}, Err: errors.New("delete it")}}
	f.create()
	f.settle()
	f.Expect(f.config().Status.DPUClusters).To(ConsistOf(operatorv1.DPUClusterStatus{Namespace: "dpus", Name: "a", Reachable: true},
		operatorv1.DPUClusterStatus{Namespace: "users", Name: "x", Message: "delete it"}))
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)
	f.delete()
}

// Once the network is being moved, nothing that is missing by then stops it halfway.
func TestReconcile_goesOnWithANetworkInBetween(t *testing.T) {
	f := newFixture(t)
	f.create()
	for f.network.moved == 0 {
		f.Expect(f.once()).To(Succeed())
	}
	f.missing = preflight.Report{{Prerequisite: preflight.Prerequisite{Name: "Kamaji"}, Problems: []string{"gone"}}}
	f.start()
	f.settle()
	f.Expect(f.network.moved).To(Equal(3))
	f.Expect(f.objects()).To(ContainElement(HaveSuffix("DaemonSet dpf-hostnetworkprovisioner")))
	f.Expect(f.condition(operatorv1.HostNetworkConfiguredCondition)).To(success)
}

// A conflict is no news: the step is decided once more, and conditions don't flap meanwhile.
func TestReconcile_aConflictOfTheNetworkChangesNoCondition(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	before, writes := f.config().Status, len(f.writes)
	f.network.err = apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "ocp-worker-1", errors.New("written by others"))
	f.Expect(f.once()).To(MatchError(apierrors.IsConflict, "a conflict"))
	f.Expect(f.config().Status).To(Equal(before))
	f.Expect(f.writes[writes:]).To(BeEmpty())
	f.network.err = nil
}

// A pause in mid-roll makes no node late.
func TestReconcile_theTimeOfAPauseDoesntCount(t *testing.T) {
	f := newFixture(t)
	config := f.create()
	f.settle()
	first := f.network.awake
	f.Expect(f.once()).To(Succeed())
	f.Expect(f.network.awake).To(Equal(first))
	for _, paused := range []bool{true, false} {
		f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(config), config)).To(Succeed())
		config.Spec.Paused = paused
		f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
		f.Expect(f.once()).To(Succeed())
	}
	f.Expect(f.network.awake).To(BeTemporally(">", first))
}

func TestReconcile_withoutANetworkTheProvisionersStayUntilItIsBack(t *testing.T) {
	f := newFixture(t)
	config := f.create()
	f.settle()
	f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(config), config)).To(Succeed())
	config.Spec.HostNetworkConfiguration = nil
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	for f.network.moved > 1 {
		f.Expect(f.once()).To(Succeed())
		f.Expect(f.condition(operatorv1.HostNetworkConfiguredCondition)).To(pending("the network moves back"))
	}
	f.Expect(f.objects()).To(ContainElement(HaveSuffix("DaemonSet dpf-hostnetworkprovisioner")))
	f.settle()
	f.Expect(f.network.moved).To(BeZero())
	f.Expect(f.objects()).NotTo(ContainElement(HaveSuffix("provisioner")))
	f.Expect(f.condition(operatorv1.RestoredCondition)).To(success)
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)
	f.Expect(f.config().Status.Nodes).To(BeEmpty())
}

func TestReconcile_pausedLeavesEverythingAsItIs(t *testing.T) {
	f := newFixture(t)
	config := f.create()
	f.settle()
	objects := f.objects()
	f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(config), config)).To(Succeed())
	config.Spec.Paused, config.Spec.HostNetworkConfiguration = true, nil
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(pending("it is paused: take spec.paused out to go on"))
	f.Expect(f.WithWatch.Delete(t.Context(), config.DeepCopy())).To(Succeed())
	f.settle()
	f.Expect(f.objects()).To(Equal(objects))
	f.Expect(f.network.moved).To(Equal(3))
	f.Expect(f.WithWatch.Patch(t.Context(), config, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"paused":false}}`)))).To(Succeed())
}

// The network first, while all components work; then DPUServices, while their controller works; then the rest.
func TestDelete_takesEverythingBackInOrder(t *testing.T) {
	f := newFixture(t)
	volume := f.volume().Spec
	f.create()
	f.settle()
	f.Expect(f.volume().Spec.ClaimRef).NotTo(BeNil())
	f.writes = nil
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.Expect(f.once()).To(Succeed())
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion, "Restored: it is on its way"))
	f.delete()
	f.Expect(f.objects()).To(BeEmpty())
	f.Expect(f.labelled()).To(BeEmpty())
	f.Expect(f.network.moved).To(BeZero())
	last := func(is string) int {
		i := len(f.writes) - 1
		for i >= 0 && !strings.Contains(f.writes[i], is) {
			i--
		}
		return i
	}
	first := func(is string) int {
		return slices.IndexFunc(f.writes, func(w string) bool { return strings.Contains(w, is) })
	}
	f.Expect(first("network -1")).To(BeNumerically(">=", 0))
	f.Expect(last("network -1")).To(BeNumerically("<", first("delete DPUService")))
	f.Expect(first("delete DPUService")).To(BeNumerically("<", first("delete Deployment")))
	f.Expect(f.stranded).To(BeZero(), "the controller in the Deployment removes what they have deployed")
	f.Expect(first("delete Deployment")).To(BeNumerically("<", first("patch Secret ngc")), "its controller would copy them again")
	var copies corev1.SecretList
	f.Expect(f.clusters[0].Client.List(t.Context(), &copies)).To(Succeed())
	f.Expect(copies.Items).To(BeEmpty())
	f.Expect(last("apply")).To(And(Equal(first("apply")), BeNumerically(">", last("network -1")), BeNumerically("<", first("delete DPUService"))),
		"once: the clean-up on DPUs, after the network and before its DPUService goes")
	f.Expect(f.volume()).To(And(HaveField("Spec", volume), HaveField("Annotations", BeEmpty())), "another claim can have it")
}

// What users have has finalizers: without its controllers it would be stuck for ever.
func TestDelete_waitsForWhatUsersHave(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	theirs := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{
		Namespace: testenv.Namespace(t), Name: "theirs", Finalizers: []string{svcv1.DPUServiceFinalizer},
		Labels: components.Members, Annotations: map[string]string{"operator.dpu.nvidia.com/applied": "servicechain/x"}, // a copy of ours
	}}
	theirs.Spec.HelmChart.Source = svcv1.ChartSource{RepoURL: "oci://example.com/charts", Chart: "c", Version: "1"}
	f.Expect(f.WithWatch.Create(t.Context(), theirs)).To(Succeed())
	objects := f.objects()
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.network.moved).To(BeZero())
	f.Expect(f.objects()).To(Equal(objects), "their controllers are there")
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"delete DPUService "+theirs.Namespace+"/theirs first, while its controller is there"))
	theirs.Finalizers = nil
	f.Expect(f.WithWatch.Update(t.Context(), theirs)).To(Succeed())
	f.Expect(f.WithWatch.Delete(t.Context(), theirs)).To(Succeed())
	f.delete()
}

// A cluster that doesn't answer is waited for only where something may be in it.
func TestDelete_waitsForNoClusterThatItHasNothingIn(t *testing.T) {
	f := newFixture(t)
	f.addCluster("never", errors.New("it doesn't answer in time"))
	f.create()
	f.settle()
	there := f.clusters[0]
	f.clusters[0].Client, f.clusters[0].Err = nil, errors.New("it is away")
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(And(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"the clean-up after the provisioners in DPU cluster dpus/a: it is away"), HaveField("Message", Not(ContainSubstring("never")))))
	f.Clock = clocktesting.NewFakePassiveClock(time.Now().Add(16 * time.Minute))
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(And(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion,
		"the pull secrets in DPU cluster dpus/a: it is away"), HaveField("Message", Not(ContainSubstring("never")))))
	f.clusters[0] = there
	f.delete()

	// An installation of an earlier release has no record of them.
	f.create()
	f.settle()
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: dpuservice.CopiesName}}
	f.Expect(f.WithWatch.Delete(t.Context(), record)).To(Succeed())
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(HaveField("Message", ContainSubstring("DPU cluster dpus/never: it doesn't answer in time")))
	f.clusters = f.clusters[:1]
	f.delete()
	f.Expect(f.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(record), record)).To(MatchError(apierrors.IsNotFound, "not found"))
}

// What a DPU cluster has that isn't allowed any more is taken back once it is allowed again. One that has never had anything holds up nothing:
// users may have it in a project of theirs.
func TestDelete_ofADPUClusterThatIsntAllowedAnyMore(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	there := f.clusters
	err := fmt.Errorf("%w: label it", dpucluster.ErrNotAllowed)
	f.clusters, f.refused = nil, []dpucluster.Cluster{
		{Name: there[0].Name, Err: err}, {Name: types.NamespacedName{Namespace: "users", Name: "x"}, Err: err},
	}
	f.settle()
	f.Expect(f.condition(operatorv1.DPUClustersReachableCondition)).To(pending("there is no DPU cluster; dpus/a: " + err.Error()))
	f.Expect(f.WithWatch.Delete(t.Context(), f.config())).To(Succeed())
	waits := func(what string) OmegaMatcher {
		return And(is(metav1.ConditionFalse, operatorv1.ReasonAwaitingDeletion, what+" in DPU cluster dpus/a: "+err.Error()),
			HaveField("Message", Not(ContainSubstring("users/x"))))
	}
	f.settle()
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(waits("the clean-up after the provisioners"))
	f.settleLate()
	f.Expect(f.events.Events).To(Receive(ContainSubstring("in DPU cluster dpus/a: " + err.Error())))
	f.Expect(f.condition(operatorv1.ReadyCondition)).To(waits("the pull secrets"))
	f.clusters, f.refused = there, nil
	f.delete()
	var copies corev1.SecretList
	f.Expect(there[0].Client.List(t.Context(), &copies)).To(Succeed())
	f.Expect(copies.Items).To(BeEmpty())
}

func TestDelete_abandonsWhatCantBeTakenBackAndNamesIt(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	f.addCluster("never", errors.New("it doesn't answer in time"))
	f.clusters[0].Client, f.clusters[0].Err = nil, errors.New("it doesn't answer in time")
	config := f.config()
	config.Annotations = map[string]string{operatorv1.AbandonAnnotation: "true"}
	f.Expect(f.WithWatch.Update(t.Context(), config)).To(Succeed())
	f.delete()
	f.Expect(f.objects()).To(BeEmpty())
	f.Expect(f.labelled()).To(BeEmpty())
	f.Expect(f.network.moved).To(Equal(3))
	f.Expect(f.events.Events).To(Receive(And(ContainSubstring("Warning Abandoned"), ContainSubstring("3 steps of the network"),
		ContainSubstring("DPU cluster dpus/a: it doesn't answer in time"), Not(ContainSubstring("dpus/never")))))
	f.network.moved = 0
}

// Wherever the operator is killed, at a write or right after it, the end is the same.
func TestReconcile_killedAtEveryWrite(t *testing.T) {
	f := newFixture(t)
	f.create()
	f.settle()
	installed := f.objects()
	f.delete()
	points := 0
	for _, after := range []bool{false, true} {
		for at, died := 1, true; died; at += stride(t) {
			f.create()
			died = f.kill(at, after)
			f.settle()
			f.Expect(f.objects()).To(Equal(installed))
			f.Expect(f.condition(operatorv1.ReadyCondition)).To(success)
			f.Expect(f.WithWatch.Delete(context.Background(), f.config())).To(Succeed())
			died = f.kill(at, after) || died
			f.delete()
			f.Expect(f.objects()).To(BeEmpty())
			f.Expect(f.labelled()).To(BeEmpty())
			f.Expect(f.record().Name).To(BeEmpty())
			f.Expect(f.network.moved).To(BeZero())
			points++
		}
	}
	t.Logf("%d points", points)
}

// stride of the crash points: all of them with BEDPLATE_CRASH_EVERY, as in make crash.
func stride(t *testing.T) int {
	t.Helper()
	if os.Getenv("BEDPLATE_CRASH_EVERY") != "" {
		return 1
	}
	return 11
}
