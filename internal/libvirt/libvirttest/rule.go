package libvirttest

import (
	"errors"
	"fmt"
	"time"
)

// Action is what the proxy does with a call.
type Action uint8

// The actions. A call that no rule fires on is passed on unchanged.
const (
	// Drop closes the connection; the daemon never sees the call.
	Drop Action = iota + 1
	// LoseReply lets the daemon do the call and closes the connection instead
	// of delivering its reply.
	LoseReply
	// HalfCall sends half of the request to the daemon and closes.
	HalfCall
	// HalfReply lets the daemon do the call, delivers half of its reply and
	// closes.
	HalfReply
	// CutStream lets the call begin its stream and closes the connection after
	// Rule.Bytes of it, either way.
	CutStream
	// Delay passes the call on after Rule.Delay. Later calls of the same
	// connection may overtake it, as they may in a daemon.
	Delay
	// Silence swallows the call and keeps the connection open.
	Silence
	// KillPeer lets the daemon do the call and, once its reply is here, kills
	// the calling process with SIGKILL instead of delivering it.
	KillPeer
	// KillPeerBefore kills the calling process; the daemon never sees the call.
	KillPeerBefore
	// Error answers with Rule.Code and Rule.Message; the daemon never sees the
	// call.
	Error
	// Hook calls Rule.Func and then passes the call on.
	Hook
)

// Rule says which calls to treat how. Of several rules that fire on one call
// the first acts.
type Rule struct {
	Proc    string // the procedure, for example "DomainDefineXMLFlags"; "" is any
	Nth     int    // counted from 1 among the calls that match, since Reset; 0 is each
	Action  Action
	Delay   time.Duration // for Delay
	Bytes   int64         // for CutStream
	Code    int           // for Error: libvirt's error code
	Message string        // for Error
	Func    func(Call)    // for Hook; runs while the call waits
}

// Call is one request that passed, or met, the proxy.
type Call struct {
	Seq  int    // from 1, over all connections, since Reset
	Proc string // as go-libvirt names the method
	Conn int    // the connection, from 1
	Peer int    // the process at its other end
}

func (r Rule) validate() error {
	switch {
	case r.Action < Drop || r.Action > Hook:
		return errors.New("a rule needs an action")
	case r.Proc != "" && !knownProcedure(r.Proc):
		return fmt.Errorf("libvirt has no procedure %q", r.Proc)
	case r.Action == Hook && r.Func == nil:
		return errors.New("a hook needs a function")
	case r.Action == Error && r.Code == 0:
		return errors.New("an error needs a code")
	}
	return nil
}

// armedRule is a rule with what it has seen.
type armedRule struct {
	Rule
	matched, fired int
}

// fires counts the call and says whether the rule acts on it.
func (r *armedRule) fires(proc string) bool {
	if r.Proc != "" && r.Proc != proc {
		return false
	}
	r.matched++
	return r.Nth == 0 || r.Nth == r.matched
}
