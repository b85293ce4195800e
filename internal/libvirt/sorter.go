package libvirt

import "encoding/binary"

// sorter puts the reply to a call before the packets of the stream that the
// call has opened. The daemon sends them from two threads, and in about one of
// a hundred downloads the stream's first packet overtakes the reply; go-libvirt
// takes whatever comes first for the reply, loses the data and waits for ever.
type sorter struct {
	header [headerSize]byte
	have   int    // bytes of the header seen
	body   uint32 // bytes of the payload still to come
	early  bool   // the packet under way came before the reply to its call

	replied uint32 // serial of the newest reply
	held    []byte // early packets
	ready   []byte // sorted, and not yet asked for
}

// take copies out what is ready.
func (s *sorter) take(p []byte) int {
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n
}

// sort takes the n bytes that were read into p and returns how many are there
// now, in order. What does not fit is ready for the next read.
func (s *sorter) sort(p []byte, n int) int {
	in, out := p[:n], p[:0]
	if s.have > 0 && s.have < headerSize {
		out = make([]byte, 0, n+s.have) // a header begun earlier goes out with this
	}
	for len(in) > 0 {
		if s.have < headerSize {
			k := copy(s.header[s.have:], in)
			s.have, in = s.have+k, in[k:]
			if s.absurd() {
				// For the framer to refuse, at once: there may come no more.
				out = append(append(out, s.header[:s.have]...), in...)
				break
			}
			if s.have < headerSize {
				break
			}
			s.begin()
			out = s.emit(out, s.header[:])
		} else {
			k := min(int(s.body), len(in))
			out = s.emit(out, in[:k])
			s.body, in = s.body-uint32(k), in[k:]
		}
		if s.body == 0 {
			out = s.end(out)
		}
	}
	if n = copy(p, out); n < len(out) {
		s.ready = append(s.ready, out[n:]...)
	}
	return n
}

func (s *sorter) field(n int) uint32 { return binary.BigEndian.Uint32(s.header[4*n:]) }

// absurd reports whether the header, as far as it is here, has a length that
// no packet has.
func (s *sorter) absurd() bool {
	return s.have >= 4 && (s.field(0) < headerSize || s.field(0) > maxPacket)
}

// begin looks at a whole header.
func (s *sorter) begin() {
	s.body = s.field(0) - headerSize
	s.early = s.field(4) == typeStream && s.field(5) != s.replied
}

// emit passes bytes of the packet under way on, or holds them.
func (s *sorter) emit(out, b []byte) []byte {
	if s.early {
		s.held = append(s.held, b...)
		return out
	}
	return append(out, b...)
}

// end finishes a packet; after a reply, what was held follows.
func (s *sorter) end(out []byte) []byte {
	s.have = 0
	if s.field(4) != typeReply {
		return out
	}
	s.replied = s.field(5)
	if len(s.held) == 0 {
		return out
	}
	// A slice of its own: the caller still reads from the one it may share.
	out = append(append(make([]byte, 0, len(out)+2*len(s.held)), out...), s.held...)
	s.held = nil
	return out
}
