package client

import "context"

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
// among them, nor what is in reclamation.
func (c *Client) Instances(ctx context.Context, plan Plan, name string) ([]Instance, error) {
	return nil, errSurface
}

// Instance returns an instance. One that is removed, or in reclamation, is NotFound.
func (c *Client) Instance(ctx context.Context, id string) (*Instance, error) { return nil, errSurface }

// CreateInstance makes an instance, which is StateProvisioning first. Quota means that the account may not have more.
func (c *Client) CreateInstance(ctx context.Context, request InstanceRequest) (*Instance, error) {
	return nil, errSurface
}

// DeleteInstance starts the deletion of an instance and of its keys. It is over when Instance answers NotFound. Busy means that something
// is in it, or that another operation is in progress.
func (c *Client) DeleteInstance(ctx context.Context, id string) error { return errSurface }

// HMACKey is a key of an instance of Object Storage, by which URLs are signed. Its secret isn't shown: see Client.PresignGet.
type HMACKey struct {
	ID   string `json:"guid"`
	Name string `json:"name"`
}

// HMACKeys returns the keys of an instance that can sign. Names need not be unique.
func (c *Client) HMACKeys(ctx context.Context, instanceID string) ([]HMACKey, error) {
	return nil, errSurface
}

// HMACKey returns a key.
func (c *Client) HMACKey(ctx context.Context, id string) (*HMACKey, error) { return nil, errSurface }

// CreateHMACKey makes a key of an instance. Busy means that this isn't active.
func (c *Client) CreateHMACKey(ctx context.Context, instanceID, name string) (*HMACKey, error) {
	return nil, errSurface
}

// DeleteHMACKey deletes a key at once.
func (c *Client) DeleteHMACKey(ctx context.Context, id string) error { return errSurface }
