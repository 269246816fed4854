package observer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/apiserver"
	"github.com/bedplate/bedplate/internal/values"
)

const (
	// pageSize in nodes. One takes up to 40 KiB, most of it the names of images.
	pageSize  = 50
	maxAnswer = 2 << 20
	// maxValues and maxDepth bound what a page takes in memory once it is decoded.
	maxValues = 200_000
	maxDepth  = 64
	// maxNodes are looked at: twice as many as Kubernetes is made for.
	maxNodes = 10_000
	// maxShown are in a status, with texts of at most so many bytes, and in JSON as many bytes of texts and all: together with its templates
	// it has to fit into etcd.
	maxShown     = 500
	maxText      = 200
	maxShownJSON = 200 << 10
	// maxNote is how long the text of an event is, at most.
	maxNote = 900
)

// conditions of Nodes that are shown, in this order.
var conditions = []corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
}

// pressures make a node unhealthy.
var pressures = []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}

// node is what is read of a Node.
type node struct {
	Metadata struct{ Name string }
	Status   struct{ Conditions []krakev1.NodeCondition }
}

// nodes are what a look at a cluster has shown.
type nodes struct {
	total               int
	notReady, unhealthy named
	troubled, well      []krakev1.NodeStatus // maxShown of each, at most
	names               map[string]bool
}

// named are nodes with the same problem, of which the first ones are named.
type named struct {
	number int
	names  []string
}

func (n *named) add(name string) {
	if n.number++; n.number <= 3 {
		n.names = append(n.names, name)
	}
}

// errStrange is an answer that no API server gives.
var errStrange = errors.New("unexpected answer")

// list the nodes of a cluster, page by page. Of each only the conditions are kept.
func list(ctx context.Context, api *apiserver.Client) (*nodes, error) {
	found := &nodes{names: map[string]bool{}}
	for next := ""; ; {
		data, err := api.Get().Resource("nodes").Param("limit", strconv.Itoa(pageSize)).Param("continue", next).MaxRetries(0).Do(ctx).Raw()
		if err != nil {
			return nil, err
		}
		if _, ok := values.Of(data, maxValues, maxDepth); !ok {
			return nil, fmt.Errorf("%w: more values than a page of nodes has", errStrange)
		}
		var page struct {
			Kind     string
			Metadata struct{ Continue string }
			Items    []node
		}
		switch err := json.Unmarshal(data, &page); {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errStrange, err)
		case page.Kind != "NodeList" || len(page.Items) > pageSize:
			return nil, fmt.Errorf("%w: not the list of nodes that was asked for", errStrange)
		}
		for i := range page.Items {
			found.add(&page.Items[i])
		}
		if next = page.Metadata.Continue; next == "" || len(page.Items) == 0 || found.total >= maxNodes {
			return found, nil
		}
	}
}

func (n *nodes) add(one *node) {
	name := one.Metadata.Name
	if n.names[name] || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return // no API server has such nodes
	}
	n.names[name] = true
	n.total++
	shown, ready, pressed := summarize(one)
	switch {
	case !ready:
		n.notReady.add(name)
	case pressed != "":
		n.unhealthy.add(name + " (" + pressed + ")")
	default:
		if len(n.well) < maxShown {
			n.well = append(n.well, shown)
		}
		return
	}
	if len(n.troubled) < maxShown {
		n.troubled = append(n.troubled, shown)
	}
}

// summarize what is known of a node: whether it is ready, and which pressures it is under. Texts are kept only where something is wrong.
func summarize(one *node) (shown krakev1.NodeStatus, ready bool, pressed string) {
	shown.Name = one.Metadata.Name
	var under []string
	for _, kind := range conditions {
		i := slices.IndexFunc(one.Status.Conditions, func(c krakev1.NodeCondition) bool { return c.Type == string(kind) })
		if i < 0 {
			continue
		}
		found := one.Status.Conditions[i]
		is, good := found.Status == string(corev1.ConditionTrue), found.Status == string(corev1.ConditionFalse)
		switch {
		case kind == corev1.NodeReady:
			ready, good = is, is
		case is && slices.Contains(pressures, kind):
			under = append(under, string(kind))
		}
		kept := krakev1.NodeCondition{Type: string(kind), Status: found.Status}
		if !is && !good && found.Status != string(corev1.ConditionFalse) {
			kept.Status = string(corev1.ConditionUnknown)
		}
		if !good {
			kept.Reason, kept.Message = cut(found.Reason), cut(found.Message)
		}
		shown.Conditions = append(shown.Conditions, kept)
	}
	return shown, ready, strings.Join(under, ", ")
}

// cut a text of another cluster's.
func cut(text string) string { return cutTo(text, maxText) }

func cutTo(text string, bytes int) string {
	return strings.ToValidUTF8(text[:min(len(text), bytes)], "")
}

// state that the nodes are in.
func (n *nodes) state() krakev1.ClusterState {
	switch {
	case n.total == 0 || n.notReady.number > 0:
		return krakev1.StateNotReady
	case n.unhealthy.number > 0:
		return krakev1.StateUnhealthy
	}
	return krakev1.StateOnline
}

// shown are the nodes for the status, those with a problem first.
func (n *nodes) shown() []krakev1.NodeStatus {
	all := slices.Concat(n.troubled, n.well)
	all = all[:min(len(all), maxShown)]
	left := maxShownJSON
	for _, one := range all {
		data, _ := json.Marshal(one) // can't fail
		if left -= len(data); left >= 0 {
			continue
		}
		for i := range one.Conditions {
			one.Conditions[i].Reason, one.Conditions[i].Message = "", ""
		}
	}
	return all
}

// problem of the nodes, and its remedy; empty if there is none.
func (n *nodes) problem() string {
	if n.total == 0 {
		return "the cluster has no node yet: see what its machines do"
	}
	var all []string
	for what, these := range map[string]named{"not ready": n.notReady, "under pressure": n.unhealthy} {
		if these.number == 0 {
			continue
		}
		text := fmt.Sprintf("%d of %d nodes %s: %s", these.number, n.total, what, strings.Join(these.names, ", "))
		if more := these.number - len(these.names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "; ") + ". See status.nodes, and the nodes themselves"
}
