package central

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
)

// Processes runs each central as three processes on this machine: two ovsdb-servers and ovn-northd. They don't end with
// this one, and are found again by their files.
type Processes struct {
	// Dir has a folder for each group. Its path must be short: sockets are in there, whose paths end at 107 bytes.
	Dir string
	// Listen is the address that DPUs reach the southbound databases at.
	Listen netip.Addr
	// Ports are the first and the last port for them. A group keeps its port.
	Ports [2]uint16
	// Plaintext is for DPUs whose agents are too old for TLS.
	Plaintext bool
	// Schemas is the folder of ovn-nb.ovsschema and ovn-sb.ovsschema.
	Schemas string

	life    context.Context        // of the goroutines that wait for the end of daemons
	mutex   sync.Mutex             // of ports, of watched, and of groups
	watched map[string]net.Conn    // by the control sockets of daemons whose end is awaited
	groups  map[string]*sync.Mutex // of starting and ending: a central that hangs holds up no other
	died    chan string
}

// NewProcesses returns a runtime whose files are in a folder. It reports deaths until ctx ends.
func NewProcesses(ctx context.Context, dir string, listen netip.Addr) *Processes {
	return &Processes{
		Dir: dir, Listen: listen, Ports: [2]uint16{16640, 26639}, Schemas: "/usr/share/ovn",
		life: ctx, watched: map[string]net.Conn{}, groups: map[string]*sync.Mutex{}, died: make(chan string),
	}
}

// Died implements Runtime.
func (p *Processes) Died() <-chan string { return p.died }

// Ensure implements Runtime. A daemon whose process hangs is left alone: it may still have the lock of its database.
func (p *Processes) Ensure(ctx context.Context, group string) (Central, error) {
	defer p.lock(group)()
	dir := filepath.Join(p.Dir, group)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Central{}, fmt.Errorf("make the folder of the central: %w", err)
	}
	port, err := p.port(dir)
	if err != nil {
		return Central{}, err
	}
	authority, err := ensureAuthority(ctx, dir, group)
	if err == nil {
		err = authority.ensureServer(dir, p.Listen)
	}
	if err != nil {
		return Central{}, err
	}
	for _, d := range daemons(dir, p.Schemas) {
		shut := func() error { return nil } // what isn't there yet is closed
		if d.database == database(dir, "nb") {
			shut = func() error { return p.shut(ctx, dir) }
		}
		if err := d.ensure(ctx, shut); err != nil {
			return Central{}, fmt.Errorf("start %s: %w", d.name, err)
		}
		p.watch(group, d)
	}
	c := Central{
		Northbound: socket(dir, "nb"), Southbound: socket(dir, "sb"),
		ForDPUs: p.connect("ssl", port), Listen: p.listen("pssl", port), Authority: authority,
	}
	if p.Plaintext {
		c.ForDPUs, c.Listen, c.Authority = p.connect("tcp", port), p.listen("ptcp", port), nil
	}
	return c, nil
}

func socket(dir, kind string) string { return "unix:" + filepath.Join(dir, kind+".sock") }

// lock a group, and return what unlocks it. The lock stays when the group is deleted: a caller may wait for it.
func (p *Processes) lock(group string) (unlock func()) {
	p.mutex.Lock()
	own, ok := p.groups[group]
	if !ok {
		own = &sync.Mutex{}
		p.groups[group] = own
	}
	p.mutex.Unlock()
	own.Lock()
	return own.Unlock
}

// shut the DPUs out of the southbound database until it is complete again. What a new northbound database lacks would be
// removed from them.
func (p *Processes) shut(ctx context.Context, dir string) error {
	south, err := ovn.DialSouthbound(ctx, socket(dir, "sb"), nil)
	if err != nil {
		return fmt.Errorf("close the southbound database: %w", err)
	}
	defer south.Close()
	return south.Shut(ctx)
}

// Delete implements Runtime.
func (p *Processes) Delete(ctx context.Context, group string) error {
	defer p.lock(group)()
	dir := filepath.Join(p.Dir, group)
	for _, d := range daemons(dir, p.Schemas) {
		p.unwatch(d)
		if err := d.end(ctx); err != nil {
			return fmt.Errorf("end %s: %w", d.name, err)
		}
	}
	p.mutex.Lock() // choosing a port reads the folders of all groups
	defer p.mutex.Unlock()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the folder of the central: %w", err)
	}
	return nil
}

// connect is the address of the southbound database for the DPUs.
func (p *Processes) connect(method string, port uint16) string {
	return method + ":" + netip.AddrPortFrom(p.Listen, port).String()
}

// listen is what the southbound database listens at.
func (p *Processes) listen(method string, port uint16) string {
	address := p.Listen.String()
	if p.Listen.Is6() {
		address = "[" + address + "]"
	}
	return fmt.Sprintf("%s:%d:%s", method, port, address)
}

// port returns the group's port, and chooses the next one that no other group has if it is new. A freed one comes last: a DPU
// that doesn't know it yet must not come to another tenant's central.
func (p *Processes) port(dir string) (uint16, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	port, err := readPort(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return port, err
	}
	taken, err := p.taken()
	if err != nil {
		return 0, err
	}
	first, last := p.Ports[0], p.Ports[1]
	if port, err = readPort(p.Dir); err != nil || port < first || port > last {
		port = last // none has been chosen yet
	}
	for range int(last) - int(first) + 1 {
		if port++; port > last || port < first {
			port = first
		}
		if !taken[port] {
			return port, errors.Join(writePort(p.Dir, port), writePort(dir, port))
		}
	}
	return 0, fmt.Errorf("all ports from %d to %d belong to other groups: allow more", first, last)
}

// taken are the ports of all groups.
func (p *Processes) taken() (map[uint16]bool, error) {
	groups, err := filepath.Glob(filepath.Join(p.Dir, "*", portFile))
	if err != nil {
		return nil, fmt.Errorf("look for ports in use: %w", err)
	}
	taken := map[uint16]bool{}
	for _, group := range groups {
		port, err := readPort(filepath.Dir(group))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		taken[port] = true
	}
	return taken, nil
}

// portFile has a group's port, and that in the folder of all groups the port that was chosen last.
const portFile = "southbound.port"

func readPort(dir string) (uint16, error) {
	data, err := os.ReadFile(filepath.Join(dir, portFile))
	if err != nil {
		return 0, err
	}
	if len(data) == 0 {
		return 0, fs.ErrNotExist // a disk that was full
	}
	port, err := strconv.ParseUint(string(data), 10, 16)
	if err != nil {
		return 0, fmt.Errorf("read the port of the central: %s: %w", filepath.Join(dir, portFile), err)
	}
	return uint16(port), nil
}

func writePort(dir string, port uint16) error {
	return replaceFile(filepath.Join(dir, portFile), []byte(strconv.Itoa(int(port))))
}

// watch reports when a daemon ends by itself. It holds a connection to it, which ends with it.
func (p *Processes) watch(group string, d daemon) {
	p.mutex.Lock()
	watched := p.watched[d.control]
	p.mutex.Unlock()
	if watched != nil {
		return
	}
	connection, err := dial(p.life, d.control)
	if err != nil {
		return // it has ended already: the next Ensure starts it
	}
	p.mutex.Lock()
	p.watched[d.control] = connection
	p.mutex.Unlock()
	go func() {
		untilClosed(p.life, connection)
		p.mutex.Lock()
		byItself := p.watched[d.control] == connection && p.life.Err() == nil
		if byItself {
			delete(p.watched, d.control)
		}
		p.mutex.Unlock()
		if !byItself {
			return
		}
		Restarted(1)
		select {
		case p.died <- group:
		case <-p.life.Done():
		}
	}()
}

// unwatch a daemon that is to end.
func (p *Processes) unwatch(d daemon) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.watched, d.control)
}
