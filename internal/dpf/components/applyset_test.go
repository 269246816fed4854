package components_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/testenv"
)

// writes of a client are counted. At one of them it is killed, before it is made or right after: from then on, nothing is written.
type writes struct {
	n, killAt int
	after     bool
}

var errKilled = errors.New("killed")

func (w *writes) do(write func() error) error {
	w.n++
	switch {
	case w.killAt == 0 || w.n < w.killAt:
		return write()
	case w.n > w.killAt:
		return errKilled
	}
	if w.after {
		_ = write()
	}
	return errKilled
}

func (w *writes) client(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.do(func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.do(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return w.do(func() error { return c.Apply(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.do(func() error { return c.Delete(ctx, o, opts...) })
		},
	})
}

type fixture struct {
	*WithT
	t *testing.T
	client.WithWatch
}

// The tests of a Set aren't parallel: there is one namespace.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, WithWatch: testenv.Client(t)}
	f.SetDefaultEventuallyTimeout(time.Minute)
	testenv.Kubectl(t, "apply", "-f", "../../../config/testdata/cert-manager.yaml")
	err := f.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.Namespace}})
	f.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	t.Cleanup(f.remove)
	return f
}

// remove all that was applied.
func (f *fixture) remove() {
	f.Eventually(func() []string {
		_, err := f.apply(&writes{}, nil)
		f.Expect(err).NotTo(HaveOccurred())
		f.releaseClaim()
		return f.members()
	}, "1m").Should(BeEmpty())
}

func (f *fixture) apply(w *writes, wanted []*unstructured.Unstructured) (components.State, error) {
	set := components.Set{Client: w.client(f.WithWatch), Reader: f.WithWatch, Owner: configuration()}
	return set.Apply(context.Background(), wanted)
}

// releaseClaim of its finalizer: there is no controller that does.
func (f *fixture) releaseClaim() {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: components.BFBClaim}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	f.Expect(client.IgnoreNotFound(f.Patch(context.Background(), claim, patch))).To(Succeed())
}

// members are all objects with the label of the Set, and its parent.
func (f *fixture) members() (names []string) {
	for _, kind := range []string{
		"v1/ConfigMap", "v1/ServiceAccount", "v1/Service", "v1/PersistentVolumeClaim", "apps/v1/Deployment", "apps/v1/DaemonSet",
		"rbac.authorization.k8s.io/v1/ClusterRoleBinding", "rbac.authorization.k8s.io/v1/RoleBinding", "svc.dpu.nvidia.com/v1alpha1/DPUService",
		"cert-manager.io/v1/Certificate", "cert-manager.io/v1/Issuer",
	} {
		list := &unstructured.UnstructuredList{}
		i := strings.LastIndex(kind, "/")
		list.SetAPIVersion(kind[:i])
		list.SetKind(kind[i+1:] + "List")
		f.Expect(f.List(context.Background(), list)).To(Succeed())
		for _, o := range list.Items {
			if o.GetLabels()["applyset.kubernetes.io/part-of"] == components.ID || o.GetName() == components.ParentName {
				names = append(names, o.GetKind()+" "+o.GetName())
			}
		}
	}
	slices.Sort(names)
	return names
}

func wantedNames(wanted []*unstructured.Unstructured) []string {
	names := []string{"ConfigMap " + components.ParentName}
	for _, o := range wanted {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	slices.Sort(names)
	return names
}

func TestSet_isAppliedOncePrunedAndLeavesOthersAlone(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	state, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(state.Going).To(BeEmpty())
	f.Expect(state.Objects).To(HaveLen(len(all)))
	f.Expect(f.members()).To(Equal(wantedNames(all)))
	for _, o := range state.Objects {
		f.Expect(o.GetUID()).NotTo(BeEmpty())
		owned := o.GetNamespace() != ""
		f.Expect(len(o.GetOwnerReferences()) == 1).To(Equal(owned), "%s %s: owners are for the own namespace", o.GetKind(), o.GetName())
	}
	parent := &corev1.ConfigMap{}
	f.Expect(f.Get(t.Context(), client.ObjectKey{Namespace: operatorv1.Namespace, Name: components.ParentName}, parent)).To(Succeed())
	f.Expect(parent.Labels).To(HaveKeyWithValue("applyset.kubernetes.io/id", MatchRegexp("^applyset-[A-Za-z0-9_-]{43}-v1$")))
	f.Expect(parent.Annotations).To(HaveKeyWithValue("applyset.kubernetes.io/contains-group-kinds", ContainSubstring(
		"ClusterRoleBinding.rbac.authorization.k8s.io,ConfigMap,DPUService.svc.dpu.nvidia.com,DaemonSet.apps")))

	again := &writes{}
	_, err = f.apply(again, render(f, configuration()))
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(again.n).To(BeZero(), "nothing has changed")

	// What others change of ours is corrected, what they add stays.
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = operatorv1.Namespace, "dpf-dpuservice-controller"
	patch := `{"metadata":{"labels":{"theirs":"x","applyset.kubernetes.io/part-of":null}},"spec":{"template":{"spec":{"containers":[{"name":"manager","image":"theirs"}]}}}}`
	f.Expect(f.Patch(t.Context(), d, client.RawPatch("application/strategic-merge-patch+json", []byte(patch)))).To(Succeed())
	corrected := &writes{}
	_, err = f.apply(corrected, all)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(corrected.n).To(Equal(1))
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
	f.Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal("ghcr.io/bedplate/dpf-dpuservice-manager:v1.2.3"))
	f.Expect(d.Labels).To(HaveKeyWithValue("theirs", "x"))

	// What isn't wanted any more goes, objects without a namespace, too; and fields.
	c := configuration()
	c.Spec.ImagePullSecrets, c.Spec.HostNetworkConfiguration = nil, nil
	fewer := render(f, c)
	fewer = slices.DeleteFunc(fewer, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ClusterRoleBinding" && o.GetName() == "dpf-dpuservice-controller"
	})
	_, err = f.apply(&writes{}, fewer)
	f.Expect(err).NotTo(HaveOccurred())
	_, err = f.apply(&writes{}, fewer)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.members()).To(Equal(wantedNames(fewer)))
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(d), d)).To(Succeed())
	f.Expect(d.Spec.Template.Spec.ImagePullSecrets).To(BeEmpty())
}

func TestSet_touchesNothingThatIsntItsOwn(t *testing.T) {
	f := newFixture(t)
	theirs := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "dpf-dpuservice-controller"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "dpf-dpuservice-controller"}}
	f.Expect(f.Create(t.Context(), theirs)).To(Succeed())
	t.Cleanup(func() { f.Expect(f.Delete(context.Background(), theirs)).To(Succeed()) })
	all := render(f, configuration())
	for range 2 {
		state, err := f.apply(&writes{}, all)
		f.Expect(err).To(MatchError("apply ClusterRoleBinding dpf-dpuservice-controller: there is one that isn't the operator's: rename or delete it"))
		f.Expect(state.Objects).To(HaveLen(len(all)), "the others are applied")
	}
	now := theirs.DeepCopy()
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(theirs), now)).To(Succeed())
	f.Expect(now.ResourceVersion).To(Equal(theirs.ResourceVersion))
	_, err := f.apply(&writes{}, nil)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(theirs), now)).To(Succeed())
}

// A user's copy of an object of ours has all its labels and annotations, and owners.
func TestSet_leavesCopiesOfItsObjectsAlone(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	state, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	duplicateOf := func(o *unstructured.Unstructured, as string) *unstructured.Unstructured {
		of := o.DeepCopy()
		f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(of), of)).To(Succeed())
		of.SetName(as)
		of.SetUID("")
		of.SetResourceVersion("")
		f.Expect(f.Create(t.Context(), of)).To(Succeed())
		t.Cleanup(func() { f.Expect(f.Delete(context.Background(), of)).To(Succeed()) })
		f.Expect(of.GetLabels()).To(HaveKeyWithValue("applyset.kubernetes.io/part-of", components.ID))
		return of
	}
	duplicate := func(kind, name, as string) *unstructured.Unstructured {
		return duplicateOf(find(state.Objects, kind, name), as)
	}
	copies := []*unstructured.Unstructured{
		duplicate("ClusterRoleBinding", "dpf-dpuservice-controller", "copy"), duplicate("ServiceAccount", "dpf-dpuservice-controller", "copy"),
		duplicate("DPUService", "servicechain", "copy"),
	}
	for _, wanted := range [][]*unstructured.Unstructured{all, nil, nil} {
		_, err = f.apply(&writes{}, wanted)
		f.Expect(err).NotTo(HaveOccurred())
		f.releaseClaim()
		for _, o := range copies {
			f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed(), o.GetKind())
			f.Expect(components.IsMember(o)).To(BeFalse())
		}
	}

	// Under the name of one of ours, too.
	taken := duplicateOf(copies[0], "dpf-servicefunctionchain-controller")
	_, err = f.apply(&writes{}, all)
	f.Expect(err).To(MatchError(ContainSubstring("dpf-servicefunctionchain-controller: there is one that isn't the operator's")))
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(taken), taken)).To(Succeed())
}

// What an earlier release has applied is known by its digest alone.
func TestSet_prunesWhatAnEarlierReleaseHasApplied(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	_, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	account := find(all, "ServiceAccount", "dpf-dpuservice-controller").DeepCopy()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"operator.dpu.nvidia.com/applied":"DiGeSt_-"}}}`))
	f.Expect(f.Patch(t.Context(), account, patch)).To(Succeed())
	_, err = f.apply(&writes{}, nil)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.members()).NotTo(ContainElement("ServiceAccount dpf-dpuservice-controller"))
}

// A kind that can't be listed, or an object that can't be applied, holds up its kind alone.
func TestSet_aKindThatFailsHoldsUpNoOther(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	_, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	forbidden := apierrors.NewForbidden(rbacv1.Resource("clusterrolebindings"), "", errors.New("no rights"))
	set := components.Set{Client: f.WithWatch, Owner: configuration(), Reader: interceptor.NewClient(f.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == "ClusterRoleBindingList" {
				return forbidden
			}
			return c.List(ctx, list, opts...)
		},
	})}
	_, err = set.Apply(t.Context(), nil)
	f.Expect(err).To(MatchError(ContainSubstring("list ClusterRoleBinding.rbac.authorization.k8s.io: ")))
	f.releaseClaim()
	f.Expect(f.members()).To(HaveEach(Or(HavePrefix("ClusterRoleBinding "), Equal("ConfigMap "+components.ParentName))))
	f.Expect(f.members()).To(ContainElement("ClusterRoleBinding dpf-dpuservice-controller"))

	_, err = set.Apply(t.Context(), all)
	f.Expect(err).To(MatchError(ContainSubstring("list ClusterRoleBinding")))
	f.Expect(f.members()).To(Equal(wantedNames(all)), "the others are applied")

	// One that can't be applied keeps those of its kind, which it may replace.
	unfit := slices.DeleteFunc(render(f, configuration()), func(o *unstructured.Unstructured) bool {
		return o.GetName() == "dpf-dpuservice-controller" && o.GetKind() != "Deployment" // of which one doesn't come, for another that goes
	})
	f.Expect(unstructured.SetNestedField(find(unfit, "ServiceAccount", "dpf-provisioning-controller").Object, "x", "secrets")).To(Succeed())
	_, err = f.apply(&writes{}, unfit)
	f.Expect(err).To(MatchError(ContainSubstring("apply ServiceAccount dpf-operator-system/dpf-provisioning-controller")))
	f.Expect(f.members()).To(And(ContainElement("ServiceAccount dpf-dpuservice-controller"),
		Not(ContainElement("ClusterRoleBinding dpf-dpuservice-controller"))))
}

// However often the operator is killed, at and after every write of installing and removing, nothing is left over at the end.
func TestSet_killedAtEveryWrite(t *testing.T) {
	f := newFixture(t)
	var all []*unstructured.Unstructured // one of each kind
	for _, o := range render(f, configuration()) {
		if !slices.ContainsFunc(all, func(other *unstructured.Unstructured) bool { return other.GetKind() == o.GetKind() }) {
			all = append(all, o)
		}
	}
	points := 0
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			w := &writes{killAt: at, after: after}
			_, err := f.apply(w, all)
			died := w.n >= at
			f.Expect(err != nil).To(Equal(died))
			if at%2 == 0 { // what was half installed can be removed
				f.remove()
			}
			_, err = f.apply(&writes{}, all)
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(f.members()).To(Equal(wantedNames(all)))

			w = &writes{killAt: at, after: after}
			_, err = f.apply(w, nil)
			f.Expect(err != nil).To(Equal(w.n >= at))
			died = died || w.n >= at
			f.remove()
			if !died {
				break
			}
			points++
		}
	}
	t.Logf("%d points", points)
	f.Expect(points).To(BeNumerically(">", 2*len(all)))
}

func TestSet_saysWhatIsntGoneYet(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	_, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	_, err = f.apply(&writes{}, nil)
	f.Expect(err).NotTo(HaveOccurred())
	state, err := f.apply(&writes{}, nil)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(state.Going).To(ConsistOf("PersistentVolumeClaim dpf-operator-system/bfb-pvc"))
	f.Expect(f.members()).To(ConsistOf("ConfigMap dpf-components", "PersistentVolumeClaim bfb-pvc"))

	state, err = f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(state.Going).To(ConsistOf("PersistentVolumeClaim dpf-operator-system/bfb-pvc"), "it is made again when it is gone")
	f.releaseClaim()
	state, err = f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(state.Going).To(BeEmpty())
	f.Expect(f.members()).To(Equal(wantedNames(all)))
}

// A list that fails deletes nothing.
func TestSet_unknownIsNotAbsent(t *testing.T) {
	f := newFixture(t)
	all := render(f, configuration())
	_, err := f.apply(&writes{}, all)
	f.Expect(err).NotTo(HaveOccurred())
	away := apierrors.NewServiceUnavailable("away")
	w := &writes{}
	set := components.Set{Client: w.client(f.WithWatch), Owner: configuration(), Reader: interceptor.NewClient(f.WithWatch, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return away },
	})}
	for _, wanted := range [][]*unstructured.Unstructured{all, nil} {
		_, err = set.Apply(t.Context(), wanted)
		f.Expect(err).To(MatchError(away))
	}
	f.Expect(w.n).To(BeZero())
	f.Expect(f.members()).To(Equal(wantedNames(all)))
}
