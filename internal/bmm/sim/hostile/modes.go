package hostile

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	pageSize = 100
	block    = 64 << 10
	// SiteID is where everything is.
	SiteID = "11111111-1111-4111-8111-111111111111"
)

// honest answers correctly, with an object or an empty list.
func (c *call) honest() {
	switch {
	case c.list != "":
		c.paginate(pageSize, 0)
		c.write("[]")
	case c.request.Method == http.MethodDelete:
		c.WriteHeader(http.StatusAccepted)
	default:
		c.write(c.object(c.askedID(), ""))
	}
}

// askedID is that of the object that is asked for, or any for one that is made.
func (c *call) askedID() string {
	switch {
	case c.id == "current":
		return sim.DefaultTenantID
	case c.request.Method == http.MethodPost:
		return c.newID()
	}
	return c.id
}

func (c *call) newID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", c.random.Uint32(), c.random.Uint64()&0xffffffffffff)
}

// object is one of any kind, ready, with more fields.
func (c *call) object(id, more string) string {
	status := "Ready"
	if strings.Contains(c.request.URL.Path, "/site") {
		status = "Registered"
	}
	return fmt.Sprintf(`{"id":%q,"name":"site-1","siteId":%q,"status":%q,"version":"1.5.0","isOnline":true%s}`, id, SiteID, status, more)
}

// begin what an answer is in: a list, or an object that has a field.
func (c *call) begin(field string) string {
	if c.list != "" {
		return "["
	}
	return `{"id":"` + c.askedID() + `",` + field
}

// endless continues for ever with one string.
func (c *call) endless() {
	c.paginate(pageSize, 1)
	text := strings.Repeat("a", block)
	for more := c.write(c.begin(`"name":"`)); more; {
		more = c.write(text)
	}
}

// hugePage is a page, or a field, of four million empty objects: 12 MiB, and 3 GB once decoded.
func (c *call) hugePage() { c.emptyObjects(4_000_000) }

func (c *call) tenMillionItems() { c.emptyObjects(10_000_000) }

func (c *call) emptyObjects(n int) {
	c.paginate(pageSize, n)
	many := strings.Repeat("{},", 10_000)
	more := c.write(c.begin(`"interfaces":[`))
	for ; more && n > 0; n -= 10_000 {
		more = c.write(many)
	}
	c.write("{}]")
}

// slow sends a byte each second.
func (c *call) slow() {
	c.paginate(pageSize, 1)
	more := c.write(c.begin(`"name":"`))
	for more {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		more = c.pause(time.Second) && c.write(" ")
	}
}

func (c *call) hang() { c.pause(time.Hour) }

// switchProtocols hangs on a connection that its client's deadlines don't concern any more.
func (c *call) switchProtocols() {
	conn, _, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return
	}
	defer context.AfterFunc(c.request.Context(), func() { _ = conn.Close() })()
	_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: silence\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn) // until the client leaves
	_ = conn.Close()
}

// gzipBomb is a few KiB that become a GiB.
func (c *call) gzipBomb() {
	c.paginate(pageSize, 1)
	c.Header().Set("Content-Encoding", "gzip")
	bomb := gzip.NewWriter(c.ResponseWriter)
	_, err := bomb.Write([]byte(c.begin(`"name":"`)))
	for zeros := make([]byte, 1<<20); err == nil && c.request.Context().Err() == nil; {
		_, err = bomb.Write(zeros)
	}
}

func (c *call) deep() {
	c.paginate(pageSize, 1)
	c.write(c.begin(`"labels":`) + strings.Repeat(`[`, 900_000))
}

func (c *call) wrongTypes() {
	values := []string{"null", "1e400", `"x"`, "[]", "{}", "true", "-1", `[[]]`, `"\ud800"`, `{"id":1}`}
	value := func() string { return values[c.random.IntN(len(values))] }
	c.paginate(c.random.IntN(300)-100, c.random.IntN(300)-100)
	object := fmt.Sprintf(`{"id":%s,"name":%s,"siteId":%s,"status":%s,"interfaces":%s,"labels":%s,"created":%s}`,
		value(), value(), value(), value(), value(), value(), value())
	if c.list != "" {
		object = "[" + object + "," + value() + "]"
	}
	c.write(object)
}

func (c *call) hugeHeader() {
	value := strings.Repeat("a", 4<<10)
	for i := range 2000 {
		c.Header().Set(fmt.Sprintf("X-Filler-%d", i), value)
	}
	c.write("{}")
}

// empty is 200, and nothing that was asked for.
func (c *call) empty() {
	c.paginate(pageSize, 3)
	if c.list != "" {
		c.write("[{},{},{}]")
		return
	}
	c.write("{}")
}

// wrongID is another object, of another site.
func (c *call) wrongID() {
	c.paginate(pageSize, 1)
	object := strings.Replace(c.object(c.newID(), ""), SiteID, c.newID(), 1)
	if c.list != "" {
		object = "[" + object + "]"
	}
	c.write(object)
}

// lyingPagination is a list that never ends, or ends too soon.
func (c *call) lyingPagination() {
	sizes, totals := []int{1, pageSize, 1 << 40, -1, 0}, []int{0, -5, 20_000, 1 << 62, 1_000_000}
	c.paginate(sizes[c.random.IntN(len(sizes))], totals[c.random.IntN(len(totals))])
	if c.list == "" {
		c.honest()
		return
	}
	c.write("[" + c.object(c.newID(), "") + "]")
}

// full is as large as an answer may be: long lists of large objects, each time others.
func (c *call) full() {
	c.paginate(pageSize, 20_000)
	more := `,"serialConsoleUrl":"` + strings.Repeat("a", 30<<10) + `","interfaces":[` + strings.Repeat("{},", 1000) + "{}]"
	if c.list == "" {
		c.write(c.object(c.askedID(), strings.Replace(more, "[", "["+strings.Repeat("{},", 8000), 1)))
		return
	}
	separator := "["
	for range pageSize {
		if !c.write(separator + c.object(c.newID(), more)) {
			return
		}
		separator = ","
	}
	c.write("]")
}

// quantity is a size that takes for ever to compute with.
func (c *call) quantity() {
	c.paginate(pageSize, 0)
	if c.list != "" {
		c.write("[]")
		return
	}
	c.write(c.object(c.askedID(),
		`,"machineCapabilities":[{"type":"Memory","name":"m","count":999999999,"capacity":"1E10000000"},
		{"type":"CPU","name":"c","count":9223372036854775807,"threads":9223372036854775807}]`))
}

func (c *call) hugeError() {
	c.WriteHeader([]int{400, 401, 403, 404, 409, 429, 500, 503}[c.random.IntN(8)])
	more := c.write(`{"message":"`)
	for i := 0; more && i < 1000; i++ {
		more = c.write(strings.Repeat("a", block))
	}
}
