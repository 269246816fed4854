package ovn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/mapper"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
)

// externalIDs is a column of every table. Each key in it may be another client's.
const externalIDs = "external_ids"

// tables is the northbound schema, by type of model.
type tables map[reflect.Type]*table

type table struct {
	mapper.Metadata
	columns []string // that are part of the wanted state, sorted
}

// northbound and southbound are the databases' models, which all connections share.
var (
	northbound = sync.OnceValues(func() (model.DatabaseModel, error) { return databaseModel(nbdb.Schema(), nbdb.FullDatabaseModel) })
	southbound = sync.OnceValues(func() (model.DatabaseModel, error) { return databaseModel(sbdb.Schema(), sbdb.FullDatabaseModel) })
)

func databaseModel(schema ovsdb.DatabaseSchema, models func() (model.ClientDBModel, error)) (model.DatabaseModel, error) {
	of, err := models()
	if err != nil {
		return model.DatabaseModel{}, err
	}
	database, errs := model.NewDatabaseModel(schema, of)
	return database, errors.Join(errs...)
}

func northboundTables() (tables, error) {
	database, err := northbound()
	if err != nil {
		return nil, err
	}
	t := tables{}
	for name, typ := range database.Types() {
		m, err := database.NewModel(name)
		if err != nil {
			return nil, err
		}
		info, err := database.NewModelInfo(m)
		if err != nil {
			return nil, err
		}
		columns := slices.DeleteFunc(slices.Sorted(maps.Keys(info.Metadata.Fields)), func(column string) bool {
			return column == "_uuid" || writtenByOVN(name, column)
		})
		t[typ] = &table{Metadata: info.Metadata, columns: columns}
	}
	return t, nil
}

func (t tables) names() []string {
	var names []string
	for _, table := range t {
		names = append(names, table.TableName)
	}
	return names
}

// writtenByOVN reports whether a column isn't part of the wanted state.
func writtenByOVN(table, column string) bool {
	switch table {
	case nbdb.LogicalSwitchPortTable:
		return column == "up" || column == "dynamic_addresses" || column == "tag"
	case nbdb.LogicalRouterPortTable:
		return column == "ipv6_prefix"
	}
	return false
}

// row is a model with access by column.
type row struct {
	*table
	fields reflect.Value
	uuid   string // of a wanted row: its Ref
	owner  string
	key    string
}

func (t tables) row(m model.Model) (*row, error) {
	table, ok := t[reflect.TypeOf(m)]
	if !ok {
		return nil, fmt.Errorf("there is no table for a %T", m)
	}
	r := &row{table: table, fields: reflect.ValueOf(m).Elem()}
	r.uuid = r.value("_uuid").String()
	if ids, ok := r.value(externalIDs).Interface().(map[string]string); ok {
		r.owner, r.key = ids[OwnerID], ids[KeyID]
	}
	return r, nil
}

// rows sorts by table and name, so that equal sets give equal transactions.
func (t tables) rows(models []model.Model, name func(*row) string) ([]*row, error) {
	rows := make([]*row, 0, len(models))
	for _, m := range models {
		r, err := t.row(m)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.TableName, b.TableName), cmp.Compare(name(a), name(b)))
	})
	return rows, nil
}

// value of a column.
func (r *row) value(column string) reflect.Value {
	return r.fields.FieldByName(r.Fields[column])
}

func (r *row) schema(column string) *ovsdb.ColumnSchema { return r.TableSchema.Column(column) }

// refersTo reports whether a column holds UUIDs of other rows, and whether these live by it.
func (r *row) refersTo(column string) (reference, strong bool) {
	typ := r.schema(column).TypeObj
	if typ == nil || typ.Key == nil || typ.Key.Type != ovsdb.TypeUUID {
		return false, false
	}
	kind, err := typ.Key.RefType()
	return true, err == nil && kind == ovsdb.Strong
}

// references are the UUIDs in a column, one or many.
func (r *row) references(column string) []string {
	switch v := r.value(column).Interface().(type) {
	case []string:
		return v
	case *string:
		if v != nil {
			return []string{*v}
		}
	}
	return nil
}

// holds reports whether other rows live by this one.
func (r *row) holds() bool {
	return slices.ContainsFunc(r.columns, func(column string) bool {
		_, strong := r.refersTo(column)
		return strong && len(r.references(column)) > 0
	})
}

func (r *row) root() bool { return r.TableSchema.IsRoot }
