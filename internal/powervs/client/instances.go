package client

import (
	"context"
	"errors"
	"slices"

	rc "github.com/IBM/platform-services-go-sdk/resourcecontrollerv2"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/fault"
)

// Plan of an instance: the ID of what is offered.
type Plan string

// The plans of workspaces, and of instances of Object Storage.
const (
	PlanPowerVS Plan = "f165dd34-3a40-423b-9d95-e90a23f724dd"
	PlanCOS     Plan = "1e4e33e4-cfa6-4f12-9016-be594a6d5f87"
)

// TargetGlobal is that of instances of Object Storage.
const TargetGlobal = "global"

// Instance is a resource instance: a workspace of PowerVS, or an instance of Object Storage.
type Instance struct {
	// ID is its GUID.
	ID   string `json:"guid"`
	CRN  string `json:"crn"`
	Name string `json:"name"`
	Plan Plan   `json:"resource_plan_id"`
	// Target is the zone of a workspace, or TargetGlobal.
	Target          string `json:"region_id"`
	ResourceGroupID string `json:"resource_group_id"`
	// State is StateActive, StateProvisioning, StateFailed or another one. What has gone isn't shown.
	State string `json:"state"`
	// Operation is what was asked for last.
	Operation Operation `json:"last_operation"`
}

// Operation of an Instance.
type Operation struct {
	// Type is such as create or delete.
	Type string `json:"type"`
	// State is succeeded, failed or in progress.
	State       string `json:"state"`
	Description string `json:"description"`
}

// States of an Instance.
const (
	StateActive       = "active"
	StateProvisioning = "provisioning"
	StateFailed       = "failed"
)

// Deleting reports whether a deletion is in progress.
func (i Instance) Deleting() bool {
	return i.Operation.Type == "delete" && i.Operation.State == "in progress"
}

// InstanceRequest is what CreateInstance takes.
type InstanceRequest struct {
	Name            string
	Plan            Plan
	Target          string
	ResourceGroupID string
}

// Instances returns the account's instances of a plan, by their name if that isn't empty. Names need not be unique. What has gone isn't
// among them, nor what is in reclamation, nor what has failed.
func (c *Client) Instances(ctx context.Context, plan Plan, name string) ([]Instance, error) {
	return c.instancesIn(ctx, "", plan, name)
}

// FailedInstances returns the account's instances of a plan and a name that have failed: the service lists them only if it is asked to.
func (c *Client) FailedInstances(ctx context.Context, plan Plan, name string) ([]Instance, error) {
	return c.instancesIn(ctx, StateFailed, plan, name)
}

// instancesIn a state; if that is empty, those that the service lists by itself.
func (c *Client) instancesIn(ctx context.Context, state string, plan Plan, name string) ([]Instance, error) {
	r := call{place: place{service: ServiceResourceController}, op: "list resource instances"}
	all, err := list[Instance](ctx, c, r, "resources", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.controller.ListResourceInstancesWithContext(ctx, &rc.ListResourceInstancesOptions{
			Name: optional(name), ResourcePlanID: ptr.To(string(plan)), Limit: ptr.To[int64](pageSize), Start: start, State: optional(state),
		}))
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(i Instance) bool {
		return i.gone() || i.Plan != plan || name != "" && i.Name != name || state != "" && i.State != state
	}), nil
}

// Instance returns an instance. One that is removed, or in reclamation, is NotFound.
func (c *Client) Instance(ctx context.Context, id string) (*Instance, error) {
	const op = "get resource instance"
	i, err := get[Instance](ctx, c, call{
		place: place{service: ServiceResourceController}, op: op, ids: []string{id}, control: c.controllerAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.controller.GetResourceInstanceWithContext(ctx, &rc.GetResourceInstanceOptions{ID: &id}))
		},
	}, id)
	if err == nil && i.gone() {
		return nil, &fault.Error{Class: fault.NotFound, Op: op, Err: errors.New("its state is " + i.State)}
	}
	return i, err
}

// CreateInstance makes an instance, which is StateProvisioning first. Quota means that the account may not have more.
func (c *Client) CreateInstance(ctx context.Context, request InstanceRequest) (*Instance, error) {
	return create[Instance](ctx, c, call{
		place: place{service: ServiceResourceController}, op: "create resource instance", control: c.controllerAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.controller.CreateResourceInstanceWithContext(ctx, &rc.CreateResourceInstanceOptions{
				Name: &request.Name, Target: &request.Target, ResourceGroup: &request.ResourceGroupID, ResourcePlanID: ptr.To(string(request.Plan)),
			}))
		},
	})
}

// DeleteInstance starts the deletion of an instance and of its keys. It is over when Instance answers NotFound. Busy means that something
// is in it, or that another operation is in progress.
func (c *Client) DeleteInstance(ctx context.Context, id string) error {
	return c.ask(ctx, call{
		place: place{service: ServiceResourceController}, op: "delete resource instance", ids: []string{id}, control: c.controllerAnswers,
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.controller.DeleteResourceInstanceWithContext(ctx, &rc.DeleteResourceInstanceOptions{
				ID: &id, Recursive: ptr.To(true),
			}))
		},
	})
}

// HMACKey is a key of an instance of Object Storage, by which URLs are signed. Its secret isn't shown: see Client.PresignGet.
type HMACKey struct {
	ID   string `json:"guid"`
	Name string `json:"name"`
}

// HMACKeys returns the keys of an instance that can sign. Names need not be unique.
func (c *Client) HMACKeys(ctx context.Context, instanceID string) ([]HMACKey, error) {
	r := call{
		place: place{service: ServiceResourceController}, op: "list resource keys", ids: []string{instanceID},
		control: ifGone(c.exists(instanceID)),
	}
	all, err := list[resourceKey](ctx, c, r, "resources", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.controller.ListResourceKeysForInstanceWithContext(ctx, &rc.ListResourceKeysForInstanceOptions{
			ID: &instanceID, Limit: ptr.To[int64](pageSize), Start: start,
		}))
	})
	if err != nil {
		return nil, err
	}
	var keys []HMACKey
	for _, key := range all {
		if key.Credentials.HMAC.AccessKeyID != "" {
			keys = append(keys, key.HMACKey)
		}
	}
	return keys, nil
}

// HMACKey returns a key.
func (c *Client) HMACKey(ctx context.Context, id string) (*HMACKey, error) {
	key, err := c.resourceKey(ctx, id)
	if err != nil {
		return nil, err
	}
	return &key.HMACKey, nil
}

// CreateHMACKey makes a key of an instance. Busy means that this isn't active.
func (c *Client) CreateHMACKey(ctx context.Context, instanceID, name string) (*HMACKey, error) {
	parameters := &rc.ResourceKeyPostParameters{}
	parameters.SetProperty("HMAC", true)
	key, err := create[resourceKey](ctx, c, call{
		place: place{service: ServiceResourceController}, op: "create resource key", ids: []string{instanceID}, control: c.controllerAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.controller.CreateResourceKeyWithContext(ctx, &rc.CreateResourceKeyOptions{
				Name: &name, Source: &instanceID, Role: ptr.To(keyRole), Parameters: parameters,
			}))
		},
	})
	if err != nil {
		return nil, err
	}
	return &key.HMACKey, nil
}

// DeleteHMACKey deletes a key at once.
func (c *Client) DeleteHMACKey(ctx context.Context, id string) error {
	return c.ask(ctx, call{
		place: place{service: ServiceResourceController}, op: "delete resource key", ids: []string{id}, control: c.controllerAnswers,
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.controller.DeleteResourceKeyWithContext(ctx, &rc.DeleteResourceKeyOptions{ID: &id}))
		},
	})
}

// keyRole is the least that reads objects and writes them.
const keyRole = "Writer"

// resourceKey is a key as the service shows it.
type resourceKey struct {
	HMACKey
	Credentials struct {
		HMAC struct {
			AccessKeyID     string `json:"access_key_id"`
			SecretAccessKey string `json:"secret_access_key"`
		} `json:"cos_hmac_keys"`
	} `json:"credentials"`
}

func (c *Client) resourceKey(ctx context.Context, id string) (*resourceKey, error) {
	return get[resourceKey](ctx, c, call{
		place: place{service: ServiceResourceController}, op: "get resource key", ids: []string{id}, control: c.controllerAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.controller.GetResourceKeyWithContext(ctx, &rc.GetResourceKeyOptions{ID: &id}))
		},
	}, id)
}

// gone reports whether an instance exists no more for its users.
func (i Instance) gone() bool { return i.State == "removed" || i.State == "pending_reclamation" }

// exists asks whether there is an instance.
func (c *Client) exists(id string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.Instance(ctx, id)
		return err
	}
}

// controllerAnswers is the control call of Resource Controller.
func (c *Client) controllerAnswers(ctx context.Context) error {
	return c.do(ctx, call{
		place: place{service: ServiceResourceController}, op: "list resource instances", read: (&listing[Instance]{key: "resources"}).read,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.controller.ListResourceInstancesWithContext(ctx, &rc.ListResourceInstancesOptions{Limit: ptr.To[int64](1)}))
		},
	})
}
