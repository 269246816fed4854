// Package vswitchd holds the models of the tables of Open vSwitch's own database that Bedplate reads or writes.
//
// They are generated from vswitch.ovsschema: version 8.3.1, as in Open vSwitch 3.1, the oldest supported. The schema is part
// of Open vSwitch, copyright its authors (see the file NOTICE of Open vSwitch), licensed under the Apache License, version 2.0.
package vswitchd
