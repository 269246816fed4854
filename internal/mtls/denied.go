package mtls

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/credentials"
	"k8s.io/apimachinery/pkg/util/sets"
)

// denyInterval is how often the deny file is read for existing connections.
const denyInterval = time.Second

// denied are the serial numbers of certificates that are refused although they are valid: their keys are in wrong hands. A file
// that can't be read in full refuses all, since what can't be read may be what has just been added.
type denied struct {
	file string
	log  logr.Logger

	mutex   sync.Mutex
	known   bool // the file has been read
	read    []byte
	serials sets.Set[string]
	broken  error                               // the file can't be read
	conns   map[weak.Pointer[deniable]]struct{} // until they are collected, however they ended
}

// newDenied reads a deny file, and again and again until ctx ends.
func newDenied(ctx context.Context, file string, log logr.Logger) (*denied, error) {
	if file == "" {
		return nil, nil
	}
	d := &denied{file: file, log: log, serials: sets.New[string](), conns: map[weak.Pointer[deniable]]struct{}{}}
	if err := d.refresh(); err != nil {
		return nil, err
	}
	go d.watch(ctx)
	return d, nil
}

func (d *denied) watch(ctx context.Context) {
	look := time.NewTicker(denyInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			for _, conn := range d.toClose() {
				d.log.Info("Closed a connection", "with", conn.RemoteAddr().String(), "because", d.says(conn.certificate))
				_ = conn.raw.Close()
			}
		}
	}
}

// toClose are the connections whose certificates are denied by now. Those of others continue while the file can't be
// read.
func (d *denied) toClose() (conns []*deniable) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	_ = d.refresh()
	for pointer := range d.conns {
		conn := pointer.Value()
		if conn != nil && !d.serials.Has(serial(conn.certificate)) {
			continue
		}
		if conn != nil {
			conns = append(conns, conn)
		}
		delete(d.conns, pointer)
	}
	return conns
}

// check reports whether a certificate may still be used.
func (d *denied) check(c *x509.Certificate) error {
	if d == nil {
		return nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := d.refresh(); err != nil {
		return fmt.Errorf("%w: no certificate is accepted until that file is corrected", err)
	}
	if d.serials.Has(serial(c)) {
		return errors.New(d.says(c))
	}
	return nil
}

func (d *denied) says(c *x509.Certificate) string {
	return fmt.Sprintf("certificate of %s with the serial number %s is denied by %s", subject(c), serial(c), d.file)
}

// refresh is called with the lock held. What can be read of a file that is broken is denied too.
func (d *denied) refresh() error {
	read, err := os.ReadFile(d.file)
	if err == nil && d.known && d.broken == nil && bytes.Equal(read, d.read) {
		return nil
	}
	found := sets.New[string]()
	if err == nil {
		found, err = serials(read)
	}
	if err != nil {
		err = fmt.Errorf("read the deny file %s: %w", d.file, err)
		if d.known && (d.broken == nil || d.broken.Error() != err.Error()) {
			d.log.Error(err, "No certificate is accepted until the deny file is corrected")
		}
		d.broken, d.serials = err, d.serials.Union(found)
		return err
	}
	d.known, d.broken, d.read, d.serials = true, nil, read, found
	d.log.Info("Using a deny file", "file", d.file, "serials", len(found))
	return nil
}

// serials of a file: one in each line, in hex, with or without colons. The rest of a line after # is a comment.
func serials(data []byte) (sets.Set[string], error) {
	found, problems := sets.New[string](), []error(nil)
	for n, line := range strings.Split(string(data), "\n") {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		number, is := new(big.Int).SetString(strings.ReplaceAll(text, ":", ""), 16)
		if !is || number.Sign() < 0 {
			problems = append(problems, fmt.Errorf("line %d is no serial number in hex", n+1))
			continue
		}
		found.Insert(number.Text(16))
	}
	return found, errors.Join(problems...)
}

func serial(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// deniable is a connection that may be closed because of the other side's certificate.
type deniable struct {
	net.Conn
	raw         net.Conn // is closed without a word, which may take until the other side reads
	certificate *x509.Certificate
}

// keep a connection in mind.
func (d *denied) keep(conn, raw net.Conn, info credentials.AuthInfo) net.Conn {
	secured, is := info.(credentials.TLSInfo)
	if d == nil || !is {
		return conn
	}
	kept := &deniable{conn, raw, secured.State.PeerCertificates[0]}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.conns[weak.Make(kept)] = struct{}{}
	return kept
}
