package sim

import (
	"encoding/xml"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The kinds of Object Storage.
const (
	KindBucket Kind = "bucket"
	KindObject Kind = "object"
)

// objectStorage is the API: that of S3, with the name of the bucket in the path.
type objectStorage struct {
	*service
	buckets *store[*bucket]
	objects *store[*storedObject]
}

// ObjectStorage has buckets and objects.
func (c *Cloud) ObjectStorage() http.Handler { return c.cos }

func (c *Cloud) newObjectStorage() *objectStorage {
	s := &objectStorage{
		service: newService(c, "cos", failAsS3),
		buckets: newStore[*bucket](c, KindBucket), objects: newStore[*storedObject](c, KindObject),
	}
	s.authenticate = s.authenticateS3
	s.handle("listBuckets", "GET /{$}", s.listBuckets)
	s.handle("headBucket", "HEAD /{bucket}", s.headBucket)
	s.handle("createBucket", "PUT /{bucket}", s.createBucket)
	s.handle("deleteBucket", "DELETE /{bucket}", s.deleteBucket)
	s.handle("listObjects", "GET /{bucket}", s.listObjects)
	s.handle("putObject", "PUT /{bucket}/{key...}", s.putObject)
	s.handle("getObject", "GET /{bucket}/{key...}", s.getObject)
	s.handle("deleteObject", "DELETE /{bucket}/{key...}", s.deleteObject)
	return s
}

// failAsS3 is the format of Object Storage. It has no codes with underscores.
func failAsS3(w http.ResponseWriter, f *failure) {
	code := f.code
	if common, isCommon := map[string]string{
		"bad_request": "InvalidRequest", "forbidden": accessDenied, "not_found": "NoSuchKey", "conflict": "OperationAborted",
		"too_many_requests": "SlowDown", "service_unavailable": "ServiceUnavailable", "internal_error": "InternalError",
	}[code]; isCommon {
		code = common
	}
	answer := xmlReply(f.status, struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
		RequestID     string `xml:"RequestId"`
	}{Code: code, Message: f.message, RequestID: "simulated"})
	answer.write(w)
}

func xmlReply(status int, body any) reply {
	text, _ := xml.Marshal(body) // can't fail: texts and numbers only
	return reply{status: status, header: http.Header{"Content-Type": {"application/xml"}}, body: append([]byte(xml.Header), text...)}
}

// bucket is in an instance, and gone with it.
type bucket struct {
	object
	instance *instance
	location string
}

// Status is always the same.
func (b *bucket) Status(time.Time) string { return "active" }

// Gone includes that of the instance.
func (b *bucket) Gone(now time.Time) bool {
	return b.Life.Gone(now) || b.instance.over(now) || b.instance.Gone(now)
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// instanceHeader says in which instance a bucket is to be.
const instanceHeader = "Ibm-Service-Instance-Id"

// instanceOf is the instance that a request names, by its GUID or its CRN.
func (s *objectStorage) instanceOf(r *call) (*instance, error) {
	id := r.Header.Get(instanceHeader)
	if id == "" {
		return nil, refuse(http.StatusBadRequest, "InvalidRequest", "The header %s is missing.", instanceHeader)
	}
	i, found := s.cloud.controller.byID(id)
	if !found || i.planID != PlanObjectStorage || i.Status(r.now) != "active" {
		return nil, refuse(http.StatusForbidden, accessDenied, "Access Denied")
	}
	return i, nil
}

// createBucket refuses a name that any bucket has, of whatever account.
func (s *objectStorage) createBucket(r *call) (reply, error) {
	name := r.PathValue("bucket")
	var request struct{ LocationConstraint string }
	if len(r.body) > 0 && xml.Unmarshal(r.body, &request) != nil {
		return reply{}, refuse(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed.")
	}
	i, err := s.instanceOf(r)
	if err != nil {
		return reply{}, err
	}
	other, exists := s.buckets.Find(func(b *bucket) bool { return b.name == name })
	switch limit := s.cloud.config.Quotas.Buckets; {
	case !bucketName.MatchString(name) || strings.Contains(name, ".."):
		return reply{}, refuse(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
	case exists && other.instance == i:
		return reply{}, refuse(http.StatusConflict, "BucketAlreadyOwnedByYou",
			"Your previous request to create the named bucket succeeded and you already own it.")
	case exists || slices.Contains(s.cloud.config.ForeignBuckets, name):
		return reply{}, refuse(http.StatusConflict, "BucketAlreadyExists", "The requested bucket name is not available.")
	case exceeded(limit, len(s.buckets.Items)+1):
		return reply{}, refuse(http.StatusBadRequest, "TooManyBuckets", "You have attempted to create more buckets than allowed.")
	}
	add(s.cloud, s.buckets, &bucket{object: newObject(r.now, name, i.id, 0), instance: i, location: request.LocationConstraint})
	return reply{status: http.StatusOK, header: http.Header{"Location": {"/" + name}}}, nil
}

// bucketOf is the bucket in the path, if the caller may use it.
func (s *objectStorage) bucketOf(r *call) (*bucket, error) {
	name := r.PathValue("bucket")
	if slices.Contains(s.cloud.config.ForeignBuckets, name) {
		return nil, refuse(http.StatusForbidden, accessDenied, "Access Denied")
	}
	b, found := s.buckets.Find(func(b *bucket) bool { return b.name == name })
	if !found {
		return nil, refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	}
	if isPresigned(r.Request) {
		if key, found := s.signer(accessKeyOf(r.Request)); !found || key.source != b.instance {
			return nil, refuse(http.StatusForbidden, accessDenied, "Access Denied")
		}
	}
	return b, nil
}

func (s *objectStorage) headBucket(r *call) (reply, error) {
	_, err := s.bucketOf(r)
	return reply{status: http.StatusOK}, err
}

func (s *objectStorage) deleteBucket(r *call) (reply, error) {
	b, err := s.bucketOf(r)
	if err != nil {
		return reply{}, err
	}
	if len(s.objects.within(b.id)) > 0 {
		return reply{}, refuse(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty.")
	}
	b.Delete(r.now, 0)
	return reply{status: http.StatusNoContent}, nil
}

func (s *objectStorage) listBuckets(r *call) (reply, error) {
	i, err := s.instanceOf(r)
	if err != nil {
		return reply{}, err
	}
	type entry struct{ Name, CreationDate string }
	var list struct {
		XMLName xml.Name `xml:"ListAllMyBucketsResult"`
		Buckets []entry  `xml:"Buckets>Bucket"`
	}
	for _, b := range s.buckets.within(i.id) {
		list.Buckets = append(list.Buckets, entry{b.name, date(b.Created)})
	}
	return xmlReply(http.StatusOK, list), nil
}
