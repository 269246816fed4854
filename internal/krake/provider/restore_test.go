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
