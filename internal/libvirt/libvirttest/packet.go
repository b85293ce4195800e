package libvirttest

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// The wire form of libvirt's RPC (docs/kbase/internals/rpc): a length that
// counts itself, a header of six words, a payload in XDR.
const (
	headerSize = 28
	maxPacket  = 33554432 + headerSize // VIR_NET_MESSAGE_MAX and some

	programRemote = 0x20008086
	programQEMU   = 0x20008087
)

type packetType uint32

const (
	typeCall         packetType = 0
	typeReply        packetType = 1
	typeStream       packetType = 3
	typeCallWithFDs  packetType = 4
	typeReplyWithFDs packetType = 5
	typeStreamHole   packetType = 6
)

const statusError = 1

type header struct {
	program, version, procedure uint32
	kind                        packetType
	serial, status              uint32
}

func (h header) isCall() bool   { return h.kind == typeCall || h.kind == typeCallWithFDs }
func (h header) isReply() bool  { return h.kind == typeReply || h.kind == typeReplyWithFDs }
func (h header) isStream() bool { return h.kind == typeStream || h.kind == typeStreamHole }

// readPacket reads one packet, with its length, into buf where that is large
// enough.
func readPacket(r io.Reader, buf []byte) (header, []byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return header{}, nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < headerSize || n > maxPacket {
		return header{}, nil, fmt.Errorf("not a libvirt packet: length %d", n)
	}
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	copy(buf, length[:])
	if _, err := io.ReadFull(r, buf[4:]); err != nil {
		return header{}, nil, err
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(buf[4*i:]) }
	return header{word(1), word(2), word(3), packetType(word(4)), word(5), word(6)}, buf, nil
}

// errorReply answers the call with header h like a daemon that refuses it.
func errorReply(h header, code int, message string) []byte {
	const domainRPC, levelError = 7, 2
	var b bytes.Buffer
	put := func(words ...uint32) {
		for _, w := range words {
			_ = binary.Write(&b, binary.BigEndian, w) // a buffer takes all
		}
	}
	put(0, h.program, h.version, h.procedure, uint32(typeReply), h.serial, statusError)
	put(uint32(code), domainRPC, 1, uint32(len(message)))
	b.WriteString(message)
	b.Write(make([]byte, (4-len(message)%4)%4))
	put(levelError, 0, 0, 0, 0, 0, 0, 0) // no domain, strings, numbers, network
	binary.BigEndian.PutUint32(b.Bytes(), uint32(b.Len()))
	return b.Bytes()
}

// procedures lists "NAME NUMBER" of the remote program, named as go-libvirt
// names its methods (src/remote/remote_protocol.x).
//
//go:embed procedures.txt
var procedures string

var qemuProcedures = []string{
	1: "QEMUDomainMonitorCommand", 2: "QEMUDomainAttach", 3: "QEMUDomainAgentCommand",
	4: "QEMUConnectDomainMonitorEventRegister", 5: "QEMUConnectDomainMonitorEventDeregister",
	6: "QEMUDomainMonitorEvent", 7: "QEMUDomainMonitorCommandWithFiles",
}

type procedureKey struct{ program, number uint32 }

var procedureNames = sync.OnceValue(func() map[procedureKey]string {
	names := map[procedureKey]string{}
	for line := range strings.Lines(procedures) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			panic(fmt.Sprintf("procedures.txt: %q: %v", line, err))
		}
		names[procedureKey{programRemote, uint32(n)}] = name
	}
	for n, name := range qemuProcedures {
		if name != "" {
			names[procedureKey{programQEMU, uint32(n)}] = name
		}
	}
	return names
})

// procedureName names the procedure of a packet; an unknown one by its numbers.
func procedureName(h header) string {
	if name, ok := procedureNames()[procedureKey{h.program, h.procedure}]; ok {
		return name
	}
	return fmt.Sprintf("%#x/%d", h.program, h.procedure)
}

func knownProcedure(name string) bool {
	for _, n := range procedureNames() {
		if n == name {
			return true
		}
	}
	return false
}
