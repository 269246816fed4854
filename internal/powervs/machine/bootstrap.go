package machine

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/ignition"
)

// bootstrap is the bootstrap data, as far as it could be read.
type bootstrap struct {
	data     []byte
	ignition bool
	err      error
}

// bootstrap reads the data. When the machine has joined it isn't needed any more.
func (n *node) bootstrap(ctx context.Context) (b bootstrap) {
	name := types.NamespacedName{Namespace: n.object.Namespace}
	if name.Name = n.dataSecret(); name.Name == "" || n.joined() {
		return b
	}
	secret := &corev1.Secret{}
	if err := n.reconciler.Engine.Live.Get(ctx, name, secret); err != nil {
		b.err = &fault.Error{Class: fault.Transient, Op: "read the bootstrap data", Err: err}
		return b
	}
	b.data, b.ignition = secret.Data["value"], string(secret.Data["format"]) == "ignition"
	switch {
	case len(b.data) == 0:
		b.err = fault.Invalidf("key \"value\" of Secret %s is empty: let the bootstrap provider write it again", name)
	case b.ignition && n.infra != nil && n.infra.Spec.Ignition == nil:
		b.err = fault.Invalidf("the bootstrap data in Secret %s is for Ignition: set ignition in IBMPowerVSCluster %s, or take format: ignition "+
			"out of the bootstrap configuration", name, n.infra.Name)
	}
	return b
}

// dataSecret is the name of the Secret with the bootstrap data; empty before that is written.
func (n *node) dataSecret() string {
	if n.machine == nil {
		return ""
	}
	return ptr.Deref(n.machine.Spec.Bootstrap.DataSecretName, "")
}

// bootstrapPhase reports whether the bootstrap provider has done its part.
func (n *node) bootstrapPhase(context.Context) phases.Phase {
	switch {
	case n.machine == nil:
		return phases.Waiting("no Machine owns IBMPowerVSMachine %s yet", n.object.Name)
	case n.dataSecret() == "":
		return phases.Waiting("the bootstrap provider hasn't written the data of Machine %s yet", n.machine.Name)
	case n.boot.err != nil:
		return phases.Of(n.boot.err)
	case n.boot.ignition && n.infra != nil && n.infra.CreatesInfra() && n.bucket() == nil:
		return phases.Waiting("IBMPowerVSCluster %s has no bucket for the bootstrap data yet", n.infra.Name)
	}
	return phases.Ready()
}

// stored is an object of a bucket. Its ID is BUCKET/KEY.
type stored struct{ id string }

// dataKind are bootstrap data in buckets. Who reads them may do what the machine may, so they don't stay.
func dataKind(api *ibm.Client) *graph.Kind[stored] {
	get := func(ctx context.Context, id string, in graph.Scope) (*stored, error) {
		return &stored{id}, api.HeadObject(ctx, bucketIn(in), keyOf(id, in))
	}
	return &graph.Kind[stored]{
		Name: infrav1.KindBootstrapData, Service: serviceOf(api, ibm.ServiceCOS),
		Within: []string{infrav1.KindCOSInstance, infrav1.KindBucketRegion, infrav1.KindBucket},
		ID:     func(o *stored) string { return o.id },
		Get:    get,
		Find: func(ctx context.Context, k graph.Key) ([]stored, error) {
			found, err := get(ctx, k.Scope[infrav1.KindBucket]+"/"+k.Title, k.Scope)
			switch {
			case fault.IsNotFound(err):
				return nil, nil
			case err != nil:
				return nil, err
			}
			return []stored{*found}, nil
		},
		Phase: func(*stored) phases.Phase { return phases.Ready() },
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteObject(ctx, bucketIn(in), keyOf(id, in))
		},
	}
}

func bucketIn(in graph.Scope) ibm.Bucket {
	return ibm.Bucket{InstanceID: in[infrav1.KindCOSInstance], Region: in[infrav1.KindBucketRegion], Name: in[infrav1.KindBucket]}
}

func keyOf(id string, in graph.Scope) string {
	return strings.TrimPrefix(id, in[infrav1.KindBucket]+"/")
}

// bucket of the cluster; nil if it has none.
func (n *node) bucket() graph.Scope {
	if n.infra == nil || n.infra.Spec.CosInstance == nil || n.infra.Status.COSInstance == nil {
		return nil
	}
	return graph.Scope{
		infrav1.KindCOSInstance: n.infra.Status.COSInstance.ID, infrav1.KindBucketRegion: n.infra.Spec.CosInstance.BucketRegion,
		infrav1.KindBucket: n.infra.Spec.CosInstance.BucketName,
	}
}

// objectKey is where the data is in the bucket.
func (n *node) objectKey() string {
	role := "node"
	if n.isControlPlane() {
		role = "control-plane"
	}
	return path.Join(role, n.object.Name)
}

// wantData wants the data in the bucket until the machine has become a node. It isn't wanted, so that nil is returned, where the machine
// gets it as user data.
func (n *node) wantData(after []graph.Ref) graph.Ref {
	switch {
	case n.boot.err != nil:
		n.graph.Keep(dataKey, "the bootstrap data can't be read")
		return nil
	case !n.boot.ignition:
		return nil
	case n.bucket() == nil:
		n.graph.Keep(dataKey, "the bucket of the cluster isn't known")
		return nil
	}
	return graph.Add(n.graph, n.data, graph.Want[stored]{
		Key: dataKey, Condition: infrav1.BootstrapDataReadyCondition, After: after, Claim: graph.CreateNamed(n.objectKey()),
		Create: func(_ context.Context, k graph.Key) (graph.Call[stored], error) {
			api, data, bucket := n.api, n.boot.data, bucketIn(k.Scope)
			return func(ctx context.Context) (*stored, error) {
				return &stored{bucket.Name + "/" + k.Title}, api.PutObject(ctx, bucket, k.Title, data)
			}, nil
		},
	})
}

// userData is what the virtual machine boots with: the bootstrap data, or where they are.
func (n *node) userData(ctx context.Context) ([]byte, error) {
	in := n.graph.Scope(dataKey)
	if in == nil {
		return n.boot.data, nil
	}
	ledger, err := ledgers.Of(ctx, n.reconciler.Client, n.reconciler.Scheme(), n.infra)
	if err != nil {
		return nil, err
	}
	key := cluster.HMACKeyIn(ledger)
	if key == "" {
		return nil, &fault.Error{Class: fault.Busy, Op: "sign a URL of the bootstrap data", Err: fmt.Errorf(
			"IBMPowerVSCluster %s has no HMAC key yet", n.infra.Name)}
	}
	url, err := n.api.PresignGet(ctx, bucketIn(in), n.objectKey(), key)
	if err != nil {
		return nil, err
	}
	return ignition.Stub(cmp.Or(n.infra.Spec.Ignition.Version, "2.3"), url)
}
