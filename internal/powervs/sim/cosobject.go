package sim

import (
	"crypto/md5" //nolint:gosec // what S3 has; no secret depends on it
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"strings"
	"time"
)

// storedObject is an object of a bucket. Its name is its key.
type storedObject struct {
	object
	bucket      *bucket
	contentType string
	data        []byte
}

// Status is always the same.
func (o *storedObject) Status(time.Time) string { return "active" }

// Gone includes that of the bucket.
func (o *storedObject) Gone(now time.Time) bool { return o.Life.Gone(now) || o.bucket.Gone(now) }

func (o *storedObject) etag() string {
	sum := md5.Sum(o.data) //nolint:gosec // what S3 has; no secret depends on it
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// maxKey bounds a key, in bytes.
const maxKey = 1024

// putObject replaces what has the key.
func (s *objectStorage) putObject(r *call) (reply, error) {
	b, err := s.bucketOf(r)
	if err != nil {
		return reply{}, err
	}
	key := r.PathValue("key")
	switch {
	case key == "":
		return reply{}, refuse(http.StatusBadRequest, "InvalidRequest", "The key is missing.")
	case len(key) > maxKey:
		return reply{}, refuse(http.StatusBadRequest, "KeyTooLongError", "Your key is too long.")
	}
	if old, found := s.find(b, key); found {
		old.Delete(r.now, 0)
		s.objects.Forget(r.now)
	}
	o := &storedObject{object: newObject(r.now, key, b.id, 0), bucket: b, contentType: r.Header.Get("Content-Type"), data: r.body}
	add(s.cloud, s.objects, o)
	return reply{status: http.StatusOK, header: http.Header{"Etag": {o.etag()}}}, nil
}

func (s *objectStorage) find(b *bucket, key string) (*storedObject, bool) {
	return s.objects.Find(func(o *storedObject) bool { return o.bucket == b && o.name == key })
}

func (s *objectStorage) getObject(r *call) (reply, error) {
	b, err := s.bucketOf(r)
	if err != nil {
		return reply{}, err
	}
	o, found := s.find(b, r.PathValue("key"))
	if !found {
		return reply{}, refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	}
	header := http.Header{"Etag": {o.etag()}, "Last-Modified": {o.Created.UTC().Format(http.TimeFormat)}}
	if o.contentType != "" {
		header.Set("Content-Type", o.contentType)
	}
	return reply{status: http.StatusOK, header: header, body: o.data}, nil
}

// deleteObject is done when there is no object, too.
func (s *objectStorage) deleteObject(r *call) (reply, error) {
	b, err := s.bucketOf(r)
	if err != nil {
		return reply{}, err
	}
	if o, found := s.find(b, r.PathValue("key")); found {
		o.Delete(r.now, 0)
	}
	return reply{status: http.StatusNoContent}, nil
}

// listObjects answers with all at once.
func (s *objectStorage) listObjects(r *call) (reply, error) {
	b, err := s.bucketOf(r)
	if err != nil {
		return reply{}, err
	}
	type entry struct {
		Key, LastModified, ETag string
		Size                    int
	}
	list := struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		Name        string
		Prefix      string
		KeyCount    int
		IsTruncated bool
		Contents    []entry
	}{Name: b.name, Prefix: r.query("prefix")}
	for _, o := range s.objects.within(b.id) {
		if strings.HasPrefix(o.name, list.Prefix) {
			list.Contents = append(list.Contents, entry{o.name, date(o.Created), o.etag(), len(o.data)})
		}
	}
	list.KeyCount = len(list.Contents)
	return xmlReply(http.StatusOK, list), nil
}
