package image_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/powervstest"
)

// run a provider until it is stopped or the test ends.
func run(f *powervstest.Fixture) (stop func()) {
	return f.RunProvider(powervstest.Poll, powervstest.Settle)
}

// peers is an image as another provider leaves it. No provider runs.
func peers(t *testing.T, change ...func(*infrav1.IBMPowerVSImage)) (*powervstest.Fixture, *infrav1.IBMPowerVSImage) {
	f := powervstest.StartCloud(t, powervstest.WithWorkspace)
	stop := run(f)
	f.UntilReady(f.CreateCluster("demo", powervstest.Plain))
	stop()
	image := f.NewImage("demo", "imported", change...)
	f.CreatePeersImage(image, powervstest.Shared)
	return f, image
}

// setStatus changes what the other provider has left.
func setStatus(f *powervstest.Fixture, image *infrav1.IBMPowerVSImage, change func(*infrav1.IBMPowerVSImageStatus)) {
	f.Eventually(func() error {
		if err := f.Read(image); err != nil {
			return err
		}
		change(&image.Status)
		return f.Client.Status().Update(context.Background(), image)
	}).Should(Succeed())
}

func untilTaken(f *powervstest.Fixture, image *infrav1.IBMPowerVSImage) {
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(image)).To(Succeed())
		g.Expect(image.Annotations).NotTo(HaveKey(infrav1.TakeOverAnnotation))
	}).Should(Succeed())
	f.UntilReady(image)
}

func TestTakeOver_keepsTheImageAndDeletesItWithItsObject(t *testing.T) {
	t.Parallel()
	f, image := peers(t)
	was, creates := image.Status, f.Creates()
	stop := run(f)
	f.UntilReason(image, infrav1.ImageReadyCondition, "Invalid", `give this object the annotation bedplate.dev/take-over="true"`)
	for range 2 { // a crash between the two writes leaves the annotation, too
		powervstest.Change(f, image, powervstest.TakeOver)
		untilTaken(f, image)
	}
	stop()
	run(f) // it knows nothing but the ledger
	f.UntilReady(image)
	f.Expect([]string{image.Status.ImageID, image.Status.JobID}).To(Equal([]string{was.ImageID, was.JobID}))
	f.Expect(f.Creates()).To(Equal(creates))
	f.Expect(images(f)).To(ConsistOf("imported"))
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(BeEmpty())
}

func TestTakeOver_ofAnImageThatIsRetained(t *testing.T) {
	t.Parallel()
	f, image := peers(t, powervstest.TakeOver, func(i *infrav1.IBMPowerVSImage) { i.Spec.DeletePolicy = infrav1.DeletePolicyRetain })
	run(f)
	untilTaken(f, image)
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(ConsistOf("imported"))
}

// The other provider has found it by its name: it is the user's own.
func TestTakeOver_ofAnImageWithoutAnImportKeepsItForGood(t *testing.T) {
	t.Parallel()
	f, image := peers(t, powervstest.TakeOver)
	setStatus(f, image, func(s *infrav1.IBMPowerVSImageStatus) { s.JobID = "" })
	run(f)
	untilTaken(f, image)
	f.Expect(f.Ledger(image).Entry("image").Foreign).To(BeTrue())
	f.Delete(image)
	f.UntilGone(image)
	f.Expect(images(f)).To(ConsistOf("imported"))
}

// The garbage collector doesn't wait until all is taken over.
func TestTakeOver_ofAnImageThatIsDeletedWithItsCluster(t *testing.T) {
	t.Parallel()
	f, image := peers(t, powervstest.TakeOver)
	cluster := &infrav1.IBMPowerVSCluster{}
	cluster.Name, cluster.Namespace = "demo", f.Namespace
	f.Expect(f.Read(cluster)).To(Succeed())
	cluster.Status.Conditions = nil // the other provider's say nothing of a workspace
	f.Expect(f.Client.Status().Update(t.Context(), cluster)).To(Succeed())
	f.Delete(cluster)
	run(f)
	f.UntilGone(image)
	f.UntilGone(cluster)
	f.Expect(images(f)).To(BeEmpty())
}

func TestTakeOver_saysWhatCantBeTakenOver(t *testing.T) {
	t.Parallel()
	f, image := peers(t, powervstest.TakeOver)
	was := image.Status.ImageID
	setStatus(f, image, func(s *infrav1.IBMPowerVSImageStatus) { s.ImageID = "" })
	run(f)
	f.UntilReason(image, infrav1.ImageReadyCondition, "Invalid", "job "+image.Status.JobID+" hadn't imported the image")
	setStatus(f, image, func(s *infrav1.IBMPowerVSImageStatus) { s.ImageID = was })
	f.Expect(f.Cloud.Vanish(was)).To(Succeed())
	f.UntilReason(image, infrav1.ImageReadyCondition, "Invalid", "image "+was+", which the status shows, doesn't exist: delete this IBMPowerVSImage")
	f.Expect(f.Ledger(image)).To(BeNil())
	f.Delete(image)
	f.UntilGone(image)
}

func TestTakeOver_ofWhatBedplateMadeItselfChangesNothing(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, name := range []string{"imported", powervstest.ImageName} { // the second one is the user's own
		image := f.CreateImage("demo", name, powervstest.TakeOver)
		untilTaken(f, image)
		before := f.Ledger(image)
		powervstest.Change(f, image, powervstest.TakeOver)
		untilTaken(f, image)
		f.Expect(f.Ledger(image).Spec.OwnerID).To(Equal(before.Spec.OwnerID))
		was, is := before.Entry("image"), f.Ledger(image).Entry("image")
		f.Expect(is.ID).To(Equal(was.ID))
		f.Expect(is.Foreign).To(Equal(name == powervstest.ImageName))
		f.Expect(is.Untagged).To(BeEmpty())
	}
	f.Expect(f.Called("power.importImage")).To(Equal(1))
}

// Another ledger has it.
func TestTakeOver_notOfAnotherObjectsImage(t *testing.T) {
	t.Parallel()
	f, first := peers(t, powervstest.TakeOver)
	stop := run(f)
	untilTaken(f, first)
	stop()
	second := f.NewImage("demo", "second", powervstest.TakeOver)
	f.Create(second)
	second.Status = first.Status
	f.Expect(f.Client.Status().Update(t.Context(), second)).To(Succeed())
	run(f)
	f.UntilReason(second, infrav1.ImageReadyCondition, "Invalid", "is in ledger "+f.Namespace+"/ibmpowervsimage-imported, so it isn't this object's")
	f.Expect(f.Ledger(second)).To(BeNil())
}
