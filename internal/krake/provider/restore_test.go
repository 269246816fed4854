package provider_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/kraketest"
)

// Backups often have no status. Another cloud matches better by now: the ledger says where the infrastructure is.
func TestRestore_withoutAStatusTheClusterStaysOnItsCloud(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"with its kubeconfig in the spec": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := kraketest.StartIM(t)
			f.Observe()
			stop := f.RunControllers()
			cloud := f.CreateCloud()
			c := f.CreateCluster("demo")
			f.UntilState(c, krakev1.StateOnline)
			id := c.Status.ClusterID
			stop()

			f.Create(&krakev1.MetricsProvider{ObjectMeta: meta(f, "static"), Spec: krakev1.MetricsProviderSpec{
				Type: krakev1.MetricsProviderStatic, Static: &krakev1.StaticMetrics{Metrics: map[string]float64{"free": 1}},
			}})
			f.Create(&krakev1.Metric{ObjectMeta: meta(f, "free"), Spec: krakev1.MetricSpec{
				Max: 1, Provider: krakev1.MetricSource{Name: "static", Metric: "free"},
			}})
			better := &krakev1.Cloud{ObjectMeta: meta(f, "better"), Spec: *cloud.Spec.DeepCopy()}
			better.Spec.IM.Metrics = []krakev1.MetricReference{{Name: "free", Weight: 1, Namespaced: true}}
			f.Create(better)

			backup := f.NewCluster("demo", func(b *krakev1.Cluster) {
				if b.Spec = c.Spec; !keep {
					b.Spec.Kubeconfig = nil
				}
				b.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
			})
			kraketest.Change(f, c, func(c *krakev1.Cluster) { c.Finalizers = nil })
			f.Delete(c)
			f.UntilGone(c)
			f.Delete(f.Secret("demo-kubeconfig", nil)) // as the garbage collector does
			f.Create(backup)
			f.RunControllers()
			f.UntilState(backup, krakev1.StateOnline)
			f.Eventually(func(g Gomega) {
				g.Expect(f.Read(backup)).To(Succeed())
				g.Expect(backup.Status.ScheduledTo).To(HaveValue(Equal(cloud.Reference())))
				g.Expect(backup.Status.RunningOn).To(HaveValue(Equal(cloud.Reference())))
				g.Expect(backup.Status.ClusterID).To(Equal(id))
			}).Should(Succeed())
			three := strings.Replace(kraketest.Template, "count: 1", "count: 2", 1)
			kraketest.Change(f, backup, func(c *krakev1.Cluster) { c.Spec.TOSCA = three })
			f.Eventually(func(g Gomega) {
				g.Expect(f.Read(backup)).To(Succeed())
				g.Expect(backup.Status.LastAppliedTOSCA).To(Equal(three))
			}).Should(Succeed())
			f.Expect(f.IM.State()).To(HaveLen(1))
			f.Delete(backup)
			f.UntilGone(backup)
			f.Expect(f.IM.State()).To(BeEmpty())
		})
	}
}

// A Cluster was abandoned, as its cloud is gone. The next one of its name isn't bound to that cloud, for good, by what is left of it.
func TestRestore_aNewClusterIsNotBoundByTheLedgerOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	f := kraketest.Start(t)
	cloud := f.CreateCloud()
	earlier := f.CreateCluster("demo")
	f.UntilState(earlier, krakev1.StateConnecting)
	kraketest.Change(f, earlier, func(c *krakev1.Cluster) {
		c.Annotations = map[string]string{krakev1.AbandonAnnotation: "true"}
	})
	ledger := f.Ledger(earlier)
	f.Delete(earlier)
	f.UntilGone(earlier)
	f.Delete(f.Secret("demo-kubeconfig", nil)) // as the garbage collector does
	another := &krakev1.Cloud{ObjectMeta: meta(f, "another"), Spec: *cloud.Spec.DeepCopy()}
	another.Labels = map[string]string{"tier": "1"}
	f.Create(another)

	c := f.CreateCluster("demo", func(c *krakev1.Cluster) {
		c.Spec.Constraints = &krakev1.Constraints{Cloud: &krakev1.CloudConstraints{Labels: []string{"tier is 1"}}}
	})
	f.UntilReason(c, krakev1.ScheduledCondition, "Invalid", "ledger "+ledger.Name+" is that of an earlier Cluster of this name")
	f.Expect(c.Status.ScheduledTo).To(BeNil())
	f.Expect(c.Status.Reason).To(HaveValue(HaveField("Code", krakev1.ReasonInvalidResource)))

	f.Delete(ledger) // as `bedplate orphans` does when all of it is gone
	kraketest.Change(f, ledger, func(l *ledgerv1.Ledger) { l.Finalizers = nil })
	f.UntilState(c, krakev1.StateConnecting)
	f.Expect(c.Status.RunningOn).To(HaveValue(Equal(another.Reference())))
}
