package fabric

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// end is one end of a cable: a link of a node.
type end struct{ node, link string }

func (e end) String() string { return e.node + "/" + e.link }

// cable connects two nodes. A nil MAC is any.
func (f *Fabric) cable(near, far end, mac net.HardwareAddr, nearMTU, farMTU int) error {
	peer, err := netns.GetFromName(f.Namespace(far.node))
	if err != nil {
		return fmt.Errorf("cable %s to %s: %w", near, far, err)
	}
	defer peer.Close()
	err = f.Do(near.node, func() error {
		attributes := netlink.LinkAttrs{Name: near.link, MTU: nearMTU, HardwareAddr: mac}
		veth := netlink.NewVeth(attributes)
		veth.PeerName, veth.PeerNamespace = far.link, netlink.NsFd(int(peer))
		veth.PeerMTU = uint32(farMTU) //nolint:gosec // an MTU
		if err := netlink.LinkAdd(veth); err != nil {
			return err
		}
		return plugIn(near.link)
	})
	if err == nil {
		err = f.Do(far.node, func() error { return plugIn(far.link) })
	}
	if err != nil {
		return fmt.Errorf("cable %s to %s: %w", near, far, err)
	}
	f.cables[near], f.cables[far] = far, near
	return nil
}

// plugIn takes a link into use. Its packets get their checksums at once, because Open vSwitch's userspace datapath sees them
// as they are on the wire. With offloading pings would pass, but neither TCP nor UDP.
func plugIn(name string) error {
	if err := disableChecksumOffload(name); err != nil {
		return err
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// Cut pulls a cable: the node's link loses its carrier. What others send to the node is lost. The node itself keeps some of
// what it wants to send for up to 3 seconds, in case the cable is mended in that time.
func (f *Fabric) Cut(node, link string) error {
	return f.setFarEnd(end{node, link}, netlink.LinkSetDown)
}

// Mend plugs the cable in again.
func (f *Fabric) Mend(node, link string) error {
	return f.setFarEnd(end{node, link}, netlink.LinkSetUp)
}

func (f *Fabric) setFarEnd(near end, set func(netlink.Link) error) error {
	far, ok := f.cables[near]
	if !ok {
		return fmt.Errorf("there is no cable at %s", near)
	}
	return f.Do(far.node, func() error {
		link, err := netlink.LinkByName(far.link)
		if err == nil {
			err = set(link)
		}
		if err != nil {
			return fmt.Errorf("cable of %s: %w", near, err)
		}
		return nil
	})
}
