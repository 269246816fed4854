package machineapi_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// killed is what a life ends with.
type killed struct{ point string }

// killAt ends the life at one of its points: before and after each call of the actuator and each write.
func (f *fixture) killAt(n int) (points func() int) {
	at := 0
	reach := func(point string) {
		if at++; at == n {
			panic(killed{point})
		}
	}
	f.cloud.at = func(_ context.Context, point string, machine *machinev1.Machine) {
		if f.cloud.state(client.ObjectKeyFromObject(machine)) != "" {
			f.Expect(f.machine().Finalizers).To(ContainElement(machinev1.MachineFinalizer), "an instance never lacks a finalizer")
		}
		reach(point)
	}
	f.writer = interceptor.NewClient(f.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			reach("before patch")
			err := c.Patch(ctx, o, p, opts...)
			reach("after patch")
			return err
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			reach("before delete")
			err := c.Delete(ctx, o, opts...)
			reach("after delete")
			return err
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			reach("before patch of status")
			err := c.SubResource(sub).Patch(ctx, o, p, opts...)
			reach("after patch of status")
			return err
		},
	})
	return func() int { return at }
}

// live is a Machine's whole life, from its making to its end.
func (f *fixture) live() {
	f.t.Helper()
	for range 30 {
		f.survive()
		if f.isGone() {
			return
		}
		machine := f.machine()
		switch phase := ptr.Deref(machine.Status.Phase, ""); {
		case phase == machinev1.PhaseProvisioned && machine.Status.NodeRef == nil:
			f.join()
		case phase == machinev1.PhaseRunning && machine.DeletionTimestamp == nil:
			f.delete()
		}
	}
	f.t.Fatalf("it doesn't end: %+v", f.machine())
}

// survive reconciles once; a killed controller is followed by another one without its memory.
func (f *fixture) survive() {
	defer func() {
		if cause := recover(); cause != nil {
			f.t.Logf("killed: %+v", cause.(killed))
		}
	}()
	f.reconcile()
}

// Wherever the controller is killed, the Machine gets one instance, and there is nothing left of it in the end.
func TestKill_atEveryPoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	points := f.killAt(0)
	f.live()
	t.Logf("%d points", points())
	for n := 1; n <= points(); n++ {
		t.Run(fmt.Sprintf("point %d", n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.killAt(n)
			f.live()
			f.Expect(f.cloud.made).To(BeEquivalentTo(1))
			f.Expect(f.cloud.instances).To(BeEmpty())
			f.Expect(f.nodeIsGone()).To(BeTrue())
		})
	}
}
