// Package ovn reads and writes the databases of OVN.
//
// Writes are level-based: Northbound.Apply compares all rows of one owner with those that are wanted, and writes the
// difference in one transaction. Rows of others are left alone.
package ovn
