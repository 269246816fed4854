package client

import "context"

// Image is what servers boot.
type Image struct {
	ID   string `json:"imageID"`
	Name string `json:"name"`
	// State is queued, active or another one.
	State       string `json:"state"`
	StorageType string `json:"storageType"`
	// UserTags are shown by Client.Image only.
	UserTags []string `json:"userTags"`
}

// ImageImport is what ImportImage takes: the image's name, where its file is in Object Storage, and in which bucket that anyone may read.
type ImageImport struct {
	Name                   string
	Bucket, Region, Object string
	StorageType            string
	UserTags               []string
}

// Job is an import of an image. An image exists from the end of its import on.
type Job struct {
	ID     string    `json:"id"`
	Status JobStatus `json:"status"`
}

// JobStatus is how far a Job is.
type JobStatus struct {
	// State is queued, running, completed, failed or another one.
	State    string `json:"state"`
	Progress string `json:"progress"`
	Message  string `json:"message"`
}

// Images returns the images of a workspace, without their tags.
func (c *Client) Images(ctx context.Context, in Workspace) ([]Image, error) { return nil, errSurface }

// Image returns an image.
func (c *Client) Image(ctx context.Context, in Workspace, id string) (*Image, error) {
	return nil, errSurface
}

// DeleteImage starts the deletion of an image. It is over when Image answers NotFound.
func (c *Client) DeleteImage(ctx context.Context, in Workspace, id string) error { return errSurface }

// ImportImage starts an import, and returns the ID of its Job. Conflict means that there is an image of the name, Busy that another import
// of the workspace is in progress.
func (c *Client) ImportImage(ctx context.Context, in Workspace, request ImageImport) (jobID string, _ error) {
	return "", errSurface
}

// LastImport returns the last import of a workspace, whatever image it is of.
func (c *Client) LastImport(ctx context.Context, in Workspace) (*Job, error) { return nil, errSurface }

// Job returns an import.
func (c *Client) Job(ctx context.Context, in Workspace, id string) (*Job, error) {
	return nil, errSurface
}

// DeleteJob ends an import. What it has not made by then never exists.
func (c *Client) DeleteJob(ctx context.Context, in Workspace, id string) error { return errSurface }
