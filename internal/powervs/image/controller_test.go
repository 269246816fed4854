package image_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
	"github.com/bedplate/bedplate/internal/powervs/sim"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// start runs a provider with a cluster that has a workspace.
func start(t *testing.T) *powervstest.Fixture {
	f := powervstest.Start(t, powervstest.WithWorkspace)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	return f
}

func images(f *powervstest.Fixture) []string { return f.Made(sim.KindImage) }

func TestImage_isImportedAndDeleted(t *testing.T) {
	t.Parallel()
	f := start(t)
	image := f.CreateImage("demo", "imported")
	f.UntilReady(image)
	f.Expect(images(f)).To(ConsistOf("imported"))
	f.Expect(image.Status.ImageID).NotTo(BeEmpty())
	f.Expect(image.Status.JobID).NotTo(BeEmpty())
	f.Expect(image.Status.ImageState).To(Equal("active"))
	f.Expect(image.Status.Ready).To(BeTrue())
	f.Expect(image.OwnerReferences).To(ContainElement(HaveField("Kind", "Cluster")), "it moves with its cluster")
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(BeEmpty())
}

func TestImage_isRetained(t *testing.T) {
	t.Parallel()
	f := start(t)
	image := f.CreateImage("demo", "imported")
	f.UntilReady(image)
	powervstest.Change(f, image, func(i *infrav1.IBMPowerVSImage) { i.Spec.DeletePolicy = infrav1.DeletePolicyRetain })
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(ConsistOf("imported"))

	again := f.CreateImage("demo", "imported")
	f.UntilReady(again)
	f.Expect(again.Status.JobID).To(BeEmpty(), "it is used, as the user's own")
	f.Delete(again)
	f.UntilGone(again)
	f.Expect(images(f)).To(ConsistOf("imported"))
}

func TestImage_ofThatNameIsTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := start(t)
	image := f.CreateImage("demo", powervstest.ImageName)
	f.UntilReady(image)
	f.Expect(image.Status.ImageID).To(Equal(powervstest.ImageID))
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(f.Cloud.State()[sim.KindImage]).To(HaveLen(1))
}

func TestImage_saysWhyItsImportHasFailed(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.Expect(f.Cloud.SetOutcome(sim.Outcome{Kind: sim.KindJob, Status: "failed", Message: "object not found in the bucket"})).To(Succeed())
	image := f.CreateImage("demo", "imported")
	f.UntilReason(image, infrav1.ImageImportedCondition, "Failed", "object not found in the bucket")
	f.Expect(image.Status.JobID).NotTo(BeEmpty())
	f.Expect(image.Status.Ready).To(BeFalse())
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(BeEmpty())
}

// A workspace imports one image at a time.
func TestImage_waitsForAnotherImport(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, name := range []string{"one", "two", "three"} {
		f.CreateImage("demo", name)
	}
	for _, name := range []string{"one", "two", "three"} {
		f.UntilReady(f.NewImage("demo", name))
	}
	f.Expect(images(f)).To(ConsistOf("one", "two", "three"))
}

func TestImage_isDeletedDuringItsImport(t *testing.T) {
	t.Parallel()
	f := powervstest.Start(t, powervstest.WithWorkspace, func(c *sim.Config) { c.Times.ImageImport.Duration = 1000 * time.Hour })
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	image := f.CreateImage("demo", "imported")
	f.UntilReason(image, infrav1.ImageImportedCondition, "Waiting", "which imports the image")
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(BeEmpty())
	f.Expect(f.Made(sim.KindJob)).To(BeEmpty())
}

func TestImage_isMadeAgainWhenItWasDeletedOutside(t *testing.T) {
	t.Parallel()
	f := start(t)
	image := f.CreateImage("demo", "imported")
	f.UntilReady(image)
	was := image.Status.ImageID
	f.Expect(f.Cloud.Vanish(was)).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(image)).To(Succeed())
		g.Expect(image.Status.ImageID).NotTo(Or(BeEmpty(), Equal(was)))
		g.Expect(image.Status.Ready).To(BeTrue())
	}).Should(Succeed())
	f.Expect(images(f)).To(ConsistOf("imported"))
}

// The ledger was restored from before the import, so that only the status knows the image.
func TestImage_isDeletedWithAnOlderLedger(t *testing.T) {
	t.Parallel()
	for name, vanished := range map[string]bool{"that still exists": false, "that is gone already": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := powervstest.StartCloud(t, powervstest.WithWorkspace)
			stop := run(f)
			f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
			image := f.CreateImage("demo", "imported")
			f.UntilReady(image)
			stop()
			ledger, err := ledgers.Of(t.Context(), f.Client, f.Client.Scheme(), image)
			f.Expect(err).NotTo(HaveOccurred())
			ledger.Spec.Entries = nil
			f.Expect(f.Client.Update(t.Context(), ledger)).To(Succeed())
			if vanished {
				f.Expect(f.Cloud.Vanish(image.Status.ImageID)).To(Succeed())
			}
			f.Delete(image)
			run(f)
			f.UntilGone(image)
			f.Expect(images(f)).To(BeEmpty())
		})
	}
}

// All is deleted at once: the Secret stays as long as the image needs it, and the cluster waits for the image.
// The garbage collector deletes images after the Cluster, which waits for its IBMPowerVSCluster, whose workspace the images lie in.
func TestImage_isDeletedWithItsClusterAndKeepsTheSecretOfItsOwn(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.Create(f.Secret("own"))
	image := f.CreateImage("demo", "imported", func(i *infrav1.IBMPowerVSImage) {
		i.Spec.Authentication = &infrav1.Authentication{SecretRef: infrav1.SecretReference{Name: "own"}}
	})
	f.UntilReady(image)
	secret := &corev1.Secret{}
	f.Expect(f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "own"}, secret)).To(Succeed())
	f.Expect(secret.Finalizers).NotTo(BeEmpty())
	f.Delete(secret)
	f.Expect(f.Read(secret)).To(Succeed(), "it is in use")
	cluster := &infrav1.IBMPowerVSCluster{}
	cluster.Name, cluster.Namespace = "demo", f.Namespace
	f.Delete(cluster)
	f.UntilGone(image)
	f.Expect(images(f)).To(BeEmpty())
	f.UntilGone(secret)
	f.UntilGone(cluster)
}

// Nothing is polled in this test.
func TestImage_startsWhenItsClusterHasAWorkspace(t *testing.T) {
	t.Parallel()
	f := powervstest.StartCloud(t, powervstest.WithWorkspace)
	f.RunProvider(time.Hour, time.Hour)
	f.CreateImage("demo", "imported")
	f.CreateCluster("demo", powervstest.Plain)
	f.Eventually(func() int { return f.Called("power.importImage") }).Should(Equal(1))
}
