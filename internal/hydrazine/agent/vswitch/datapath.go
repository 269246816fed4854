package vswitch

import (
	"context"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/vswitchd"
)

// If the datapath reports zeroSNAT, ovn-controller commits each connection that an ACL tracks with a source NAT to no address. Open
// vSwitch 3.1 in userspace aborts by an assertion (conn_update_state) when a packet of such a connection arrives after its timeout
// and before it is swept away, within seconds. Any host can send that: UDP packets 60 s apart do it, and DHCP renewals.
//
// OVN needs it only where load balancers and ACLs share a zone of connection tracking. No network here has load balancers.
const zeroSNAT, no = "ct_zero_snat", "false"

// userspace is the type of the datapath that aborts. The kernel's tracks connections otherwise.
const userspace = "netdev"

// withoutZeroSNAT makes the datapath report that it doesn't have it, before ovn-controller reads that. When ovs-vswitchd sees the row
// for the first time, also after each start, it writes all its features: so this is checked again after every change.
func (s *snapshot) withoutZeroSNAT(c *change, kind string) {
	if kind != userspace {
		return
	}
	if row := s.datapaths[s.root.Datapaths[kind]]; row != nil {
		c.set(row, &row.Capabilities, map[string]string{zeroSNAT: no})
		return
	}
	row := &vswitchd.Datapath{UUID: "datapath", Capabilities: map[string]string{zeroSNAT: no}}
	c.create(row)
	c.mutate(s.root, model.Mutation{
		Field: &s.root.Datapaths, Mutator: ovsdb.MutateOperationInsert, Value: map[string]string{kind: row.UUID},
	})
}

// repairDatapath reverts what ovs-vswitchd has written when it saw the row.
func (d *Database) repairDatapath(ctx context.Context, kind string) error {
	found, err := d.snapshot()
	if err != nil {
		return err
	}
	c := &change{database: d}
	found.withoutZeroSNAT(c, kind)
	if len(c.operations) == 0 && c.err == nil {
		return nil
	}
	if err := c.commit(ctx); err != nil {
		return fmt.Errorf("keep OVN from SNAT to no address: %w", err)
	}
	return nil
}
