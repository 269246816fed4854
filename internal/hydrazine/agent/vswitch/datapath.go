package vswitch

import (
	"context"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/openvswitch"
	"github.com/bedplate/bedplate/internal/openvswitch/vswitchd"
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
func (s *snapshot) withoutZeroSNAT(c *openvswitch.Change, kind string) {
	if kind != userspace {
		return
	}
	if row := s.Datapaths[s.Root.Datapaths[kind]]; row != nil {
		c.Set(row, &row.Capabilities, map[string]string{zeroSNAT: no})
		return
	}
	row := &vswitchd.Datapath{UUID: "datapath", Capabilities: map[string]string{zeroSNAT: no}}
	c.Create(row)
	c.Mutate(s.Root, model.Mutation{
		Field: &s.Root.Datapaths, Mutator: ovsdb.MutateOperationInsert, Value: map[string]string{kind: row.UUID},
	})
}

// repairDatapath reverts what ovs-vswitchd has written when it saw the row.
func (d *Database) repairDatapath(ctx context.Context, kind string) error {
	found, err := d.snapshot()
	if err != nil {
		return err
	}
	c := d.Change()
	found.withoutZeroSNAT(c, kind)
	if c.Empty() {
		return nil
	}
	if err := c.Commit(ctx); err != nil {
		return fmt.Errorf("keep OVN from SNAT to no address: %w", err)
	}
	return nil
}
