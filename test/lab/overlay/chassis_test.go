package overlay_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
)

// chassis does in a group's southbound database what the ovn-controllers of its DPUs do, and nothing else: it binds the ports, and
// says that every change has come.
type chassis struct {
	*site
	north *ovn.Northbound
	south *ovn.Database
}

// drive the DPUs of a group until the test ends.
func (s *site) drive(g *resourcev1.ResourceGroup) *chassis {
	s.t.Helper()
	c, dir := &chassis{site: s}, filepath.Join(s.dir, "ovn", "ovn-"+string(g.UID))
	var err error
	c.north, err = ovn.DialNorthbound(s.t.Context(), "unix:"+filepath.Join(dir, "nb.sock"), nil)
	s.Expect(err).NotTo(HaveOccurred())
	news := make(chan struct{}, 1)
	c.south, err = ovn.Dial(s.t.Context(), southbound(s.WithT), "unix:"+filepath.Join(dir, "sb.sock"), func(string) {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	s.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.follow(ctx)
		for {
			select {
			case <-ctx.Done():
				return
			case <-news:
				c.follow(ctx)
			}
		}
	}()
	s.t.Cleanup(func() {
		cancel()
		<-ended
		c.north.Close()
		c.south.Close()
	})
	return c
}

// follow the database. What fails now is tried at its next change.
func (c *chassis) follow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ports, private := rows[*sbdb.PortBinding](c.south, sbdb.PortBindingTable), rows[*sbdb.ChassisPrivate](c.south, sbdb.ChassisPrivateTable)
	global := rows[*sbdb.SBGlobal](c.south, sbdb.SBGlobalTable)
	if len(global) == 0 {
		return
	}
	var has []string
	for _, row := range private {
		has = append(has, row.Name)
	}
	var operations []ovsdb.Operation
	for _, p := range ports {
		if p.Type != "" || p.Chassis != nil {
			continue
		}
		if name := p.LogicalPort[:strings.LastIndex(p.LogicalPort, "_")]; !slices.Contains(has, name) { // a host's, as the DPU's
			operations = append(operations, bind(p, name, global[0].NbCfg)...)
		}
	}
	for _, row := range private {
		if row.NbCfg != global[0].NbCfg {
			operations = append(operations, ovsdb.Operation{
				Op: ovsdb.OperationUpdate, Table: sbdb.ChassisPrivateTable, Row: ovsdb.Row{"nb_cfg": global[0].NbCfg},
				Where: []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: row.UUID})},
			})
		}
	}
	if len(operations) > 0 {
		if _, err := c.south.Transact(ctx, operations...); err != nil && ctx.Err() == nil {
			c.t.Logf("the DPUs' part in the southbound database: %v", err)
		}
	}
}

// southbound is the whole database, of which ovn.Southbound has a part.
func southbound(g *WithT) model.DatabaseModel {
	models, err := sbdb.FullDatabaseModel()
	g.Expect(err).NotTo(HaveOccurred())
	database, errs := model.NewDatabaseModel(sbdb.Schema(), models)
	g.Expect(errs).To(BeEmpty())
	return database
}

// rows of a table. Without a connection there are none.
func rows[T model.Model](database interface {
	Rows(table string) (map[string]model.Model, error)
}, table string) (all []T) {
	found, err := database.Rows(table)
	if err != nil {
		return nil
	}
	for _, row := range found {
		all = append(all, row.(T))
	}
	return all
}

// bind a port to a chassis that is new.
func bind(p *sbdb.PortBinding, name string, change int) []ovsdb.Operation {
	encap, row := "encap"+p.UUID[:8], "chassis"+p.UUID[:8]
	return []ovsdb.Operation{
		{Op: ovsdb.OperationInsert, Table: "Encap", UUIDName: encap, Row: ovsdb.Row{
			"type": "geneve", "ip": fmt.Sprintf("10.20.0.%d", p.TunnelKey), "chassis_name": name, // one for each, as OVN wants it
		}},
		{Op: ovsdb.OperationInsert, Table: sbdb.ChassisTable, UUIDName: row, Row: ovsdb.Row{
			"name": name, "encaps": ovsdb.OvsSet{GoSet: []any{ovsdb.UUID{GoUUID: encap}}},
		}},
		{Op: ovsdb.OperationInsert, Table: sbdb.ChassisPrivateTable, Row: ovsdb.Row{
			"name": name, "chassis": ovsdb.OvsSet{GoSet: []any{ovsdb.UUID{GoUUID: row}}}, "nb_cfg": change,
		}},
		{Op: ovsdb.OperationUpdate, Table: sbdb.PortBindingTable, Row: ovsdb.Row{
			"chassis": ovsdb.OvsSet{GoSet: []any{ovsdb.UUID{GoUUID: row}}}, "up": ovsdb.OvsSet{GoSet: []any{true}},
		}, Where: []ovsdb.Condition{ovsdb.NewCondition("_uuid", ovsdb.ConditionEqual, ovsdb.UUID{GoUUID: p.UUID})}},
	}
}

// has returns when the group's northbound database denies a network.
func (c *chassis) has(ctx context.Context, network string) {
	c.t.Helper()
	c.Expect(c.north.Wait(ctx, func() (bool, error) {
		sets := rows[*nbdb.AddressSet](c.north, nbdb.AddressSetTable)
		return slices.ContainsFunc(sets, func(s *nbdb.AddressSet) bool { return slices.Contains(s.Addresses, network) }), nil
	})).To(Succeed())
}
