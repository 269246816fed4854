package ovn

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// difference is one comparison of the wanted rows with those found.
type difference struct {
	tables
	owner  string
	wanted []*row
	found  []*row
	mine   map[string]bool // UUIDs of found rows that are the owner's
	kept   map[place]*row  // those of them that stay
	uuids  map[string]string
}

// place is a row's, whatever its name and UUID.
type place struct{ table, key string }

func (r *row) place() place { return place{r.TableName, r.key} }

// difference returns the operations, to be done in one transaction, that make the owner's rows the wanted ones.
//
// Of a kept row only the columns that differ are written. References are added and removed one by one, because others
// among them may be another client's.
func (t tables) difference(owner string, found, wanted []model.Model) ([]ovsdb.Operation, error) {
	d := difference{tables: t, owner: owner, mine: map[string]bool{}, kept: map[place]*row{}, uuids: map[string]string{}}
	var err error
	if d.wanted, err = t.rows(wanted, func(r *row) string { return r.key }); err != nil {
		return nil, err
	}
	if d.found, err = t.rows(found, func(r *row) string { return r.uuid }); err != nil {
		return nil, err
	}
	if err := errors.Join(d.match(), d.conflicts()); err != nil {
		return nil, err
	}
	var operations []ovsdb.Operation
	for _, r := range d.wanted {
		operation, err := d.write(r)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.TableName, r.key, err)
		}
		operations = append(operations, operation...)
	}
	return append(operations, d.remove()...), nil
}

// match finds the row for each wanted one. Of several with one key, which only another writer can have made, one stays.
func (d *difference) match() error {
	if d.owner == "" {
		return errors.New("rows without an owner can't be told from those of others")
	}
	places := map[place]bool{}
	for _, r := range d.wanted {
		if r.owner != d.owner || r.key == "" || places[r.place()] {
			return fmt.Errorf("%s %q is wanted twice, or without its owner and key", r.TableName, r.key)
		}
		places[r.place()] = true
	}
	for _, r := range d.found {
		if r.owner != d.owner {
			continue
		}
		d.mine[r.uuid] = true
		if places[r.place()] && d.kept[r.place()] == nil {
			d.kept[r.place()] = r
		}
	}
	for _, r := range d.wanted {
		if kept := d.kept[r.place()]; kept != nil {
			d.uuids[r.uuid] = kept.uuid
		}
	}
	return nil
}

// conflicts names rows of others that have a unique value of ours.
func (d *difference) conflicts() error {
	taken := map[string]*row{}
	for _, r := range d.found {
		if d.mine[r.uuid] {
			continue
		}
		for _, unique := range r.unique() {
			taken[unique] = r
		}
	}
	var errs []error
	for _, r := range d.wanted {
		for _, unique := range r.unique() {
			if other := taken[unique]; other != nil {
				errs = append(errs, fmt.Errorf("%s %s: %s %s has this name and isn't Bedplate's: rename or remove it",
					r.TableName, r.value("name"), other.TableName, other.uuid))
			}
		}
	}
	return errors.Join(errs...)
}

// unique are the values that no other row may have. Ports of switches and routers share their names.
func (r *row) unique() []string {
	var values []string
	for _, index := range r.TableSchema.Indexes {
		space := r.TableName
		if r.TableName == nbdb.LogicalRouterPortTable {
			space = nbdb.LogicalSwitchPortTable
		}
		for _, column := range index {
			space += fmt.Sprintf(" %s=%v", column, r.value(column))
		}
		values = append(values, space)
	}
	return values
}

// write creates a wanted row or changes the existing one.
func (d *difference) write(r *row) ([]ovsdb.Operation, error) {
	kept := d.kept[r.place()]
	if kept == nil {
		return d.insert(r)
	}
	changes := ovsdb.Row{}
	var mutations []ovsdb.Mutation
	for _, column := range r.columns {
		if reference, _ := r.refersTo(column); reference {
			mutations = append(mutations, d.refer(kept, column, d.resolve(r.references(column)))...)
			continue
		}
		if value := r.merged(kept, column); !equal(value, kept.value(column)) {
			if amendments := r.amend(kept, column); amendments != nil {
				mutations = append(mutations, amendments...)
				continue
			}
			native, err := ovsdb.NativeToOvs(r.schema(column), value.Interface())
			if err != nil {
				return nil, err
			}
			changes[column] = native
		}
	}
	var operations []ovsdb.Operation
	if len(changes) > 0 {
		operations = append(operations,
			ovsdb.Operation{Op: ovsdb.OperationUpdate, Table: r.TableName, Where: isRow(kept.uuid), Row: changes})
	}
	return append(operations, mutate(kept, mutations)...), nil
}

// amend a set by what differs, if that is less than the set: one DPU more among a thousand is one address to write, in each group. It
// returns nil if the column is better written whole. What is new comes first, as some sets may not be empty in between.
func (r *row) amend(kept *row, column string) (mutations []ovsdb.Mutation) {
	wanted, set := r.value(column).Interface().([]string)
	has, _ := kept.value(column).Interface().([]string)
	if !set || r.schema(column).TypeObj.Max() != ovsdb.Unlimited {
		return nil
	}
	missing, surplus := beyond(wanted, has), beyond(has, wanted)
	if len(missing)+len(surplus) >= len(wanted) {
		return nil
	}
	if len(missing) > 0 {
		mutations = append(mutations, *ovsdb.NewMutation(column, ovsdb.MutateOperationInsert, ovsdb.OvsSet{GoSet: missing}))
	}
	if len(surplus) > 0 {
		mutations = append(mutations, *ovsdb.NewMutation(column, ovsdb.MutateOperationDelete, ovsdb.OvsSet{GoSet: surplus}))
	}
	return mutations
}

// beyond are these values that aren't among those, sorted, each once.
func beyond(these, those []string) (values []any) {
	known := make(map[string]bool, len(those))
	for _, one := range those {
		known[one] = true
	}
	for _, one := range slices.Sorted(slices.Values(these)) {
		if !known[one] {
			values = append(values, one)
			known[one] = true
		}
	}
	return values
}

func (d *difference) insert(r *row) ([]ovsdb.Operation, error) {
	columns := ovsdb.Row{}
	for _, column := range r.columns {
		if value := r.value(column); !empty(value) {
			native := value.Interface()
			if reference, _ := r.refersTo(column); reference {
				columns[column] = set(d.resolve(r.references(column)))
				continue
			}
			var err error
			if columns[column], err = ovsdb.NativeToOvs(r.schema(column), native); err != nil {
				return nil, err
			}
		}
	}
	return []ovsdb.Operation{{Op: ovsdb.OperationInsert, Table: r.TableName, UUIDName: r.uuid, Row: columns}}, nil
}

// resolve replaces references to existing rows by their UUIDs.
func (d *difference) resolve(references []string) []string {
	resolved := make([]string, len(references))
	for i, reference := range references {
		resolved[i] = reference
		if uuid := d.uuids[reference]; uuid != "" {
			resolved[i] = uuid
		}
	}
	slices.Sort(resolved)
	return resolved
}

// refer makes the owner's rows that a found row refers to the wanted ones.
func (d *difference) refer(found *row, column string, wanted []string) []ovsdb.Mutation {
	has := found.references(column)
	missing := without(wanted, has)
	surplus := slices.DeleteFunc(without(has, wanted), func(uuid string) bool {
		single := found.schema(column).TypeObj.Max() == 1 && len(missing) > 0
		return !d.mine[uuid] && !single
	})
	var mutations []ovsdb.Mutation
	if len(surplus) > 0 {
		mutations = append(mutations, *ovsdb.NewMutation(column, ovsdb.MutateOperationDelete, set(surplus)))
	}
	if len(missing) > 0 {
		mutations = append(mutations, *ovsdb.NewMutation(column, ovsdb.MutateOperationInsert, set(missing)))
	}
	return mutations
}

// remove deletes the owner's rows that aren't wanted. Those that aren't roots are deleted when nothing refers to them any more.
// But OVSDB looks for references to deleted rows before that, so one that may have some is deleted too.
func (d *difference) remove() []ovsdb.Operation {
	var operations []ovsdb.Operation
	for _, r := range d.found {
		switch {
		case d.kept[r.place()] == r:
		case d.mine[r.uuid] && (r.root() || r.holds()):
			operations = append(operations, ovsdb.Operation{Op: ovsdb.OperationDelete, Table: r.TableName, Where: isRow(r.uuid)})
		case !d.mine[r.uuid]:
			operations = append(operations, d.release(r)...)
		}
	}
	return operations
}

// release removes the owner's rows from another client's row: a port on two switches isn't reliably on either.
func (d *difference) release(foreign *row) []ovsdb.Operation {
	var mutations []ovsdb.Mutation
	for _, column := range foreign.columns {
		if _, strong := foreign.refersTo(column); strong {
			mutations = append(mutations, d.refer(foreign, column, nil)...)
		}
	}
	return mutate(foreign, mutations)
}

func mutate(found *row, mutations []ovsdb.Mutation) []ovsdb.Operation {
	if len(mutations) == 0 {
		return nil
	}
	return []ovsdb.Operation{{
		Op: ovsdb.OperationMutate, Table: found.TableName, Where: isRow(found.uuid), Mutations: mutations,
	}}
}

func set(uuids []string) ovsdb.OvsSet {
	elements := make([]any, len(uuids))
	for i, uuid := range uuids {
		elements[i] = ovsdb.UUID{GoUUID: uuid}
	}
	return ovsdb.OvsSet{GoSet: elements}
}

func without(these, those []string) []string {
	return slices.DeleteFunc(slices.Clone(these), func(s string) bool { return slices.Contains(those, s) })
}

// merged is a wanted value with the keys of others in the found row.
func (r *row) merged(found *row, column string) reflect.Value {
	if column != externalIDs {
		return r.value(column)
	}
	notes := map[string]string{}
	for _, from := range []*row{found, r} {
		ids, _ := from.value(column).Interface().(map[string]string)
		maps.Copy(notes, ids)
	}
	return reflect.ValueOf(notes)
}

// equal compares values as OVSDB does: its lists have no order.
func equal(a, b reflect.Value) bool {
	if empty(a) || empty(b) {
		return empty(a) == empty(b)
	}
	one, ok := a.Interface().([]string)
	if !ok {
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
	other, _ := b.Interface().([]string)
	return slices.Equal(slices.Sorted(slices.Values(one)), slices.Sorted(slices.Values(other)))
}

// empty reports whether a value is what a new row has by itself.
func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}
