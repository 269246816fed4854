package sim_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_images"
	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_jobs"
	"github.com/IBM-Cloud/power-go-client/power/models"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func importOf(name string) models.CreateCosImageImportJob {
	return models.CreateCosImageImportJob{
		ImageName: &name, BucketName: ptr.To("images"), BucketAccess: ptr.To("public"), Region: ptr.To("us-south"),
		ImageFilename: ptr.To("centos.ova.gz"), StorageType: "tier1", UserTags: models.Tags{"bedplate:owner"},
	}
}

func (p workspace) importImage(body models.CreateCosImageImportJob) (string, error) {
	answer, err := p.power.PCloudImages.PcloudV1CloudinstancesCosimagesPost(p_cloud_images.
		NewPcloudV1CloudinstancesCosimagesPostParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithBody(&body), p.auth)
	if err != nil {
		return "", err
	}
	p.valid(answer.Payload)
	return *answer.Payload.ID, nil
}

// job is the state of a job, and its message.
func (p workspace) job(id string) (string, string) {
	answer, err := p.power.PCloudJobs.PcloudCloudinstancesJobsGet(p_cloud_jobs.NewPcloudCloudinstancesJobsGetParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithJobID(id), p.auth)
	if status(err) == http.StatusNotFound {
		return "gone", ""
	}
	p.Expect(err).NotTo(HaveOccurred())
	p.valid(answer.Payload)
	return *answer.Payload.Status.State, answer.Payload.Status.Message
}

// images are the states of all, by name.
func (p workspace) images() map[string]string {
	answer, err := p.power.PCloudImages.PcloudCloudinstancesImagesGetall(p_cloud_images.NewPcloudCloudinstancesImagesGetallParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id), p.auth)
	p.Expect(err).NotTo(HaveOccurred())
	p.valid(answer.Payload)
	states := map[string]string{}
	for _, i := range answer.Payload.Images {
		states[*i.Name] = *i.State
	}
	return states
}

func (p workspace) deleteImage(id string) error {
	_, err := p.power.PCloudImages.PcloudCloudinstancesImagesDelete(p_cloud_images.NewPcloudCloudinstancesImagesDeleteParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithImageID(id), p.auth)
	return err
}

func (p workspace) deleteJob(id string) error {
	_, err := p.power.PCloudJobs.PcloudCloudinstancesJobsDelete(p_cloud_jobs.NewPcloudCloudinstancesJobsDeleteParams().
		WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithJobID(id), p.auth)
	return err
}

func TestImage_isImported(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		job, err := p.importImage(importOf("rhcos"))
		p.Expect(err).NotTo(HaveOccurred())
		state, _ := p.job(job)
		p.Expect(state).To(Equal("queued"))
		_, err = p.importImage(importOf("another"))
		p.Expect(status(err)).To(Equal(http.StatusConflict), "one at a time")
		p.pass(7 * time.Minute)
		state, _ = p.job(job)
		p.Expect(state).To(Equal("running"))
		p.Expect(p.images()).To(Equal(map[string]string{"centos": "active"}))
		p.Expect(p.cloud.State().Empty()).To(BeFalse())
		p.pass(time.Minute)
		state, _ = p.job(job)
		p.Expect(state).To(Equal("completed"))
		p.Expect(p.images()).To(Equal(map[string]string{"centos": "active", "rhcos": "queued"}))
		p.pass(30 * time.Second)
		p.Expect(p.images()).To(Equal(map[string]string{"centos": "active", "rhcos": "active"}))
		_, err = p.importImage(importOf("rhcos"))
		p.Expect(status(err)).To(Equal(http.StatusConflict), "the name")

		last, err := p.power.PCloudImages.PcloudV1CloudinstancesCosimagesGet(p_cloud_images.
			NewPcloudV1CloudinstancesCosimagesGetParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id), p.auth)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(*last.Payload.ID).To(Equal(job))
		id := p.cloud.State()[sim.KindImage][1].ID
		get := p_cloud_images.NewPcloudCloudinstancesImagesGetParams().WithContext(p.t.Context()).WithCloudInstanceID(p.id).WithImageID(id)
		image, err := p.power.PCloudImages.PcloudCloudinstancesImagesGet(get, p.auth)
		p.Expect(err).NotTo(HaveOccurred())
		p.valid(image.Payload)
		p.Expect([]any{*image.Payload.StorageType, image.Payload.UserTags}).To(Equal([]any{"tier1", models.Tags{"bedplate:owner"}}))
		server := request("node-1", "net-1")
		server.ImageID = &id
		_, err = p.createServer(server)
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(p.deleteServer(p.cloud.State()[sim.KindServer][0].ID)).To(Succeed())

		p.Expect(p.deleteImage(id)).To(Succeed())
		p.pass(time.Minute)
		_, err = p.power.PCloudImages.PcloudCloudinstancesImagesGet(get, p.auth)
		p.Expect(status(err)).To(Equal(http.StatusNotFound))
		p.Expect(status(p.deleteImage(id))).To(Equal(http.StatusNotFound))
		p.Expect(p.cloud.State().Empty()).To(BeTrue(), "the job is only a record")
		p.Expect(p.deleteJob(job)).To(Succeed())
		state, _ = p.job(job)
		p.Expect(state).To(Equal("gone"))
		p.Expect(status(p.deleteJob(job))).To(Equal(http.StatusNotFound))
	})
}

func TestImage_ofAnImportThatFailsOrEndsDoesNotExist(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		p.Expect(p.cloud.SetOutcome(sim.Outcome{Kind: sim.KindJob, Status: "failed", Message: "object not found"})).To(Succeed())
		job, err := p.importImage(importOf("rhcos"))
		p.Expect(err).NotTo(HaveOccurred())
		p.pass(8 * time.Minute)
		state, message := p.job(job)
		p.Expect([]string{state, message}).To(Equal([]string{"failed", "object not found"}))
		job, err = p.importImage(importOf("rhcos"))
		p.Expect(err).NotTo(HaveOccurred())
		p.pass(time.Minute)
		p.Expect(p.deleteJob(job)).To(Succeed())
		p.pass(20 * time.Minute)
		p.Expect(p.images()).To(Equal(map[string]string{"centos": "active"}))
		p.Expect(p.cloud.State().Empty()).To(BeTrue())
	})
}

func TestImports_thatAreRefused(t *testing.T) {
	inWorkspace(t, func(p workspace) {
		for what, change := range map[string]func(*models.CreateCosImageImportJob){
			"a name with a space":      func(r *models.CreateCosImageImportJob) { r.ImageName = ptr.To("a b") },
			"no bucket":                func(r *models.CreateCosImageImportJob) { r.BucketName = ptr.To("") },
			"another format":           func(r *models.CreateCosImageImportJob) { r.ImageFilename = ptr.To("image.iso") },
			"a private bucket, no key": func(r *models.CreateCosImageImportJob) { r.BucketAccess = ptr.To("private") },
			"an unknown access":        func(r *models.CreateCosImageImportJob) { r.BucketAccess = ptr.To("secret") },
			"an unknown tier":          func(r *models.CreateCosImageImportJob) { r.StorageType = "tier9" },
			"a tag with a slash":       func(r *models.CreateCosImageImportJob) { r.UserTags = models.Tags{"a/b"} },
		} {
			body := importOf("rhcos")
			change(&body)
			_, err := p.importImage(body)
			p.Expect(status(err)).To(Equal(http.StatusBadRequest), what)
		}
	})
}
