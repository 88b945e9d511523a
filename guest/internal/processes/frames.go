package processes

import (
	"encoding/binary"
	"io"

	"geode/guest/internal/fault"
)

// A Kind is the first byte of a frame.
type Kind byte

const (
	KindSpec     Kind = 1
	KindStdin    Kind = 2
	KindStdinEnd Kind = 3
	KindAck      Kind = 4
	KindSignal   Kind = 5
	KindResize   Kind = 6
	KindForget   Kind = 7

	KindStarted Kind = 16
	KindStdout  Kind = 17
	KindStderr  Kind = 18
	KindExit    Kind = 19
)

const (
	headerSize  = 16
	maxPayload  = 64 << 10
	maxSpecSize = 1 << 20
)

// A Frame is one message of a process stream.
type Frame struct {
	Kind    Kind
	Offset  uint64
	Payload []byte
}

// A FrameReader reads the host's frames. A payload is valid until the next call.
type FrameReader struct {
	source io.Reader
	header [headerSize]byte
	buffer []byte
}

// NewFrameReader reads frames from a request body.
func NewFrameReader(source io.Reader) *FrameReader { return &FrameReader{source: source} }

// Next gives the next frame, io.EOF at the end of the stream between two frames.
func (r *FrameReader) Next() (Frame, error) {
	if _, err := io.ReadFull(r.source, r.header[:]); err != nil {
		return Frame{}, err
	}
	kind := Kind(r.header[0])
	length := binary.BigEndian.Uint32(r.header[4:])
	if err := checkHeader(kind, r.header[1:4], length); err != nil {
		return Frame{}, err
	}
	if cap(r.buffer) < int(length) {
		r.buffer = make([]byte, length)
	}
	payload := r.buffer[:length]
	if _, err := io.ReadFull(r.source, payload); err != nil {
		return Frame{}, io.ErrUnexpectedEOF
	}
	return Frame{Kind: kind, Offset: binary.BigEndian.Uint64(r.header[8:]), Payload: payload}, nil
}

func checkHeader(kind Kind, zeros []byte, length uint32) error {
	if kind < KindSpec || kind > KindForget {
		return fault.New(fault.InvalidInput, "there is no frame of type %d", kind)
	}
	if zeros[0]|zeros[1]|zeros[2] != 0 {
		return fault.New(fault.InvalidInput, "the reserved bytes of a frame are not zero")
	}
	limit := uint32(maxPayload)
	if kind == KindSpec {
		limit = maxSpecSize
	}
	if length > limit {
		return fault.New(fault.TooLarge, "a frame of type %d has %d bytes; the most is %d", kind, length, limit)
	}
	return nil
}

func frameHeader(kind Kind, length int, offset uint64) (header [headerSize]byte) {
	header[0] = byte(kind)
	binary.BigEndian.PutUint32(header[4:], uint32(length))
	binary.BigEndian.PutUint64(header[8:], offset)
	return header
}
