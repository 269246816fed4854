package machineapi_test

import (
	"context"
	"fmt"
	"sync"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/machineapi"
)

// cloud is an actuator with instances in memory.
type cloud struct {
	mu sync.Mutex
	// instances are the states of what exists, by Machine.
	instances map[client.ObjectKey]string
	calls     map[string]int
	made      int
	// refuse are errors by method.
	refuse map[string]error
	// slow instances keep terminating until the test ends them.
	slow bool
	// at is called before and after each method has done its work.
	at func(ctx context.Context, point string, machine *machinev1.Machine)
}

func newCloud() *cloud {
	return &cloud{
		instances: map[client.ObjectKey]string{}, calls: map[string]int{}, refuse: map[string]error{},
		at: func(context.Context, string, *machinev1.Machine) {},
	}
}

func (c *cloud) enter(ctx context.Context, method string, machine *machinev1.Machine) error {
	c.mu.Lock()
	c.calls[method]++
	err := c.refuse[method]
	c.mu.Unlock()
	c.at(ctx, "before "+method, machine)
	return err
}

func (c *cloud) Create(ctx context.Context, machine *machinev1.Machine) error {
	if err := c.enter(ctx, "Create", machine); err != nil {
		return err
	}
	c.mu.Lock()
	if key := client.ObjectKeyFromObject(machine); c.instances[key] == "" {
		c.instances[key] = "Ready"
		c.made++
	}
	c.mu.Unlock()
	c.at(ctx, "after Create", machine)
	return &machineapi.RequeueAfterError{After: poll}
}

func (c *cloud) Update(ctx context.Context, machine *machinev1.Machine) error {
	if err := c.enter(ctx, "Update", machine); err != nil {
		return err
	}
	state := c.state(client.ObjectKeyFromObject(machine))
	machine.Spec.ProviderID = ptr.To(providerIDOf(machine))
	machine.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	machine.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"instanceState":%q}`, state))}
	metav1.SetMetaDataAnnotation(&machine.ObjectMeta, machineapi.InstanceStateAnnotation, state)
	metav1.SetMetaDataLabel(&machine.ObjectMeta, machineapi.ZoneLabel, "zone-a")
	c.at(ctx, "after Update", machine)
	return nil
}

func (c *cloud) Exists(ctx context.Context, machine *machinev1.Machine) (bool, error) {
	if err := c.enter(ctx, "Exists", machine); err != nil {
		return false, err
	}
	return c.state(client.ObjectKeyFromObject(machine)) != "", nil
}

func (c *cloud) Delete(ctx context.Context, machine *machinev1.Machine) error {
	if err := c.enter(ctx, "Delete", machine); err != nil {
		return err
	}
	c.mu.Lock()
	key := client.ObjectKeyFromObject(machine)
	if !c.slow {
		delete(c.instances, key)
	} else if c.instances[key] != "" {
		c.instances[key] = "Terminating"
	}
	c.mu.Unlock()
	c.at(ctx, "after Delete", machine)
	return nil
}

// end an instance, also outside the actuator.
func (c *cloud) end(machine *machinev1.Machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.instances, client.ObjectKeyFromObject(machine))
}

func (c *cloud) state(key client.ObjectKey) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.instances[key]
}

func (c *cloud) called(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[method]
}

func (c *cloud) set(method string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse[method] = err
}

func providerIDOf(machine *machinev1.Machine) string {
	return "toy://" + machine.Namespace + "/" + machine.Name
}
