package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// Label is on every ConfigMap of the journal.
	Label = "dpu.nvidia.com/network-journal"
	// finalizer keeps the journal from those who delete all ConfigMaps of a namespace.
	finalizer = "dpu.nvidia.com/network-journal"

	clusterName = "dpf-journal-cluster"
	clusterKey  = "cluster"
	nodesName   = "dpf-journal-nodes-%02d"
	// shards of the nodes' records. A record has at most about 2 KiB, so those of 2,000 nodes take a fourth of what fits.
	shards = 16
	// maxSize of a ConfigMap's data, in bytes: the API server takes 1 MiB.
	maxSize = 960 << 10
)

// Journal is what was read. It is used for one reconcile.
type Journal struct {
	client    client.Client
	namespace string
	maps      map[string]*corev1.ConfigMap
	state     State
}

// Load reads the journal. To decide by it what is changed, the reader must not be a cache: by an old record a node that has got everything
// back would be changed again.
func Load(ctx context.Context, reader client.Reader, writer client.Client, namespace string) (*Journal, error) {
	var list corev1.ConfigMapList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{Label}); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	j := &Journal{client: writer, namespace: namespace, maps: map[string]*corev1.ConfigMap{}, state: State{Nodes: map[string]Node{}}}
	for i := range list.Items {
		if err := j.read(&list.Items[i]); err != nil {
			return nil, fmt.Errorf("read the journal in ConfigMap %s/%s: %w", namespace, list.Items[i].Name, err)
		}
	}
	return j, nil
}

func (j *Journal) read(m *corev1.ConfigMap) (err error) {
	j.maps[m.Name] = m
	for key, text := range m.Data {
		switch {
		case m.Name == clusterName && key == clusterKey:
			j.state.Cluster, err = decode[Cluster](text)
		case m.Name == shardOf(key):
			j.state.Nodes[key], err = decodeNode(text)
		default:
			err = errors.New("it isn't where it should be")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// State is what the journal says.
func (j *Journal) State() State { return j.state }

// PutCluster writes what exists once. It returns a conflict where the journal has changed since it was read, and ErrOriginal instead of
// overwriting an original.
func (j *Journal) PutCluster(ctx context.Context, cluster Cluster) error {
	if err := cluster.keeps(j.state.Cluster); err != nil {
		return err
	}
	if err := j.put(ctx, clusterName, clusterKey, cluster); err != nil {
		return err
	}
	j.state.Cluster = cluster
	return nil
}

// PutNode writes a node's record; otherwise see PutCluster.
func (j *Journal) PutNode(ctx context.Context, name string, node Node) error {
	if before, exists := j.state.Nodes[name]; exists {
		if err := node.keeps(before); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	if err := j.put(ctx, shardOf(name), name, node); err != nil {
		return err
	}
	j.state.Nodes[name] = node
	return nil
}

// DropNode removes the record of a node that doesn't exist any more.
func (j *Journal) DropNode(ctx context.Context, name string) error {
	m := j.maps[shardOf(name)]
	if m == nil {
		return nil
	}
	data := maps.Clone(m.Data)
	delete(data, name)
	if err := j.write(ctx, m, data); err != nil {
		return err
	}
	delete(j.state.Nodes, name)
	return nil
}

func (j *Journal) put(ctx context.Context, name, key string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode a record of the journal: %w", err)
	}
	m := j.maps[name]
	if m == nil {
		m = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: j.namespace, Name: name, Labels: map[string]string{Label: ""}, Finalizers: []string{finalizer},
		}}
	}
	data := maps.Clone(m.Data)
	if data == nil {
		data = map[string]string{}
	}
	data[key] = string(text)
	if size := sizeOf(data); size > maxSize {
		return fmt.Errorf("write the journal: ConfigMap %s would have %d bytes, more than %d", name, size, maxSize)
	}
	return j.write(ctx, m, data)
}

// write under the lock of the version that was read.
func (j *Journal) write(ctx context.Context, m *corev1.ConfigMap, data map[string]string) error {
	written := m.DeepCopy()
	written.Data = data
	var err error
	if m.ResourceVersion == "" {
		if err = j.client.Create(ctx, written); apierrors.IsAlreadyExists(err) {
			err = apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, m.Name, err)
		}
	} else {
		err = j.client.Update(ctx, written)
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	j.maps[m.Name] = written
	return nil
}

// Remove the journal, once everything is back.
func (j *Journal) Remove(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(j.maps)) {
		m := j.maps[name]
		version := m.ResourceVersion
		if controllerutil.RemoveFinalizer(m, finalizer) {
			err := j.client.Update(ctx, m)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("remove the journal: %w", err)
			}
			version = m.ResourceVersion
		}
		err := j.client.Delete(ctx, m, client.Preconditions{ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the journal: %w", err)
		}
		delete(j.maps, name)
	}
	j.state = State{Nodes: map[string]Node{}}
	return nil
}

func shardOf(node string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(node))
	return fmt.Sprintf(nodesName, hash.Sum32()%shards)
}

func sizeOf(data map[string]string) (size int) {
	for key, text := range data {
		size += len(key) + len(text)
	}
	return size
}
