package ovn_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// contents is everything in the northbound database, without the UUIDs of rows and what ovn-northd writes.
func (c *central) contents() []string {
	c.t.Helper()
	var all []string
	for _, table := range []string{
		nbdb.LogicalSwitchTable, nbdb.LogicalSwitchPortTable, nbdb.LogicalRouterTable, nbdb.LogicalRouterPortTable,
		nbdb.LogicalRouterStaticRouteTable, nbdb.NATTable, nbdb.ACLTable, nbdb.PortGroupTable, nbdb.AddressSetTable,
		nbdb.CoppTable, nbdb.MeterTable, nbdb.MeterBandTable,
	} {
		records, err := csv.NewReader(strings.NewReader(c.nbctl("--format=csv", "list", table))).ReadAll()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, record := range records[1:] {
			line := table
			for i, value := range record {
				switch column := records[0][i]; column {
				case "_uuid", "up":
				case "external_ids": // has UUIDs of ours
					line += " " + column + "=" + value
				default:
					line += " " + column + "=" + uuids.ReplaceAllString(value, "UUID")
				}
			}
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

func apply(t testing.TB, n *ovn.Northbound, network *topology.Topology) int {
	t.Helper()
	changes, err := n.Apply(t.Context(), network.Group.UID, network.Rows())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return changes
}

func TestApply_writesOnceAndNeverAgain(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	network := network(t, members(2, 4)...)
	g.Expect(apply(t, n, network)).To(Equal(len(network.Rows())))
	g.Expect(n.Sync(soon(t))).To(Succeed())
	g.Expect(apply(t, n, network)).To(BeZero(), "the same client")
	g.Expect(apply(t, c.northbound(), network)).To(BeZero(), "a new client")
	g.Expect(c.contents()).To(HaveLen(len(network.Rows())))
	g.Expect(c.sbctl("--bare", "--columns=logical_port", "find", "port_binding", "type=\"\"")).To(ContainSubstring("host-2_"))
}

// One member costs as many operations in a group of 50 as in one of 2.
func TestApply_writesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n := c.northbound()
	apply(t, n, network(t, member(2)))
	few := apply(t, n, network(t, members(2, 3)...))
	apply(t, n, network(t, members(2, 51)...))
	g.Expect(apply(t, n, network(t, members(2, 52)...))).To(Equal(few))
	g.Expect(apply(t, n, network(t, members(2, 51)...))).To(BeNumerically("<", 10), "what hangs on a row goes with it")
	g.Expect(c.contents()).To(HaveLen(len(network(t, members(2, 51)...).Rows())))

	moved := members(2, 51)
	moved[0].Chassis = "another"
	g.Expect(apply(t, n, network(t, moved...))).To(Equal(2), "the port and the gateway router")
}

func TestApply_removesEverything(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n := c.northbound()
	apply(t, n, network(t, members(2, 4)...))
	_, err := n.Apply(t.Context(), blue.UID, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.contents()).To(BeEmpty())
}

// A member that was deleted and made again has the same name, and so have its switches and routers.
func TestApply_replacesAMemberOfTheSameName(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n := c.northbound()
	apply(t, n, network(t, member(2)))
	fresh := member(2)
	fresh.UID = "another"
	g.Expect(apply(t, n, network(t, fresh))).To(BeNumerically(">", 10))
	g.Expect(c.contents()).To(HaveLen(len(network(t, fresh).Rows())))
	g.Expect(apply(t, n, network(t, fresh))).To(BeZero())
}

func TestApply_repairsWhatWasChangedByHand(t *testing.T) {
	t.Parallel()
	port := topology.PortName(member(2).UID, "host-2")
	c := newCentral(t)
	n := c.northbound()
	network := network(t, members(2, 3)...)
	apply(t, n, network)
	before := c.contents()
	for name, command := range map[string]string{
		"port's addresses":     "lsp-set-addresses " + port + " unknown",
		"port security":        "lsp-set-port-security " + port,
		"port disabled":        "lsp-set-enabled " + port + " disabled",
		"port's chassis":       "lsp-set-options " + port + " requested-chassis=evil",
		"port deleted":         "lsp-del " + port,
		"port's name":          "set logical_switch_port " + port + " name=another",
		"port's key":           "set logical_switch_port " + port + ` external_ids:"` + ovn.KeyID + `"=x`,
		"switch deleted":       "ls-del ls-blue",
		"switch named":         "set logical_switch ls-blue name=other",
		"router deleted":       "lr-del lr-blue",
		"router disabled":      "set logical_router lr-blue enabled=false",
		"router's port":        "lrp-del lr-blue_ls-blue",
		"gateway moved":        "set logical_router gr-host-2 options:chassis=evil",
		"gateway options":      "set logical_router gr-host-2 options:mcast_relay=true",
		"route deleted":        "lr-route-del lr-blue",
		"route changed":        "set logical_router_static_route ROUTE nexthop=10.10.10.66",
		"NAT deleted":          "lr-nat-del gr-host-2",
		"guard deleted":        "acl-del ps-host-2",
		"several":              "lr-del gr-host-2 -- ls-del ps-host-3 -- lsp-del " + port,
		"port on two switches": "ls-add foreign -- add logical_switch foreign ports PORT",
		"port on another":      "ls-add foreign -- add logical_switch foreign ports PORT -- remove logical_switch ls-blue ports PORT",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for word, find := range map[string][]string{
				"PORT":  {"logical_switch_port", "name=" + port},
				"ROUTE": {"logical_router_static_route", "policy=src-ip"},
			} {
				rows := c.nbctl(append([]string{"--bare", "--columns=_uuid", "find"}, find...)...)
				command = strings.ReplaceAll(command, word, uuids.FindString(rows))
			}
			c.nbctl(strings.Fields(command)...)
			g.Expect(c.contents()).NotTo(Equal(before))
			g.Eventually(func() int { return apply(t, n, network) }, patience).Should(BeNumerically(">", 0))
			g.Expect(apply(t, n, network)).To(BeZero())
			c.nbctl("--if-exists", "ls-del", "foreign")
			g.Expect(c.contents()).To(Equal(before))
		})
	}
}

func TestApply_leavesRowsOfOthersAlone(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n := c.northbound()
	apply(t, n, network(t, members(2, 3)...))
	c.nbctl(strings.Fields(`ls-add foreign -- lsp-add foreign foreign-port -- lsp-set-addresses foreign-port unknown
		-- lsp-add ls-blue guest -- lr-add foreign-router -- lrp-add lr-blue guest-router 02:00:00:00:00:77 192.0.2.1/24
		-- lr-nat-add gr-host-2 snat 192.0.2.9 192.0.2.0/24 -- lr-route-add gr-host-2 192.0.2.0/24 172.18.0.9
		-- acl-add ls-blue from-lport 1 ip4 drop -- set logical_switch ls-blue external_ids:note=mine`)...)
	foreign := func() []string {
		return slices.DeleteFunc(c.contents(), func(row string) bool {
			return strings.Contains(row, ovn.OwnerID) && !strings.Contains(row, "note=mine")
		})
	}
	before := foreign()
	g.Expect(before).To(HaveLen(9))
	for _, members := range [][]topology.Member{members(2, 4), members(2, 2), members(2, 3)} {
		apply(t, n, network(t, members...))
	}
	g.Expect(foreign()).To(HaveLen(9))
	g.Expect(foreign()[:8]).To(Equal(before[:8]), "all but the switch, which was written to")
	other := blue
	other.UID, other.Name = "another", "green"
	green, err := topology.New(other, nil, topology.Site{})
	g.Expect(err).NotTo(HaveOccurred())
	apply(t, n, green)
	g.Expect(apply(t, n, network(t, members(2, 3)...))).To(BeZero(), "another owner's rows are no business of ours")
}

func TestApply_namesWhoHasOurName(t *testing.T) {
	t.Parallel()
	port := topology.PortName(member(2).UID, "host-2")
	for name, command := range map[string]string{
		"port of a switch":           "ls-add foreign -- lsp-add foreign " + port,
		"port of a router":           "lr-add foreign -- lrp-add foreign " + port + " 02:00:00:00:00:77 192.0.2.1/24",
		"a port that lost its owner": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, c := NewWithT(t), newCentral(t)
			n := c.northbound()
			if command == "" {
				apply(t, n, network(t, member(2)))
				command = "clear logical_switch_port " + port + " external_ids"
			}
			c.nbctl(strings.Fields(command)...)
			before := c.contents()
			g.Eventually(func() error {
				_, err := n.Apply(t.Context(), blue.UID, network(t, member(2)).Rows())
				return err
			}, patience).Should(MatchError(And(ContainSubstring(port), ContainSubstring("isn't Bedplate's"))))
			g.Expect(c.contents()).To(Equal(before), "nothing is written")
		})
	}
}

// Names of switches and routers aren't unique in OVN. Two writers at once may have made two of them.
func TestApply_keepsOneOfTwo(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n := c.northbound()
	network := network(t, member(2))
	apply(t, n, network)
	before := c.contents()
	c.nbctl("ls-add", "", "--", "set", "logical_switch", "ls-blue", "name=ls-blue") // an unnamed one, and nothing
	second := uuids.FindString(c.nbctl("--bare", "--columns=_uuid", "find", "logical_switch", `name=""`))
	mark := ovn.Mark(blue.UID, "logical-switch/"+blue.UID)
	for key, value := range mark {
		c.nbctl("set", "logical_switch", second, fmt.Sprintf("external_ids:%q=%q", key, value), "name=ls-blue")
	}
	g.Eventually(func() int { return apply(t, n, network) }, patience).Should(BeNumerically(">", 0))
	g.Expect(c.contents()).To(Equal(before))
}

func TestSync_waitsForTheSouthboundDatabase(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n := c.northbound()
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	g.Expect(n.Sync(short)).To(MatchError(context.DeadlineExceeded), "the database's first row isn't made")

	synced := make(chan error, 1)
	go func() { synced <- n.Sync(soon(t)) }()
	c.startNorthd()
	g.Eventually(synced, patience).Should(Receive(Succeed()))
	g.Expect(n.SyncChassis(soon(t))).To(Succeed(), "there is none")

	c.sbctl("chassis-add", "stale", "geneve", "127.0.0.9")
	c.sbctl("create", "chassis_private", "name=stale", "chassis="+c.sbctl("--bare", "--columns=_uuid", "list", "chassis"))
	short, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	g.Expect(n.SyncChassis(short)).To(MatchError(context.DeadlineExceeded), "a stale chassis is waited for")
	arrived := func(southbound, chassis bool) {
		t.Helper()
		g.Eventually(func(g Gomega) {
			s, c, err := n.Arrived()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]bool{s, c}).To(Equal([]bool{southbound, chassis}), "in the southbound database, at the chassis")
		}, patience).Should(Succeed())
	}
	arrived(true, false)
	g.Expect(c.southbound().DeleteChassis(t.Context(), "stale")).To(Succeed())
	g.Expect(n.SyncChassis(soon(t))).To(Succeed())
	arrived(true, true)

	c.stop("northd")
	short, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	g.Expect(n.Sync(short)).To(MatchError(context.DeadlineExceeded))
	arrived(false, false)
}

// ovn-northd says so before it has written to the southbound database, where no chassis is to be waited for.
func TestArrived_isNotAtTheChassisFirst(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	g.Expect(n.Sync(soon(t))).To(Succeed())
	server := c.procs["sb"].PID()
	g.Expect(syscall.Kill(server, syscall.SIGSTOP)).To(Succeed())
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGCONT) })
	apply(t, n, network(t, member(2)))
	g.Eventually(func() bool {
		return c.nbctl("get", "NB_Global", ".", "hv_cfg") == c.nbctl("get", "NB_Global", ".", "nb_cfg")
	}, patience).Should(BeTrue())
	g.Consistently(func() []bool {
		southbound, chassis, err := n.Arrived()
		g.Expect(err).NotTo(HaveOccurred())
		return []bool{southbound, chassis}
	}).Should(Equal([]bool{false, false}))
}

func TestDial_comesBackToAWipedDatabase(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	var lost, changes atomic.Int32
	n, err := ovn.DialNorthbound(t.Context(), c.endpoint("nb"), func(table string) {
		if table == "" {
			lost.Add(1)
		} else {
			changes.Add(1)
		}
	})
	g.Expect(err).NotTo(HaveOccurred())
	defer n.Close()
	network := network(t, members(2, 3)...)
	apply(t, n, network)
	g.Expect(changes.Load()).To(BeNumerically(">", 0), "it is told before the transaction is over")
	before := c.contents()

	was := lost.Load()
	c.stop("nb")
	g.Eventually(lost.Load, patience).Should(BeNumerically(">", was))
	_, err = n.Apply(t.Context(), blue.UID, network.Rows())
	g.Expect(err).To(MatchError(ovn.ErrNotConnected))
	c.run("rm", c.path("nb.db"), c.path("nb.sock"))
	c.startDatabase("nb")
	g.Eventually(func() error { _, err := n.Change(t.Context()); return err }, patience).Should(Succeed())
	g.Expect(apply(t, n, network)).To(Equal(len(network.Rows())))
	g.Expect(c.contents()).To(Equal(before))
}

func TestClose_endsWithoutAServer(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	n, err := ovn.DialNorthbound(t.Context(), c.endpoint("nb"), nil)
	g.Expect(err).NotTo(HaveOccurred())
	c.stop("nb")
	g.Eventually(func() error { _, err := n.Change(t.Context()); return err }, patience).Should(MatchError(ovn.ErrNotConnected))
	closed := make(chan struct{})
	go func() { n.Close(); close(closed) }()
	g.Eventually(closed, patience).Should(BeClosed())

	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = ovn.DialNorthbound(short, c.endpoint("nb"), nil)
	g.Expect(err).To(MatchError(ContainSubstring(c.endpoint("nb"))))
}

// The server's answer to a transaction is a success even where an operation in it has failed.
func TestTransact_namesTheOperationThatFailed(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	_, err := c.northbound().Transact(t.Context(),
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: nbdb.LogicalSwitchTable, Row: ovsdb.Row{"name": "a"}},
		ovsdb.Operation{Op: ovsdb.OperationInsert, Table: nbdb.NATTable, Row: ovsdb.Row{"type": "no such type"}})
	g.Expect(err).To(MatchError(And(ContainSubstring("insert NAT"), ContainSubstring("constraint violation"))))
	g.Expect(c.contents()).To(BeEmpty(), "nor has the other one come about")
}

// A server that hangs must not block a writer for ever, nor keep the connection from being made again.
func TestDatabase_transactionsEnd(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	pid := c.procs["nb"].PID()
	g.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	done := make(chan error)
	go func() {
		_, err := n.Apply(context.Background(), blue.UID, network(t, members(2, 3)...).Rows())
		done <- err
	}()
	g.Eventually(done, patience).Should(Receive(HaveOccurred()), "by its own time, or with the connection, whichever is over first")
	g.Expect(syscall.Kill(pid, syscall.SIGCONT)).To(Succeed())
	g.Eventually(func() error {
		_, err := n.Apply(t.Context(), blue.UID, network(t, members(2, 3)...).Rows())
		return err
	}, patience).Should(Succeed())
}
