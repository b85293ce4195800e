package libvirt

import (
	"bytes"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// However the bytes are cut, the reply comes first and nothing else moves.
func TestSorter_replyBeforeItsStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const serial = 7
		before := packet(209, typeReply, 2, 0, []byte("openopen"))
		reply := packet(209, typeReply, serial, 0, nil)
		var packets [][]byte
		for i := range rapid.IntRange(0, 4).Draw(t, "packets") {
			packets = append(packets, packet(209, typeStream, serial, statusMore, bytes.Repeat([]byte{byte(i)}, rapid.IntRange(0, 100).Draw(t, "body"))))
		}
		at := rapid.IntRange(0, len(packets)).Draw(t, "reply after")
		sent := bytes.Clone(before)
		for i, p := range packets {
			if i == at {
				sent = append(sent, reply...)
			}
			sent = append(sent, p...)
		}
		if at == len(packets) {
			sent = append(sent, reply...)
		}
		want := append(append(bytes.Clone(before), reply...), bytes.Join(packets, nil)...)

		r := bytes.NewReader(sent)
		var s sorter
		var got []byte
		for len(got) < len(want) {
			p := make([]byte, rapid.IntRange(1, 80).Draw(t, "read"))
			if len(s.ready) > 0 {
				got = append(got, p[:s.take(p)]...)
				continue
			}
			n, err := r.Read(p)
			if err == io.EOF {
				break
			}
			got = append(got, p[:s.sort(p, n)]...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("sent %x\ngot  %x\nwant %x", sent, got, want)
		}
	})
}
