package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/publication"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/fault"
)

// published reads what the management cluster has written into this one. It makes no call of the BMM API, and has no login.
// However old the data: only a tombstone means that an instance is gone.
type published struct {
	patience   time.Duration
	configMaps listers.ConfigMapNamespaceLister
	indexer    cache.Indexer
	synced     cache.InformerSynced
}

// Indexes find what is published of an instance by its name and by its addresses, so that a search for one doesn't read
// all.
const (
	byName    = "name"
	byAddress = "address"
)

// indexers read each ConfigMap when it changes.
func indexers() cache.Indexers {
	by := func(values func(*bmm.Instance) []string) cache.IndexFunc {
		return func(object any) ([]string, error) {
			if configMap, ok := object.(*corev1.ConfigMap); ok {
				if i, err := publication.ReadInstance(configMap); err == nil { // the site's own ConfigMap has none
					return values(i.BMM()), nil
				}
			}
			return nil, nil
		}
	}
	return cache.Indexers{
		byName: by(func(i *bmm.Instance) []string { return []string{i.Name} }),
		byAddress: by(func(i *bmm.Instance) (texts []string) {
			for _, ip := range ipsOf(i) {
				texts = append(texts, ip.String())
			}
			return texts
		}),
	}
}

func (p *published) start(ctx context.Context, builder cloudprovider.ControllerClientBuilder, changed func(change)) {
	factory := informers.NewSharedInformerFactoryWithOptions(builder.ClientOrDie(component), 0,
		informers.WithNamespace(publication.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = publication.Selector }),
		informers.WithTransform(func(object any) (any, error) {
			if configMap, ok := object.(*corev1.ConfigMap); ok {
				configMap.ManagedFields = nil
			}
			return object, nil
		}))
	informer := factory.Core().V1().ConfigMaps()
	tell := func(object any) {
		configMap, ok := object.(*corev1.ConfigMap)
		if !ok {
			return
		}
		if configMap.Name == publication.SiteName {
			changed(change{})
		} else if i, err := publication.ReadInstance(configMap); err == nil {
			changed(change{siteID: i.SiteID, instanceID: i.ID, name: i.Name})
		}
	}
	handlers := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, _ bool) { tell(object) }, UpdateFunc: func(_, now any) { tell(now) },
	}
	if err := informer.Informer().AddIndexers(indexers()); err != nil { // it was stopped before
		return
	}
	if _, err := informer.Informer().AddEventHandler(handlers); err != nil {
		return
	}
	p.indexer = informer.Informer().GetIndexer()
	p.configMaps = informer.Lister().ConfigMaps(publication.Namespace)
	p.synced = informer.Informer().HasSynced
	factory.Start(ctx.Done())
}

func (p *published) site(ctx context.Context) (site, error) {
	if p.synced == nil {
		return nil, unpublished(errors.New("nothing has been read yet"))
	}
	turn, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if !p.synced() && !cache.WaitForCacheSync(turn.Done(), p.synced) {
		return nil, unpublished(fmt.Errorf("the ConfigMaps in namespace %s can't be read: apply the manifests of the cloud controller "+
			"manager again", publication.Namespace))
	}
	configMap, err := p.configMaps.Get(publication.SiteName)
	if err != nil {
		return nil, unpublished(fmt.Errorf("the management cluster has published nothing: set publishInstances of the "+
			"NvidiaBMMCluster, and look at its events (%w)", err))
	}
	known, err := publication.ReadSite(configMap)
	if err != nil {
		return nil, unpublished(err)
	}
	return &publishedSite{p, known}, nil
}

// unpublished is an error that is the same for all nodes.
func unpublished(err error) error { return &problem{reason: ReasonUnpublished, ofSite: true, err: err} }

// publishedSite is a site as it was published last.
type publishedSite struct {
	*published
	is publication.Site
}

func (s *publishedSite) id() string { return s.is.ID }

func (s *publishedSite) get(id string) (publication.Instance, error) {
	configMap, err := s.configMaps.Get(id)
	if err != nil {
		return publication.Instance{}, fmt.Errorf("nothing is published about instance %s; this doesn't prove that the instance is gone", id)
	}
	return publication.ReadInstance(configMap)
}

func (s *publishedSite) instance(_ context.Context, id string) (*bmm.Instance, error) {
	i, err := s.get(id)
	switch {
	case err != nil:
		return nil, err
	case i.Gone:
		return nil, &fault.Error{Class: fault.NotFound, Op: "look at what is published", Err: fmt.Errorf(
			"the management cluster confirmed at %s that instance %s is gone", i.Seen.UTC().Format(time.RFC3339), id)}
	}
	return i.BMM(), nil
}

func (s *publishedSite) find(_ context.Context, by trait) (found []bmm.Instance, err error) {
	index, values := byName, []string{by.name}
	if by.name == "" {
		index, values = byAddress, nil
		for _, ip := range by.addresses {
			values = append(values, ip.String())
		}
	}
	seen := map[string]bool{}
	for _, value := range values {
		objects, err := s.indexer.ByIndex(index, value)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			i, err := publication.ReadInstance(object.(*corev1.ConfigMap))
			if err != nil || i.Gone || i.SiteID != s.is.ID || seen[i.ID] {
				continue
			}
			if one := i.BMM(); by.of(one) {
				seen[i.ID], found = true, append(found, *one)
			}
		}
	}
	return found, nil
}

func (s *publishedSite) listed() (time.Time, error) { return s.is.Complete.Time, nil }

// refresh does nothing: the informer delivers changes.
func (s *publishedSite) refresh(context.Context, time.Time) error { return nil }

func (s *publishedSite) place(_ context.Context, i *bmm.Instance) (topology.Place, error) {
	place := topology.Place{Zone: s.is.Zone, Region: s.is.Region}
	if i.ID == "" {
		return place, nil
	}
	known, err := s.get(i.ID)
	place.InstanceType = known.InstanceType
	return place, err
}
