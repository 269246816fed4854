package manager

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/version"
)

// kubectl apply writes the whole Secret, token included, into an annotation.
func TestSlim_keepsNoCopyOfASecretInTheCache(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	meta := metav1.ObjectMeta{
		Name: "x", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: `{"token":"…"}`},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	secret := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: *meta.DeepCopy()}
	pod := &corev1.Pod{ObjectMeta: *meta.DeepCopy()}
	for _, object := range []client.Object{secret, pod} {
		slimmed, err := slim(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slimmed.(client.Object).GetManagedFields()).To(BeEmpty())
	}
	g.Expect(secret.Annotations).To(BeEmpty())
	g.Expect(pod.Annotations).NotTo(BeEmpty(), "others' annotations are read")
}

func TestWebhooks_canBeTurnedOff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	off := &Options{WebhookPort: 0}
	g.Expect(off.Webhooks(nil, func(ctrl.Manager) error { return errors.New("registered") })).To(Succeed())
	on := &Options{WebhookPort: 9443}
	g.Expect(on.Webhooks(nil, func(ctrl.Manager) error { return errors.New("broken") })).To(MatchError("register the webhooks: broken"))
}

func TestCommand_saysItsVersion(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *Options) error { return errors.New("it runs") }
	for _, command := range []*cobra.Command{Command("one", "", run), EngineCommand("two", "", run), ServerCommand("three", "", run)} {
		g := NewWithT(t)
		var out bytes.Buffer
		command.SetOut(&out)
		command.SetArgs([]string{"--version"})
		g.Expect(command.Execute()).To(Succeed())
		g.Expect(out.String()).To(Equal(command.Name() + " version " + version.Get() + "\n"))
	}
}

// With controller-runtime's own queue a manager sometimes doesn't shut down: see package queue.
func TestController_hasAQueueThatEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	options := (&Options{Poll: time.Second}).Controller()
	g.Expect(options.NewQueue).NotTo(BeNil())
	g.Expect(options.NewQueue("test", options.RateLimiter)).To(BeAssignableToTypeOf(queue.New("test", options.RateLimiter)))
}
