package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bedplate/bedplate/internal/bmm/publication"
)

const (
	resource = "configmaps"
	pageSize = 50
	// strangers are how many other ConfigMaps are read, and how many tombstones are remembered, beside what is wanted.
	strangers = 1000
)

// workload is the namespace of a workload cluster that instances are published in. What is read there is controlled by the
// cluster's owner.
type workload struct {
	api   rest.Interface
	close func()
}

// clusterError has what an event says; the cause is for the manager's log. What a server of a tenant's own answers, and how a
// connection fails, isn't for the tenant to read.
type clusterError struct {
	says  string
	cause error
}

// Error has all of it.
func (e *clusterError) Error() string { return e.says + ": " + e.cause.Error() }

// Unwrap returns the cause.
func (e *clusterError) Unwrap() error { return e.cause }

// published is a site or an instance.
type published interface {
	ConfigMap() (*corev1.ConfigMap, error)
}

// apply a ConfigMap. Fields of other clients are taken over.
func (w *workload) apply(ctx context.Context, what published) error {
	wanted, err := what.ConfigMap()
	if err != nil {
		return err
	}
	body, err := json.Marshal(wanted)
	if err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", wanted.Name, err)
	}
	return clusterErrorOf(w.api.Patch(types.ApplyPatchType).Namespace(wanted.Namespace).Resource(resource).Name(wanted.Name).
		Param("fieldManager", publication.Manager).Param("force", "true").Body(body).MaxRetries(0).Do(ctx).Error())
}

// remove a ConfigMap, if there is one.
func (w *workload) remove(ctx context.Context, name string) error {
	err := w.api.Delete().Namespace(publication.Namespace).Resource(resource).Name(name).MaxRetries(0).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return clusterErrorOf(err)
}

// list what is published. There may be more unwanted ones than are listed: the next list has them, when some are gone. All pages
// together have as many bytes as so many full ones may have, and of an item only what is read here is kept.
func (w *workload) list(ctx context.Context, wanted int) (found []corev1.ConfigMap, err error) {
	bytes, most := 0, (wanted+strangers)/pageSize*maxAnswer
	for next := ""; len(found) < wanted+strangers; {
		data, err := w.api.Get().Namespace(publication.Namespace).Resource(resource).
			Param("labelSelector", publication.Selector).Param("limit", strconv.Itoa(pageSize)).Param("continue", next).
			MaxRetries(0).Do(ctx).Raw()
		if err != nil {
			return nil, clusterErrorOf(err)
		}
		if bytes += len(data); bytes > most {
			return nil, clusterErrorOf(errors.New("the list has more bytes than so many ConfigMaps take"))
		}
		var page struct {
			Metadata struct{ Continue string }
			Items    []json.RawMessage // decoded one by one, when there aren't too many
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, clusterErrorOf(err)
		}
		if len(page.Items) > pageSize {
			return nil, clusterErrorOf(errors.New("a page has more items than were asked for"))
		}
		for _, item := range page.Items {
			var one struct {
				Metadata struct{ Name string }
				Data     map[string]string
			}
			if err := json.Unmarshal(item, &one); err != nil {
				return nil, clusterErrorOf(err)
			}
			found = append(found, corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: one.Metadata.Name},
				Data:       map[string]string{publication.InstanceKey: one.Data[publication.InstanceKey]},
			})
		}
		if next = page.Metadata.Continue; next == "" || len(page.Items) == 0 {
			break
		}
	}
	return found, nil
}

func clusterErrorOf(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return &clusterError{"the cluster has no namespace " + publication.Namespace + ": apply the manifests of its cloud controller " +
			"manager to it", err}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return &clusterError{"the cluster refuses the kubeconfig that Cluster API has for it", err}
	}
	return &clusterError{"the API server of the cluster can't be asked", err}
}
