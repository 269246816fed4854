package ovn

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/cenkalti/rpc2"
	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/sbdb"
)

const rowID = "7c1f5b52-0000-4000-8000-000000000001"

// changes of a copy that has one port, and what is then known of its chassis and of whether it's up.
func TestSession_keepsACopy(t *testing.T) {
	t.Parallel()
	const inserted = `{"Port_Binding":{"` + rowID + `":{"initial":{"logical_port":"host","up":false}}}}`
	for name, row := range map[string]struct {
		change string
		fails  string
		rows   int
		up     bool
	}{
		"nothing":                 {change: `{}`, rows: 1},
		"another value":           {change: `{"Port_Binding":{"` + rowID + `":{"modify":{"up":true}}}}`, rows: 1, up: true},
		"the value that it has":   {change: `{"Port_Binding":{"` + rowID + `":{"modify":{"logical_port":"host"}}}}`, rows: 1},
		"a deletion":              {change: `{"Port_Binding":{"` + rowID + `":{"delete":null}}}`},
		"of a row that isn't one": {change: `{"Port_Binding":{"other":{"modify":{"up":true}}}}`, fails: "changes that isn't there", rows: 1},
		"of no row":               {change: `{"Port_Binding":{"other":null}}`, fails: "changes that isn't there", rows: 1},
		"of another type":         {change: `{"Port_Binding":{"` + rowID + `":{"insert":{"logical_port":7}}}}`, fails: "logical_port", rows: 1},
		"of no table":             {change: `{"Encap":{"` + rowID + `":{"insert":{}}}}`, fails: "Encap", rows: 1},
		"no JSON":                 {change: `{`, fails: "unexpected end", rows: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := NewWithT(t), copyOf(t)
			g.Expect(s.update([]json.RawMessage{nil, json.RawMessage(inserted)})).To(Succeed())
			before := s.table(sbdb.PortBindingTable)
			err := s.update([]json.RawMessage{nil, json.RawMessage(row.change)})
			if row.fails == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(row.fails)))
				g.Eventually(s.rpc.DisconnectNotify(), "30s").Should(BeClosed())
			}
			after := s.table(sbdb.PortBindingTable)
			g.Expect(after).To(HaveLen(row.rows))
			for _, port := range after {
				g.Expect(*port.(*sbdb.PortBinding).Up).To(Equal(row.up))
			}
			g.Expect(*before[rowID].(*sbdb.PortBinding).Up).To(BeFalse(), "who has a row keeps it as it was")
		})
	}
}

func FuzzSession_update(f *testing.F) {
	f.Add([]byte(`{"Port_Binding":{"` + rowID + `":{"insert":{"logical_port":"host","up":true,"chassis":["set",[]]}}}}`))
	f.Add([]byte(`{"Chassis_Private":{"` + rowID + `":{"modify":{"nb_cfg":7}}},"Chassis":{"a":{"delete":{}}}}`))
	f.Fuzz(func(t *testing.T, update []byte) { _ = copyOf(t).update([]json.RawMessage{nil, update}) })
}

// copyOf a southbound database that only the test changes.
func copyOf(t *testing.T) *session {
	t.Helper()
	tables, err := southbound()
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	s := &session{model: tables, rows: map[string]map[string]model.Model{}, tell: func(string) {}, rpc: rpc2.NewClient(here)}
	ended := make(chan struct{})
	go func() { defer close(ended); s.rpc.Run() }()
	t.Cleanup(func() { s.close(); <-ended; _ = there.Close() })
	return s
}

// A copy that can't follow the database would stay wrong for ever: it is read again.
func TestDial_readsAnewWhatItCannotFollow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "sb.sock")
	listener, err := net.Listen("unix", path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	go func() {
		for connection := 1; ; connection++ {
			server, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(server, connection)
		}
	}()
	s, err := DialSouthbound(t.Context(), "unix:"+path, nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	g.Eventually(func() ([]string, error) { return s.Chassis(t.Context()) }, "30s").Should(Equal([]string{"read-2"}))
}

// serve one connection: what there is, and to the first one a change of what isn't there.
func serve(server net.Conn, connection int) {
	defer func() { _ = server.Close() }()
	for requests := json.NewDecoder(bufio.NewReader(server)); ; {
		var request struct {
			Method string `json:"method"`
			ID     uint64 `json:"id"`
		}
		if requests.Decode(&request) != nil {
			return
		}
		result := `["libovsdb echo"]`
		if request.Method == "monitor_cond" {
			result = fmt.Sprintf(`{"Chassis":{"%s":{"initial":{"name":"read-%d"}}}}`, rowID, connection)
		}
		_, _ = fmt.Fprintf(server, `{"id":%d,"result":%s,"error":null}`, request.ID, result)
		if request.Method == "monitor_cond" && connection == 1 {
			_, _ = fmt.Fprint(server, `{"id":null,"method":"update2","params":["",{"Chassis":{"other":{"modify":{"name":"x"}}}}]}`)
		}
	}
}
