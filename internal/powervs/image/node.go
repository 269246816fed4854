package image

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/tag"
)

// Keys within the graph.
const (
	importKey = "import"
	imageKey  = "image"
)

// node is the graph of one IBMPowerVSImage: an import, and the image that this makes. The image carries the tag. An import is a job, which
// carries nothing, and is wanted until its image is active.
type node struct {
	owners
	object  *infrav1.IBMPowerVSImage
	api     *ibm.Client
	graph   *graph.Graph
	imports *graph.Kind[ibm.Job]
	images  *graph.Kind[ibm.Image]
	in      ibm.Workspace
	image   *graph.Handle[ibm.Image]
}

// node before its graph is opened.
func (r *Reconciler) node(api *ibm.Client, around owners, object *infrav1.IBMPowerVSImage) *node {
	n := &node{owners: around, object: object, api: api}
	n.imports, n.images = n.importKind(), n.imageKind()
	return n
}

func (n *node) kinds() []graph.AnyKind { return []graph.AnyKind{n.imports, n.images} }

func (r *Reconciler) open(
	ctx context.Context, api *ibm.Client, secret string, around owners, object *infrav1.IBMPowerVSImage,
) (*node, error) {
	n := r.node(api, around, object)
	if err := n.locate(ctx, r.Client); err != nil {
		return nil, err
	}
	opened, err := r.Engine.New(ctx, object, []string{secret}, n.kinds()...)
	n.graph = opened
	for _, key := range []string{importKey, imageKey} {
		if in := opened.Scope(key); in != nil {
			n.in = workspaceIn(in)
		}
	}
	return n, err
}

// locate finds the workspace of an image that the status shows and the ledger lacks, such as an older one: nothing else says which workspace
// that image is in.
func (n *node) locate(ctx context.Context, c client.Client) error {
	ledger, err := ledgers.Of(ctx, c, c.Scheme(), n.object)
	if err != nil || len(ledgers.Lacking(ledger, n.object)) == 0 {
		return err
	}
	return n.placePhase(ctx).Err // without a workspace the error is that of the image
}

// Reconcile imports the image, and shows it in the object.
func (n *node) Reconcile(ctx context.Context) (ctrl.Result, error) {
	n.object.SetOwnerReferences(util.EnsureOwnerRef(n.object.GetOwnerReferences(), metav1.OwnerReference{ // so that it moves with its cluster
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: n.cluster.Name, UID: n.cluster.UID,
	}))
	n.want(ctx)
	result, err := n.graph.Reconcile(ctx)
	n.project()
	return result, err
}

// Delete the image unless it is retained, and end its import.
func (n *node) Delete(ctx context.Context, finalizer string) (ctrl.Result, error) {
	result, err := n.graph.DeleteAndRelease(ctx, finalizer)
	n.project()
	return result, err
}

// want an import, unless there is an image of the name, and the image.
func (n *node) want(ctx context.Context) {
	place := n.placePhase(ctx)
	after := []graph.Ref{n.graph.Gate(infrav1.ClusterReadyCondition, func() phases.Phase { return place })}
	if place.State == phases.StateReady {
		imports, err := n.wantsImport(ctx)
		switch {
		case err != nil:
			n.graph.Keep(importKey, "it can't be looked up whether there is an image")
			after = append(after, n.graph.Gate(infrav1.ImageImportedCondition, func() phases.Phase { return phases.Of(err) }, after...))
		case imports:
			after = append(after, n.wantImport(after))
		default:
			n.graph.Gate(infrav1.ImageImportedCondition, phases.Ready)
		}
	}
	n.image = graph.Add(n.graph, n.images, graph.Want[ibm.Image]{
		Key: imageKey, Condition: infrav1.ImageReadyCondition, After: after, Claim: graph.UseOrCreate(n.object.Name),
		Create: func(context.Context, graph.Key) (graph.Call[ibm.Image], error) { // the import does
			return nil, &fault.Error{Class: fault.Busy, Err: errors.New("the image isn't listed yet, although its import has ended")}
		},
	})
}

// wantsImport reports whether there has to be an import. One that has begun stays until its image is active, or gone.
func (n *node) wantsImport(ctx context.Context) (bool, error) {
	id := n.graph.ID(imageKey)
	if id == "" {
		all, err := n.api.Images(ctx, n.in)
		found := slices.ContainsFunc(all, n.hasName)
		return n.graph.ID(importKey) != "" || !found, err
	}
	if n.graph.ID(importKey) == "" {
		return false, nil
	}
	image, err := n.api.Image(ctx, n.in, id)
	if fault.IsNotFound(err) { // the image stays in the ledger until its import has left it: see get
		return false, nil
	}
	return err == nil && image.State != stateActive, err
}

func (n *node) hasName(i ibm.Image) bool { return i.Name == n.object.Name }

func (n *node) wantImport(after []graph.Ref) graph.Ref {
	spec := &n.object.Spec
	return graph.Add(n.graph, n.imports, graph.Want[ibm.Job]{
		Key: importKey, Condition: infrav1.ImageImportedCondition, After: after,
		Create: func(_ context.Context, k graph.Key) (graph.Call[ibm.Job], error) {
			ofImage := k
			ofImage.Name = imageKey
			request := ibm.ImageImport{
				Name: n.object.Name, Bucket: spec.Bucket, Region: spec.Region, Object: spec.Object, StorageType: spec.StorageType,
				UserTags: tag.Of(ofImage),
			}
			api, in := n.api, workspaceIn(k.Scope)
			return func(ctx context.Context) (*ibm.Job, error) {
				id, err := api.ImportImage(ctx, in, request)
				return &ibm.Job{ID: id}, err
			}, nil
		},
	})
}

// clusterWorkspace is the cluster's; empty if it isn't ready, before there is an image in it.
func (n *node) clusterWorkspace() string {
	if s := n.infra.Status.ServiceInstance; s != nil && n.object.Status.ImageID != "" {
		return s.ID
	}
	return workspaceOf(n.infra)
}

// placePhase finds the workspace: that of the spec, or else the cluster's.
func (n *node) placePhase(ctx context.Context) phases.Phase {
	if n.in.ID != "" {
		return phases.Ready()
	}
	spec := &n.object.Spec
	id := spec.WorkspaceID()
	switch named := spec.ServiceInstance; {
	case id == "" && named != nil && named.Name != "":
		all, err := n.api.Instances(ctx, ibm.PlanPowerVS, named.Name)
		switch {
		case err != nil:
			return phases.Of(err)
		case len(all) != 1:
			return phases.Failed("%d workspaces have the name %q: name the right one by its ID in spec.serviceInstance.id", len(all), named.Name)
		}
		n.in = ibm.Workspace{Zone: all[0].Target, ID: all[0].ID}
		return phases.Ready()
	case id == "" && n.infra == nil:
		return phases.Waiting("Cluster %s has no IBMPowerVSCluster yet", spec.ClusterName)
	case id == "":
		if id = n.clusterWorkspace(); id == "" {
			return phases.Waiting("the workspace of IBMPowerVSCluster %s isn't ready yet", n.infra.Name)
		}
	}
	found, err := n.api.Instance(ctx, id)
	switch {
	case fault.IsNotFound(err):
		return phases.Failed("there is no workspace %s: correct spec.serviceInstance", id)
	case err != nil:
		return phases.Of(err)
	}
	n.in = ibm.Workspace{Zone: found.Target, ID: found.ID}
	return phases.Ready()
}

// project shows the image in the status. What wasn't seen stays as it was.
func (n *node) project() {
	status := &n.object.Status
	status.JobID = cmp.Or(n.graph.ID(importKey), status.JobID)
	if id := n.graph.ID(imageKey); id != "" || n.object.DeletionTimestamp.IsZero() {
		status.ImageID = id
	}
	if n.image != nil && n.image.Object() != nil {
		status.ImageState = n.image.Object().State
	}
	status.Ready = meta.IsStatusConditionTrue(status.Conditions, infrav1.ReadyCondition)
}
