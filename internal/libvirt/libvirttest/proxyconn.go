package libvirttest

import (
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// proxyConn is one client's connection and its twin to the daemon.
type proxyConn struct {
	proxy          *Proxy
	id             int
	peer           int // the client's process
	client, server net.Conn
	done           chan struct{} // closed by close
	once           sync.Once

	toServer sync.Mutex // one whole packet at a time
	toClient sync.Mutex

	mu      sync.Mutex
	open    map[uint32]struct{} // serials of calls without a reply
	replies map[uint32]Action   // what to do when a reply comes
	cuts    map[uint32]int64    // bytes that a stream may still carry
	killed  bool                // nothing passes any more
}

func newProxyConn(p *Proxy, id int, client *net.UnixConn, server net.Conn) *proxyConn {
	return &proxyConn{
		proxy: p, id: id, peer: peerProcess(client), client: client, server: server, done: make(chan struct{}),
		open: map[uint32]struct{}{}, replies: map[uint32]Action{}, cuts: map[uint32]int64{},
	}
}

func peerProcess(conn *net.UnixConn) (pid int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

func (c *proxyConn) close() {
	c.once.Do(func() {
		close(c.done)
		_ = c.client.Close()
		_ = c.server.Close()
	})
}

// fromClient carries packets to the daemon until either side ends.
func (c *proxyConn) fromClient() {
	defer c.proxy.serving.Done()
	defer c.proxy.forget(c)
	defer c.close()
	var buf []byte
	for {
		h, packet, err := readPacket(c.client, buf)
		if err != nil {
			return
		}
		buf = packet
		switch {
		case h.isCall():
			if !c.call(h, packet) {
				return
			}
		case h.isStream() && c.cutsNow(h, len(packet)):
			return
		default:
			if !c.forward(packet) {
				return
			}
		}
	}
}

// call treats one request; false ends the connection.
func (c *proxyConn) call(h header, packet []byte) bool {
	c.mu.Lock()
	c.open[h.serial] = struct{}{}
	inFlight := len(c.open)
	c.mu.Unlock()
	call, rule := c.proxy.meet(c, procedureName(h), inFlight)
	if rule == nil {
		return c.forward(packet)
	}
	switch rule.Action {
	case Drop:
		return false
	case LoseReply, HalfReply, KillPeer:
		c.mu.Lock()
		c.replies[h.serial] = rule.Action
		c.mu.Unlock()
	case HalfCall:
		c.forward(packet[:len(packet)/2])
		return false
	case CutStream:
		c.mu.Lock()
		c.cuts[h.serial] = rule.Bytes
		c.mu.Unlock()
	case Delay:
		c.forwardLater(slices.Clone(packet), rule.Delay)
		return true
	case Silence:
		return true
	case KillPeerBefore:
		return c.kill()
	case Error:
		c.answered(h.serial)
		return c.deliver(errorReply(h, rule.Code, rule.Message))
	case Hook:
		rule.Func(call)
	}
	return c.forward(packet)
}

// fromServer carries packets to the client until either side ends.
func (c *proxyConn) fromServer() {
	defer c.proxy.serving.Done()
	defer c.close()
	var buf []byte
	for {
		h, packet, err := readPacket(c.server, buf)
		if err != nil {
			return
		}
		buf = packet
		if h.isStream() && c.cutsNow(h, len(packet)) {
			return
		}
		if h.isReply() {
			if action := c.answered(h.serial); action != 0 {
				c.withhold(action, packet)
				return
			}
		}
		if !c.deliver(packet) {
			return
		}
	}
}

// answered notes that a call has its reply and returns what to do with that.
func (c *proxyConn) answered(serial uint32) Action {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, serial)
	return c.replies[serial]
}

func (c *proxyConn) withhold(action Action, reply []byte) {
	if action == HalfReply {
		c.deliver(reply[:len(reply)/2])
	}
	if action == KillPeer && c.kill() {
		<-c.done // its death closes the connection, nothing earlier
	}
}

// kill ends the client's process; its own end closes the connection, so that it
// sees no fault before. It refuses this process and whatever it cannot name.
func (c *proxyConn) kill() bool {
	if c.peer <= 1 || c.peer == os.Getpid() {
		c.proxy.complain("libvirttest: process %d of connection %d is not one to kill", c.peer, c.id)
		return false
	}
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	if err := unix.Kill(c.peer, unix.SIGKILL); err != nil {
		c.proxy.complain("libvirttest: kill process %d: %v", c.peer, err)
		return false
	}
	return true
}

// cutsNow counts a stream's bytes and says whether it ends here.
func (c *proxyConn) cutsNow(h header, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left, ok := c.cuts[h.serial]
	if !ok {
		return false
	}
	c.cuts[h.serial] = left - int64(size-headerSize)
	return left < int64(size-headerSize)
}

func (c *proxyConn) forwardLater(packet []byte, wait time.Duration) {
	c.proxy.serving.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			if !c.forward(packet) {
				c.close()
			}
		case <-c.done:
		}
	})
}

// forward sends a packet to the daemon. Of a process that was killed it takes
// what is still in the socket and drops it.
func (c *proxyConn) forward(packet []byte) bool {
	c.mu.Lock()
	killed := c.killed
	c.mu.Unlock()
	return killed || send(&c.toServer, c.server, packet)
}

func (c *proxyConn) deliver(packet []byte) bool { return send(&c.toClient, c.client, packet) }

func send(mu *sync.Mutex, w io.Writer, packet []byte) bool {
	mu.Lock()
	defer mu.Unlock()
	_, err := w.Write(packet)
	return err == nil
}
