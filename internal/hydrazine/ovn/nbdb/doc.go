// Package nbdb holds the models of the tables of OVN's northbound database that Hydrazine reads or writes.
//
// They are generated from ovn-nb.ovsschema: version 7.0.0, as in OVN 23.03, the oldest supported. The schema is part of OVN,
// copyright its authors (see the file NOTICE of OVN), licensed under the Apache License, version 2.0.
package nbdb
