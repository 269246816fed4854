package sim

import (
	"net/http"
	"regexp"
	"slices"
	"time"
)

// The kinds of images and of what imports them.
const (
	KindImage Kind = "image"
	KindJob   Kind = "job"
)

// image is what servers boot. It exists from the end of its import on.
type image struct {
	workspaceObject
	storageType string
	tags        []string
	// from is the import, if there was one.
	from *job
}

// Status goes from queued to active.
func (i *image) Status(now time.Time) string {
	return i.in(words{building: "queued", ready: "active"}, now)
}

// job is an import of an image. It stays as a record.
type job struct {
	workspaceObject
	imageName string
}

// Status goes from queued to completed, unless it fails.
func (j *job) Status(now time.Time) string {
	return j.in(words{pending: "queued", building: "running", ready: "completed"}, now)
}

// over reports whether it has ended.
func (j *job) over(now time.Time) bool {
	return slices.Contains([]string{"completed", "failed"}, j.Status(now))
}

// Gone includes an import that has failed or was deleted before its end.
func (i *image) Gone(now time.Time) bool {
	failed := i.from != nil && (i.from.Status(now) == "failed" || !i.from.Deleted.IsZero() && i.from.Deleted.Before(i.Created))
	return failed || i.workspaceObject.Gone(now)
}

const (
	defaultTier = "tier3"
	// diskSize is that of each image, in GB.
	diskSize = 120.0
)

var (
	imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	imageFile = regexp.MustCompile(`\.(ova|ova\.gz|qcow2|qcow2\.gz|raw|raw\.gz|img|img\.gz)$`)
	tiers     = []string{"tier0", "tier1", defaultTier, "tier5k"}
)

type importRequest struct {
	ImageName     string   `json:"imageName"`
	BucketName    string   `json:"bucketName"`
	BucketAccess  string   `json:"bucketAccess"`
	Region        string   `json:"region"`
	ImageFilename string   `json:"imageFilename"`
	StorageType   string   `json:"storageType"`
	OSType        string   `json:"osType"`
	AccessKey     string   `json:"accessKey"`
	SecretKey     string   `json:"secretKey"`
	UserTags      []string `json:"userTags"`
}

func (q importRequest) check() error {
	access := q.BucketAccess
	switch {
	case !imageName.MatchString(q.ImageName):
		return badRequest("imageName %q is invalid", q.ImageName)
	case q.BucketName == "" || q.Region == "":
		return badRequest("bucketName and region must be set")
	case !imageFile.MatchString(q.ImageFilename):
		return badRequest("imageFilename %q is not of a supported format", q.ImageFilename)
	case access != "" && access != "public" && access != "private":
		return badRequest("bucketAccess %q is not public or private", access)
	case access != "public" && (q.AccessKey == "" || q.SecretKey == ""):
		return badRequest("a private bucket needs accessKey and secretKey")
	case q.StorageType != "" && !slices.Contains(tiers, q.StorageType):
		return badRequest("storageType %q does not exist", q.StorageType)
	}
	return checkTags(q.UserTags)
}

// importImage begins an import. A workspace has one at a time.
func (p *power) importImage(w *instance, r *call) (reply, error) {
	var q importRequest
	if err := r.into(&q); err != nil {
		return reply{}, err
	}
	if err := q.check(); err != nil {
		return reply{}, err
	}
	if p.jobs.Any(func(j *job) bool { return j.workspace == w && !j.over(r.now) }) {
		return reply{}, refuse(http.StatusConflict, "", "another image import of cloud instance %s is in progress", w.id)
	}
	if p.images.Any(func(i *image) bool { return i.workspace == w && i.name == q.ImageName }) {
		return reply{}, refuse(http.StatusConflict, "", "an image with the name %s already exists", q.ImageName)
	}
	if q.StorageType == "" {
		q.StorageType = defaultTier
	}
	times := p.cloud.config.Times
	j := &job{workspaceObject: newWorkspaceObject(w, "import "+q.ImageName, r.now, times.ImageImport.Duration), imageName: q.ImageName}
	add(p.cloud, p.jobs, j)
	add(p.cloud, p.images, &image{
		workspaceObject: newWorkspaceObject(w, q.ImageName, j.Ready, times.Image.Duration), storageType: q.StorageType, tags: q.UserTags, from: j,
	})
	return reply{status: http.StatusAccepted, body: map[string]string{"id": j.id, "href": w.path("jobs", j.id)}}, nil
}

// getLastImport answers with the last job.
func (p *power) getLastImport(w *instance, r *call) (reply, error) {
	all := p.jobs.within(w.id)
	if len(all) == 0 {
		return reply{}, refuse(http.StatusNotFound, "", "cloud instance %s has no image import", w.id)
	}
	return ok(all[len(all)-1].view(r.now))
}

// image is one that exists by now.
func (p *power) image(w *instance, id string, now time.Time) (*image, error) {
	i, found := p.images.byID(w.id, id)
	if !found || now.Before(i.Created) {
		return nil, refuse(http.StatusNotFound, "", "image %s does not exist", id)
	}
	return i, nil
}

func (p *power) listImages(w *instance, r *call) (reply, error) {
	views := []any{}
	for _, i := range p.images.within(w.id) {
		if !r.now.Before(i.Created) {
			views = append(views, i.view(r.now))
		}
	}
	return ok(map[string]any{"images": views})
}

func (p *power) getImage(w *instance, r *call) (reply, error) {
	i, err := p.image(w, r.PathValue("id"), r.now)
	if err != nil {
		return reply{}, err
	}
	view := i.view(r.now)
	view["servers"], view["volumes"], view["size"] = []string{}, []any{}, diskSize
	view["maxImageVolumeSize"] = diskSize
	if i.tags != nil {
		view["userTags"] = i.tags
	}
	return ok(view)
}

func (p *power) deleteImage(w *instance, r *call) (reply, error) {
	i, err := p.image(w, r.PathValue("id"), r.now)
	if err != nil {
		return reply{}, err
	}
	i.Delete(r.now, p.cloud.config.Times.ImageDelete.Duration)
	return ok(map[string]any{})
}

// view is what a list shows, which has no tags.
func (i *image) view(now time.Time) map[string]any {
	return map[string]any{
		"imageID": i.id, "name": i.name, "state": i.Status(now), "description": "", "href": i.workspace.path("images", i.id),
		"crn": i.workspace.crnOf("image", i.id), "storageType": i.storageType, "storagePool": "Tier3-Flash-1",
		"creationDate": date(i.Created), "lastUpdateDate": date(i.Updated(now)),
		"specifications": map[string]any{"architecture": "ppc64", "endianness": "little-endian", "operatingSystem": "rhel"},
	}
}

func (p *power) listJobs(w *instance, r *call) (reply, error) {
	views := []any{}
	for _, j := range p.jobs.within(w.id) {
		views = append(views, j.view(r.now))
	}
	return ok(map[string]any{"jobs": views})
}

func (p *power) job(w *instance, r *call) (*job, error) {
	j, found := p.jobs.byID(w.id, r.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "", "job %s does not exist", r.PathValue("id"))
	}
	return j, nil
}

func (p *power) getJob(w *instance, r *call) (reply, error) {
	j, err := p.job(w, r)
	if err != nil {
		return reply{}, err
	}
	return ok(j.view(r.now))
}

// deleteJob ends the import.
func (p *power) deleteJob(w *instance, r *call) (reply, error) {
	j, err := p.job(w, r)
	if err != nil {
		return reply{}, err
	}
	j.Delete(r.now, 0)
	return ok(map[string]any{})
}

func (j *job) view(now time.Time) any {
	status := map[string]string{"state": j.Status(now), "progress": "", "message": j.Reason}
	return map[string]any{
		"id": j.id, "createTimestamp": date(j.Created), "status": status,
		"operation": map[string]string{"action": "imageImport", "id": j.workspace.id, "target": "cloudInstance"},
	}
}
