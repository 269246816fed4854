package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

func cosKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.Instance] {
	return instanceKind(api, service, infrav1.KindCOSInstance, ibm.PlanCOS)
}

// bucketRegion is that of the spec; empty if it has none.
func bucketRegion(object *infrav1.IBMPowerVSCluster) string {
	if object.Spec.CosInstance == nil {
		return ""
	}
	return object.Spec.CosInstance.BucketRegion
}

// bucketKind knows a bucket by its name, which is its ID.
func bucketKind(api *ibm.Client, service *graph.Service, object *infrav1.IBMPowerVSCluster) *graph.Kind[ibm.Bucket] {
	bucket := func(name string, in graph.Scope) ibm.Bucket {
		return ibm.Bucket{InstanceID: in[infrav1.KindCOSInstance], Region: in[infrav1.KindBucketRegion], Name: name}
	}
	get := func(ctx context.Context, name string, in graph.Scope) (*ibm.Bucket, error) {
		b := bucket(name, in)
		if err := api.HeadBucket(ctx, b); err != nil {
			return nil, err
		}
		return &b, nil
	}
	return &graph.Kind[ibm.Bucket]{
		Name: infrav1.KindBucket, Service: service, Within: []string{infrav1.KindCOSInstance, infrav1.KindBucketRegion},
		Scope: func(string) graph.Scope { return graph.Scope{infrav1.KindBucketRegion: bucketRegion(object)} },
		ID:    func(b *ibm.Bucket) string { return b.Name },
		Get:   get,
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.Bucket, error) {
			b, err := get(ctx, key.Title, key.Scope)
			if fault.IsNotFound(err) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("%w: if the credentials are right, another account has bucket %s: choose another spec.cosInstance.bucketName",
					err, key.Title)
			}
			in, err := api.HasBucket(ctx, *b)
			if err != nil {
				return nil, err
			}
			if !in {
				return nil, fault.Invalidf("bucket %s is not in instance %s of Cloud Object Storage, whose key signs the URLs: choose another "+
					"spec.cosInstance.bucketName", b.Name, b.InstanceID)
			}
			return []ibm.Bucket{*b}, nil
		}),
		Phase: func(*ibm.Bucket) phases.Phase { return phases.Ready() },
		Delete: func(ctx context.Context, name string, in graph.Scope) error {
			return api.DeleteBucket(ctx, bucket(name, in))
		},
	}
}

// hmacKind knows a key by its name, which has the owner's ID in it, and so is a tag: a deletion searches for what no status shows.
func hmacKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.HMACKey] {
	return &graph.Kind[ibm.HMACKey]{
		Name: infrav1.KindCOSKey, Service: service, Within: []string{infrav1.KindCOSInstance},
		ID: func(k *ibm.HMACKey) string { return k.ID },
		Tag: func(k *ibm.HMACKey) (tag graph.Tag) {
			if owner, ours := strings.CutPrefix(k.Name, hmacName("")); ours {
				tag = graph.Tag{Owner: owner, Key: hmacKey}
			}
			return tag
		},
		Get: func(ctx context.Context, id string, _ graph.Scope) (*ibm.HMACKey, error) { return api.HMACKey(ctx, id) },
		Find: func(ctx context.Context, key graph.Key) ([]ibm.HMACKey, error) {
			all, err := api.HMACKeys(ctx, key.Scope[infrav1.KindCOSInstance])
			return slices.DeleteFunc(all, func(k ibm.HMACKey) bool { return k.Name != hmacName(key.Owner) }), err
		},
		Phase:  func(*ibm.HMACKey) phases.Phase { return phases.Ready() },
		Delete: func(ctx context.Context, id string, _ graph.Scope) error { return api.DeleteHMACKey(ctx, id) },
	}
}

// HMACKeyIn is the ID of the HMAC key that a cluster's ledger has; empty before it exists.
func HMACKeyIn(l *ledgerv1.Ledger) string {
	if l == nil {
		return ""
	}
	if e := l.Entry(hmacKey); e != nil {
		return e.ID
	}
	return ""
}

func hmacName(owner string) string { return "bedplate-" + owner }

// wantCOS adds what bootstrap data for Ignition is handed over in.
func (r *resources) wantCOS() {
	spec := r.object.Spec.CosInstance
	if r.object.Spec.Ignition == nil || spec == nil {
		r.graph.Gate(infrav1.COSInstanceReadyCondition, notWanted)
		return
	}
	r.cos = graph.Add(r.graph, r.kinds.COS, graph.Want[ibm.Instance]{
		Key: cosKey, Condition: infrav1.COSInstanceReadyCondition, After: []graph.Ref{r.group}, Claim: graph.UseOrCreate(spec.Name),
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.Instance], error) {
			request := ibm.InstanceRequest{Name: key.Title, Plan: ibm.PlanCOS, Target: ibm.TargetGlobal, ResourceGroupID: r.groupID()}
			return func(ctx context.Context) (*ibm.Instance, error) { return r.api.CreateInstance(ctx, request) }, nil
		},
	})
	graph.Add(r.graph, r.kinds.Bucket, graph.Want[ibm.Bucket]{
		Key: bucketKey, Condition: infrav1.COSInstanceReadyCondition, After: []graph.Ref{r.cos}, Claim: graph.UseOrCreate(spec.BucketName),
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.Bucket], error) {
			bucket := ibm.Bucket{InstanceID: key.Scope[infrav1.KindCOSInstance], Region: key.Scope[infrav1.KindBucketRegion], Name: key.Title}
			return func(ctx context.Context) (*ibm.Bucket, error) {
				if err := r.api.CreateBucket(ctx, bucket); err != nil {
					return nil, err
				}
				return ptr.To(bucket), nil
			}, nil
		},
	})
	graph.Add(r.graph, r.kinds.Key, graph.Want[ibm.HMACKey]{
		Key: hmacKey, Condition: infrav1.COSInstanceReadyCondition, After: []graph.Ref{r.cos},
		Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.HMACKey], error) {
			instance, name := key.Scope[infrav1.KindCOSInstance], hmacName(key.Owner)
			return func(ctx context.Context) (*ibm.HMACKey, error) { return r.api.CreateHMACKey(ctx, instance, name) }, nil
		},
	})
}
