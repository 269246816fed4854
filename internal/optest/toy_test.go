package optest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Toy is a kind of its own: a body with parts, made in a shop.
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ToySpec `json:"spec"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

type ToySpec struct {
	Shop    string            `json:"shop"`
	Size    int               `json:"size"`
	Color   string            `json:"color,omitempty"`
	Model   string            `json:"model,omitempty"`
	Painted bool              `json:"painted,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Parts   []Part            `json:"parts,omitempty"`
}

type Part struct {
	Name   string `json:"name"`
	Weight int    `json:"weight,omitempty"`
}

type ToyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Toy `json:"items"`
}

func (t *Toy) GetConditions() []metav1.Condition    { return t.Status.Conditions }
func (t *Toy) SetConditions(all []metav1.Condition) { t.Status.Conditions = all }
func (t *Toy) OutsideIDs() []ledgerv1.OutsideID     { return nil }
func (t *Toy) DeepCopyObject() runtime.Object       { return copied(t) }
func (l *ToyList) DeepCopyObject() runtime.Object   { return copied(l) }
func copied[T any](of *T) *T {
	data, _ := json.Marshal(of)
	result := new(T)
	_ = json.Unmarshal(data, result)
	return result
}

func addToyToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "optest.bedplate.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Toy{}, &ToyList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// thing is what a shop has made: a body or a part.
type thing struct {
	ID     string            `json:"id"`
	Tag    graph.Tag         `json:"-"`
	Shop   string            `json:"shop"`
	Key    string            `json:"key"`
	Fields map[string]string `json:"fields"`
	Of     string            `json:"of,omitempty"`
}

// shops make things, and count calls.
type shops struct {
	mu     sync.Mutex
	things map[string]*thing
	next   int
	calls  int
}

// goodShop exists; all others don't.
const goodShop, otherShop = "main-street", "market"

func (s *shops) call(work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return work()
}

func (s *shops) open(name string) error {
	return s.call(func() error {
		if name == goodShop || name == otherShop {
			return nil
		}
		return fault.Invalidf("there is no shop %q: correct spec.shop", name)
	})
}

func (s *shops) kind() *graph.Kind[thing] {
	notFound := func(id string) error {
		return &fault.Error{Class: fault.NotFound, Op: "get " + id, Err: errors.New("404")}
	}
	return &graph.Kind[thing]{
		Name: "thing",
		ID:   func(t *thing) string { return t.ID },
		Tag:  func(t *thing) graph.Tag { return t.Tag },
		Get: func(_ context.Context, id string, _ graph.Scope) (found *thing, err error) {
			err = s.call(func() error {
				if s.things[id] == nil {
					return notFound(id)
				}
				found = copied(s.things[id])
				found.Tag = s.things[id].Tag
				return nil
			})
			return found, err
		},
		Find: func(_ context.Context, key graph.Key) (found []thing, _ error) {
			return found, s.call(func() error {
				for _, id := range slices.Sorted(maps.Keys(s.things)) {
					if s.things[id].Tag.Owner == key.Owner {
						found = append(found, *s.things[id])
					}
				}
				return nil
			})
		},
		Phase: func(*thing) phases.Phase { return phases.Ready() },
		Delete: func(_ context.Context, id string, _ graph.Scope) error {
			return s.call(func() error {
				if s.things[id] == nil {
					return notFound(id)
				}
				delete(s.things, id)
				return nil
			})
		},
	}
}

// want a thing with some fields, in a shop.
func (s *shops) want(key, shop, of string, fields map[string]string, after ...graph.Ref) graph.Want[thing] {
	return graph.Want[thing]{
		Key: key, Condition: "Made", After: after, Claim: graph.Create(),
		Create: func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (made *thing, err error) {
				err = s.call(func() error {
					s.next++
					made = &thing{
						ID: fmt.Sprintf("thing-%d", s.next), Tag: graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token},
						Shop: shop, Key: key.Name, Fields: fields, Of: of,
					}
					s.things[made.ID] = made
					return nil
				})
				return made, err
			}, nil
		},
		Update: func(t *thing) graph.Update {
			u := graph.Update{Apply: func(context.Context) error {
				return s.call(func() error {
					s.things[t.ID].Fields, s.things[t.ID].Shop = fields, shop
					return nil
				})
			}}
			is, wanted := maps.Clone(t.Fields), maps.Clone(fields)
			is["shop"], wanted["shop"] = t.Shop, shop
			for _, field := range slices.Sorted(maps.Keys(wanted)) {
				if is[field] != wanted[field] {
					u.Changes = append(u.Changes, graph.Change{Field: field, From: is[field], To: wanted[field]})
				}
			}
			return u
		},
	}
}
