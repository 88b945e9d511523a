package processes

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"geode/guest/internal/fault"
)

func frame(kind Kind, offset uint64, payload []byte) []byte {
	header := frameHeader(kind, len(payload), offset)
	return append(header[:], payload...)
}

func TestFramesRoundTrip(t *testing.T) {
	sent := append(frame(KindStdin, 7, []byte("hello")), frame(KindAck, 1<<40, nil)...)
	reader := NewFrameReader(bytes.NewReader(sent))
	first, err := reader.Next()
	if err != nil || first.Kind != KindStdin || first.Offset != 7 || string(first.Payload) != "hello" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := reader.Next()
	if err != nil || second.Kind != KindAck || second.Offset != 1<<40 || len(second.Payload) != 0 {
		t.Fatalf("%+v, %v", second, err)
	}
	if _, err := reader.Next(); err != io.EOF {
		t.Fatalf("the end is %v", err)
	}
}

func TestFramesAreRefused(t *testing.T) {
	reserved := frame(KindStdin, 0, nil)
	reserved[2] = 1
	cases := map[string]struct {
		bytes []byte
		code  fault.Code
	}{
		"of the guest":     {frame(KindStdout, 0, nil), fault.InvalidInput},
		"of no kind":       {frame(0, 0, nil), fault.InvalidInput},
		"reserved bytes":   {reserved, fault.InvalidInput},
		"too large":        {frame(KindStdin, 0, make([]byte, maxPayload+1)), fault.TooLarge},
		"a spec too large": {frame(KindSpec, 0, make([]byte, maxSpecSize+1)), fault.TooLarge},
	}
	for name, c := range cases {
		_, err := NewFrameReader(bytes.NewReader(c.bytes)).Next()
		var refusal *fault.Fault
		if !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	cut := frame(KindStdin, 0, []byte("hello"))
	if _, err := NewFrameReader(bytes.NewReader(cut[:len(cut)-1])).Next(); err != io.ErrUnexpectedEOF {
		t.Errorf("cut: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(frame(KindSpec, 0, []byte(`{"id":"a","argv":["true"]}`)))
	f.Add(frame(KindSignal, 3, []byte(`{"signal":"SIGTERM","tree":true}`)))
	f.Add([]byte{2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		reader := NewFrameReader(bytes.NewReader(sent))
		for total := 0; ; {
			got, err := reader.Next()
			if err != nil {
				return
			}
			if total += headerSize + len(got.Payload); total > len(sent) {
				t.Fatal("more was read than sent")
			}
			if got.Kind == KindSpec {
				_, _ = ParseSpec(got.Payload)
			}
		}
	})
}
