package overlay_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const (
	namePort = 8100
	echoID   = 0x4242
)

// nameServer has a host answer every connection with its name.
func (s *stack) nameServer(host string) {
	s.t.Helper()
	var listener net.Listener
	s.Expect(s.Do(host, func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", fmt.Sprintf(":%d", namePort))
		return err
	})).To(Succeed())
	s.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, host)
			_ = connection.Close()
		}
	}()
}

// nameOf the host that answers the data centre at an address, or "".
func (s *stack) nameOf(address string) string {
	var connection net.Conn
	if err := s.Do(fabric.DC, func() (err error) {
		dialer := net.Dialer{Timeout: 300 * time.Millisecond}
		connection, err = dialer.DialContext(s.t.Context(), "tcp", fmt.Sprintf("%s:%d", address, namePort))
		return err
	}); err != nil {
		return ""
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(time.Second))
	name, _ := io.ReadAll(connection)
	return string(name)
}

// named expects that whoever answers at an address is this host: an attempt may have no answer where the machine is busy.
func (s *stack) named(address, host string) {
	s.t.Helper()
	name := ""
	s.Eventually(func() string { name = s.nameOf(address); return name }).ShouldNot(BeEmpty())
	s.Expect(name).To(Equal(host))
}

// answer of a host for an address.
type answer struct {
	asked, answered time.Time
	address, name   string
	by              probe.Protocol
}

// answers to all that is asked while something happens.
type answers struct {
	mutex sync.Mutex
	all   []answer
}

func (a *answers) take(asked time.Time, address, name string, by probe.Protocol) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.all = append(a.all, answer{asked, time.Now(), address, name, by})
}

// underLoad asks for each host's address all the time while something happens: by TCP from the data centre, which reaches the DPU that
// the fabric has heard it from last, and by ping each DPU by itself, whose router answers in the host's place.
func (s *stack) underLoad(while func(a *answers)) *answers {
	s.t.Helper()
	var a answers
	var load errgroup.Group
	end := make(chan struct{})
	always := func(ask func()) {
		load.Go(func() error {
			for {
				select {
				case <-end:
					return nil
				case <-time.After(20 * time.Millisecond):
					ask()
				}
			}
		})
	}
	var requests [][]byte
	for _, host := range s.Topology().Hosts() {
		requests = append(requests, s.echoTo(host.FabricIP))
		always(func() {
			asked, address := time.Now(), host.FabricIP.String()
			if name := s.nameOf(address); name != "" {
				a.take(asked, address, name, probe.TCP)
			}
		})
	}
	for _, dpu := range s.Topology().DPUs() {
		socket := s.cableOf(dpu)
		load.Go(func() error { hear(socket, end, &a, dpu.Hosts[0].Name); return nil })
		always(func() {
			for _, request := range requests {
				_, _ = unix.Write(socket, stamped(request))
			}
		})
	}
	defer func() { close(end); _ = load.Wait() }()
	while(&a)
	return &a
}

// neighbor is the Ethernet address that a node has found for an address.
func (s *stack) neighbor(node string, address netip.Addr) net.HardwareAddr {
	s.t.Helper()
	said, err := exec.CommandContext(s.t.Context(), "ip", "-n", s.Namespace(node), "neighbor", "show", address.String()).CombinedOutput()
	s.Expect(err).NotTo(HaveOccurred())
	found := lladdr.FindSubmatch(said)
	s.Expect(found).NotTo(BeNil(), string(said))
	mac, err := net.ParseMAC(string(found[1]))
	s.Expect(err).NotTo(HaveOccurred())
	return mac
}

var lladdr = regexp.MustCompile(`lladdr (\S+)`)

// echoTo is a frame of the fabric's router that asks for an address, whose Ethernet address is the same on all DPUs.
func (s *stack) echoTo(address netip.Addr) []byte {
	s.t.Helper()
	frame := append(s.neighbor(fabric.Router, address), 2, 0, 0, 0, 9, 9, 8, 0)
	header := ipv4.Header{
		Version: ipv4.Version, Len: ipv4.HeaderLen, TotalLen: ipv4.HeaderLen + 16, TTL: 64, Protocol: unix.IPPROTO_ICMP,
		Src: s.Topology().Subnets[0].Gateways[0].Addr().AsSlice(), Dst: address.AsSlice(),
	}
	text, err := header.Marshal()
	s.Expect(err).NotTo(HaveOccurred())
	binary.BigEndian.PutUint16(text[2:], uint16(header.TotalLen))
	binary.BigEndian.PutUint16(text[10:], checksum(text))
	return append(append(frame, text...), stamp(time.Now())...)
}

// checksum of an IPv4 header.
func checksum(header []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	return ^uint16(sum + sum>>16)
}

// stamp is an echo that says when it was sent.
func stamp(now time.Time) []byte {
	at := binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano()))
	message, _ := (&icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: echoID, Data: at}}).Marshal(nil) // never fails
	return message
}

func stamped(request []byte) []byte {
	head := len(request) - 16
	return append(slices.Clone(request[:head]), stamp(time.Now())...)
}

// cableOf a DPU, at the fabric's end: what is sent there reaches this DPU and no other.
func (s *stack) cableOf(dpu fabric.DPU) (socket int) {
	s.t.Helper()
	return s.rawSocket(fabric.Router, dpu.Name+"-"+fabric.NIC(0))
}

// rawSocket sends and hears all frames of an interface.
func (s *stack) rawSocket(node, on string) (socket int) {
	s.t.Helper()
	socket, err := openFrames(s.Fabric, node, on, unix.SOCK_RAW, 200*time.Millisecond)
	s.Expect(err).NotTo(HaveOccurred())
	return socket
}

// hear what comes from a DPU until the end, and close the socket.
func hear(socket int, end <-chan struct{}, a *answers, name string) {
	defer unix.Close(socket)
	frame := make([]byte, 2048)
	for {
		select {
		case <-end:
			return
		default:
		}
		n, from, err := unix.Recvfrom(socket, frame, 0)
		const echo = 14 + ipv4.HeaderLen
		if err != nil || n < echo+16 || frame[14] != 0x45 || frame[14+9] != unix.IPPROTO_ICMP || frame[echo] != 0 {
			continue
		}
		if from.(*unix.SockaddrLinklayer).Pkttype != unix.PACKET_OUTGOING && binary.BigEndian.Uint16(frame[echo+4:]) == echoID {
			at := int64(binary.BigEndian.Uint64(frame[echo+8:]))
			a.take(time.Unix(0, at), netip.AddrFrom4([4]byte(frame[14+12:14+16])).String(), name, probe.ICMP)
		}
	}
}

// of an address: how often each host has answered, in the order in which they began to.
func (a *answers) of(address string) (names []string, counts map[string]int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	counts = map[string]int{}
	for _, one := range a.all {
		if one.address != address {
			continue
		}
		if counts[one.name]++; counts[one.name] == 1 {
			names = append(names, one.name)
		}
	}
	return names, counts
}

// more waits until a host has answered fifty times more.
func (s *stack) more(a *answers, address, name string) {
	s.t.Helper()
	count := func() int { _, counts := a.of(address); return counts[name] }
	s.Eventually(count).Should(BeNumerically(">=", count()+50))
}

// others are the answers for an address that aren't of these hosts, for the message of a test that fails.
func (a *answers) others(address string, names ...string) string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var all []string
	for _, one := range a.all {
		if one.address == address && !slices.Contains(names, one.name) {
			all = append(all, fmt.Sprintf("%s by %s, asked at %s and answered at %s", one.name, one.by,
				one.asked.Format(time.StampMicro), one.answered.Format(time.StampMicro)))
		}
	}
	return strings.Join(all, "\n")
}

// late are the answers of a host to what was asked when another one had answered for the address already.
func (a *answers) late(address, before, after string) (late []string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	first := slices.IndexFunc(a.all, func(s answer) bool { return s.address == address && s.name == after })
	if first < 0 {
		return nil
	}
	for _, one := range a.all {
		if one.address == address && one.name == before && one.asked.After(a.all[first].answered) {
			late = append(late, fmt.Sprintf("%s answers for %s, asked %s after %s has answered", before, address, one.asked.Sub(a.all[first].answered), after))
		}
	}
	return late
}
