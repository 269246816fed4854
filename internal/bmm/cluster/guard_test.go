package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
)

const cantBeAdded = "the finalizer can't be added to secret "

// A Secret without a finalizer is deleted with its namespace, and what was created with it leaks.
func TestSecret_thatPolicyLetsNobodyKeepIsNamedBeforeTheFirstCreate(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	lift := f.ForbidFinalizer(cluster.SecretFinalizer)
	object := f.CreateCluster("demo")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", cantBeAdded+f.Namespace+"/demo ("+cluster.SecretFinalizer+")")
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Invalid", "no finalizers on Secrets")
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
	f.Expect(f.Called("createVpc")).To(BeZero())

	lift()
	f.UntilReady(object)
	kept := f.Secret("demo")
	f.Expect(f.Read(kept)).To(Succeed())
	f.Expect(kept.Finalizers).To(ConsistOf(cluster.SecretFinalizer))
	f.Delete(object)
	f.UntilGone(object)
}

// What was created before there was such a policy is maintained, and nothing new is created.
func TestSecret_thatIsNotKeptAnyMoreStopsOnlyWhatBegins(t *testing.T) {
	t.Parallel()
	f, object := ready(t)
	f.ForbidFinalizer(cluster.SecretFinalizer)
	secret := f.Secret("demo")
	f.Expect(f.Read(secret)).To(Succeed())
	bmmtest.Change(f, secret, func(s *corev1.Secret) { s.Finalizers = nil })

	machine := f.CreateMachine("demo", "worker-1", []byte("#cloud-config"))
	f.UntilReason(machine, infrav1.ClusterReadyCondition, "Invalid", cantBeAdded)
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.Description = "changed" })
	f.Eventually(func() string { return f.Sim.State().VPCs[0].Description }).Should(Equal("changed"))
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
	f.Delete(machine)
	f.Delete(object)
	f.UntilGone(machine)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}
