package client

import (
	"context"

	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_images"
	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_jobs"
	"github.com/IBM-Cloud/power-go-client/power/models"
	"github.com/go-openapi/strfmt"
	"k8s.io/utils/ptr"
)

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
func (c *Client) Images(ctx context.Context, in Workspace) ([]Image, error) {
	return listInWorkspace[Image](ctx, c, in, "list images", "images", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_images.NewPcloudCloudinstancesImagesGetallParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		return drained(to.images().PcloudCloudinstancesImagesGetall(p, to.in))
	})
}

// Image returns an image.
func (c *Client) Image(ctx context.Context, in Workspace, id string) (*Image, error) {
	return get[Image](ctx, c, c.inWorkspace(in, "get image", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_images.NewPcloudCloudinstancesImagesGetParamsWithContext(ctx)
		p.CloudInstanceID, p.ImageID = in.ID, id
		return drained(to.images().PcloudCloudinstancesImagesGet(p, to.in))
	}, id), id)
}

// DeleteImage starts the deletion of an image. It is over when Image answers NotFound.
func (c *Client) DeleteImage(ctx context.Context, in Workspace, id string) error {
	return c.ask(ctx, c.inWorkspace(in, "delete image", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_images.NewPcloudCloudinstancesImagesDeleteParamsWithContext(ctx)
		p.CloudInstanceID, p.ImageID = in.ID, id
		return drained(to.images().PcloudCloudinstancesImagesDelete(p, to.in))
	}, id))
}

// ImportImage starts an import, and returns the ID of its Job. Conflict means that there is an image of the name, Busy that another import
// of the workspace is in progress.
func (c *Client) ImportImage(ctx context.Context, in Workspace, request ImageImport) (jobID string, _ error) {
	job, err := create[Job](ctx, c, c.inWorkspace(in, "import image", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_images.NewPcloudV1CloudinstancesCosimagesPostParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		p.Body = &models.CreateCosImageImportJob{
			ImageName: &request.Name, BucketName: &request.Bucket, Region: &request.Region, ImageFilename: &request.Object,
			BucketAccess: ptr.To("public"), StorageType: request.StorageType, UserTags: request.UserTags,
		}
		return drained(to.images().PcloudV1CloudinstancesCosimagesPost(p, to.in))
	}))
	if err != nil {
		return "", err
	}
	return job.ID, nil
}

// LastImport returns the last import of a workspace, whatever image it is of.
func (c *Client) LastImport(ctx context.Context, in Workspace) (*Job, error) {
	return get[Job](ctx, c, c.inWorkspace(in, "get last image import", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_images.NewPcloudV1CloudinstancesCosimagesGetParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		return drained(to.images().PcloudV1CloudinstancesCosimagesGet(p, to.in))
	}), "")
}

// Job returns an import.
func (c *Client) Job(ctx context.Context, in Workspace, id string) (*Job, error) {
	return get[Job](ctx, c, c.inWorkspace(in, "get job", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_jobs.NewPcloudCloudinstancesJobsGetParamsWithContext(ctx)
		p.CloudInstanceID, p.JobID = in.ID, id
		return drained(to.jobs().PcloudCloudinstancesJobsGet(p, to.in))
	}, id), id)
}

// DeleteJob ends an import. What it has not made by then never exists.
func (c *Client) DeleteJob(ctx context.Context, in Workspace, id string) error {
	return c.ask(ctx, c.inWorkspace(in, "delete job", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_jobs.NewPcloudCloudinstancesJobsDeleteParamsWithContext(ctx)
		p.CloudInstanceID, p.JobID = in.ID, id
		return drained(to.jobs().PcloudCloudinstancesJobsDelete(p, to.in))
	}, id))
}

func (a *powerAPI) images() p_cloud_images.ClientService {
	return p_cloud_images.New(a.power, strfmt.Default)
}
func (a *powerAPI) jobs() p_cloud_jobs.ClientService {
	return p_cloud_jobs.New(a.power, strfmt.Default)
}
