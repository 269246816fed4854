package testenv

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Created is a subtest that creates an object after a change: the API server answers with the message, or takes it if that is empty.
func Created[T client.Object](t *testing.T, name string, object T, change func(T), message string) {
	t.Helper()
	c := Client(t)
	t.Run(name, func(t *testing.T) {
		object.SetGenerateName("create-")
		change(object)
		Answered(t, c.Create(t.Context(), object), message)
	})
}

// Updated is a subtest that changes an object which exists with the given status: see Created.
func Updated[T client.Object](t *testing.T, name string, object T, change func(T), message string) {
	t.Helper()
	c := Client(t)
	t.Run(name, func(t *testing.T) {
		made := Made(t.Context(), NewWithT(t), c, object)
		change(made)
		Answered(t, c.Update(t.Context(), made), message)
	})
}

// Made writes an object with its status, and returns it as it was stored.
func Made[T client.Object](ctx context.Context, g Gomega, c client.Client, object T) T {
	if object.GetName() == "" {
		object.SetGenerateName("made-")
	}
	written := object.DeepCopyObject().(T)
	g.Expect(c.Create(ctx, written)).To(Succeed())
	object.SetName(written.GetName())
	object.SetResourceVersion(written.GetResourceVersion())
	g.Expect(client.IgnoreNotFound(c.Status().Update(ctx, object))).To(Succeed()) // templates have none
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(written), written)).To(Succeed())
	return written
}

// Answered checks the answer to a write, of which the message gives parts, divided by " … ". A message that is empty means that the write
// was taken.
func Answered(t *testing.T, err error, message string) {
	t.Helper()
	g := NewWithT(t)
	if message == "" {
		g.Expect(err).NotTo(HaveOccurred())
		return
	}
	for part := range strings.SplitSeq(message, " … ") {
		g.Expect(err).To(MatchError(ContainSubstring(part)))
	}
	g.Expect(err).NotTo(MatchError(ContainSubstring("evaluating rule")), "a rule fails itself")
}
