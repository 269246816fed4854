// Command gen writes the Go models of the given tables of an OVSDB schema.
//
// libovsdb's own command writes all tables of a schema, a third of a megabyte of Go for OVN's.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/ovn-kubernetes/libovsdb/modelgen"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func main() {
	log.SetFlags(0)
	tables := flag.String("tables", "", "tables to write, separated by commas")
	flag.Parse()
	if flag.NArg() != 1 || *tables == "" {
		log.Fatal("usage: gen -tables A,B,… FOLDER/NAME.ovsschema")
	}
	if err := generate(flag.Arg(0), strings.Split(*tables, ",")); err != nil {
		log.Fatal(err)
	}
}

// generate writes the models beside the schema, into the package that the folder is named for.
func generate(path string, tables []string) error {
	schema, err := read(path, tables)
	if err != nil {
		return fmt.Errorf("reading the schema %s: %w", path, err)
	}
	generator, err := modelgen.NewGenerator()
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	name := filepath.Base(folder)
	file := func(of string) string { return filepath.Join(folder, strings.ToLower(of)+"_gen.go") }
	for table, columns := range schema.Tables {
		data := modelgen.GetTableTemplateData(name, table, &columns)
		if err := generator.Generate(file(table), modelgen.NewTableTemplate(), data); err != nil {
			return fmt.Errorf("writing the model of %s: %w", table, err)
		}
	}
	if err := generator.Generate(file("model"), modelgen.NewDBTemplate(), modelgen.GetDBTemplateData(name, *schema)); err != nil {
		return fmt.Errorf("writing the model of %s: %w", schema.Name, err)
	}
	return nil
}

// read returns the schema with nothing but the tables.
func read(path string, tables []string) (*ovsdb.DatabaseSchema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var schema ovsdb.DatabaseSchema
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, err
	}
	all := schema.Tables
	schema.Tables = map[string]ovsdb.TableSchema{}
	for _, table := range tables {
		columns, ok := all[table]
		if !ok {
			return nil, fmt.Errorf("no table %s", table)
		}
		schema.Tables[table] = columns
	}
	return &schema, nil
}
