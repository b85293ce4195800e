package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// network configures each link as it appears, and again when its carrier comes
// back.
type network struct {
	console *console
	system  *system
	noDHCP  bool
	config  networkConfig // nil: DHCP on every link
	dhcpID  string

	mu      sync.Mutex
	carrier map[int]bool               // by link index
	cancel  map[int]context.CancelFunc // of the configuration under way
}

func newNetwork(con *console, sys *system, set settings, s seed) *network {
	n := &network{
		console: con, system: sys, noDHCP: set.noDHCP, dhcpID: s.hostname,
		carrier: map[int]bool{}, cancel: map[int]context.CancelFunc{},
	}
	if len(s.networkConfig) > 0 {
		config, err := parseNetworkConfig(s.networkConfig)
		if err != nil {
			con.say("%v", err)
			config = networkConfig{}
		}
		n.config = config
	}
	return n
}

// start brings up the links that are there and watches for changes.
func (n *network) start() {
	updates := make(chan netlink.LinkUpdate, 16)
	if err := netlink.LinkSubscribe(updates, nil); err != nil {
		n.console.say("links: %v", err)
	}
	links, err := netlink.LinkList()
	if err != nil {
		n.console.say("links: %v", err)
	}
	for _, l := range links {
		if l.Attrs().Flags&net.FlagLoopback != 0 {
			_ = netlink.LinkSetUp(l)
			continue
		}
		n.bringUp(l)
	}
	go func() {
		for u := range updates {
			n.update(u)
		}
	}()
}

// bringUp makes a link known and starts to configure it.
func (n *network) bringUp(l netlink.Link) {
	a := l.Attrs()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cancel[a.Index] != nil {
		return
	}
	config, managed := linkConfig{DHCP4: true}, true
	if n.config != nil {
		config, managed = n.config.find(a.Name, a.HardwareAddr.String())
	}
	if config.SetName != "" && config.SetName != a.Name {
		if err := netlink.LinkSetName(l, config.SetName); err != nil {
			n.console.say("%s: name %s: %v", a.Name, config.SetName, err)
		} else {
			a.Name = config.SetName
		}
	}
	if config.MTU > 0 {
		if err := netlink.LinkSetMTU(l, config.MTU); err != nil {
			n.console.say("%s: mtu %d: %v", a.Name, config.MTU, err)
		}
	}
	n.system.linkAppeared(a.Index, a.Name, managed)
	if !managed {
		n.cancel[a.Index] = func() {}
		return
	}
	if err := netlink.LinkSetUp(l); err != nil {
		n.console.say("%s: %v", a.Name, err)
	}
	n.configure(l, config)
}

// configure starts to configure a link; the caller holds the lock.
func (n *network) configure(l netlink.Link, config linkConfig) {
	ctx, cancel := context.WithCancel(context.Background())
	index, name := l.Attrs().Index, l.Attrs().Name
	n.cancel[index] = cancel
	go func() {
		if err := n.addresses(ctx, l, config); err != nil {
			n.console.say("%s %s: %v", name, l.Attrs().HardwareAddr, err)
			return
		}
		if ctx.Err() == nil {
			n.system.linkConfigured(index)
		}
	}()
}

// addresses gives the link its static addresses, and one by DHCP if asked to.
func (n *network) addresses(ctx context.Context, l netlink.Link, config linkConfig) error {
	for _, a := range config.Addresses {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		if err := n.assign(l, addr); err != nil {
			return err
		}
	}
	if config.DHCP4 {
		if n.noDHCP {
			return fmt.Errorf("no address: told to leave DHCP alone")
		}
		return n.lease(ctx, l)
	}
	for _, r := range config.routes() {
		if err := addRoute(l, r); err != nil {
			return fmt.Errorf("route to %s: %w", r.to, err)
		}
	}
	return nil
}

func (n *network) assign(l netlink.Link, addr *netlink.Addr) error {
	if err := netlink.AddrReplace(l, addr); err != nil {
		return fmt.Errorf("address %s: %w", addr.IPNet, err)
	}
	n.console.say("%s %s mtu %d: address %s", l.Attrs().Name, l.Attrs().HardwareAddr, l.Attrs().MTU, addr.IPNet)
	return nil
}

func addRoute(l netlink.Link, r route) error {
	_, to, err := net.ParseCIDR(r.to)
	if err != nil {
		return err
	}
	return netlink.RouteReplace(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: to, Gw: net.ParseIP(r.via)})
}

// lease asks for an address until there is one.
func (n *network) lease(ctx context.Context, l netlink.Link) error {
	client, err := nclient4.New(l.Attrs().Name, nclient4.WithTimeout(time.Second), nclient4.WithRetry(1))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		lease, err := client.Request(ctx, dhcpv4.WithOption(dhcpv4.OptHostName(n.dhcpID)))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			time.Sleep(200 * time.Millisecond)
			continue
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: lease.ACK.YourIPAddr, Mask: lease.ACK.SubnetMask()}}
		if err := n.assign(l, addr); err != nil {
			return err
		}
		for _, gateway := range lease.ACK.Router() {
			_ = addRoute(l, route{"0.0.0.0/0", gateway.String()}) // a second link's default is not needed
		}
		return nil
	}
}

// update follows hot-plugged links and carriers that come back.
func (n *network) update(u netlink.LinkUpdate) {
	a := u.Attrs()
	if a.Flags&net.FlagLoopback != 0 {
		return
	}
	if u.Header.Type == unix.RTM_DELLINK {
		n.forget(a.Index)
		return
	}
	n.bringUp(u.Link)
	carrier := a.RawFlags&unix.IFF_LOWER_UP != 0
	n.mu.Lock()
	defer n.mu.Unlock()
	before, known := n.carrier[a.Index]
	n.carrier[a.Index] = carrier
	if !known || before || !carrier {
		return
	}
	config := linkConfig{DHCP4: true}
	if n.config != nil {
		config, _ = n.config.find(a.Name, a.HardwareAddr.String())
	}
	if config.DHCP4 { // perhaps another network: what DHCP gave before is void
		n.cancel[a.Index]()
		flushAddresses(u.Link)
		n.system.linkAppeared(a.Index, a.Name, true)
		n.configure(u.Link, config)
	}
}

func (n *network) forget(index int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if cancel := n.cancel[index]; cancel != nil {
		cancel()
	}
	delete(n.cancel, index)
	delete(n.carrier, index)
	n.system.linkGone(index)
}

func flushAddresses(l netlink.Link) {
	addresses, _ := netlink.AddrList(l, netlink.FAMILY_V4)
	for i := range addresses {
		_ = netlink.AddrDel(l, &addresses[i])
	}
}

// await waits until every managed link is configured.
func (n *network) await(patience time.Duration) bool {
	deadline := time.Now().Add(patience)
	for !n.system.networkReady() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}
