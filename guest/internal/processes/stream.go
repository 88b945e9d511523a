package processes

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"geode/guest/internal/fault"
)

// forgetGrace is how long a stream stays open after the exit frame for the host's last frames.
const forgetGrace = 10 * time.Second

// A Sink is where a stream's frames go; Flush sends what is buffered.
type Sink interface {
	io.Writer
	Flush() error
}

// started is the payload of the first frame to the host.
type started struct {
	ID        string `json:"id"`
	PID       int    `json:"pid"`
	StartedAt int64  `json:"startedAt"`
}

// CheckOffset returns an error if a stream cannot begin at an offset.
func (p *Process) CheckOffset(from uint64) error {
	acked, end := p.journal.Range()
	if from < acked {
		return startFault(from, acked)
	}
	if from > end {
		return fault.New(fault.InvalidInput, "offset %d is beyond the journal, which ends at %d", from, end)
	}
	return nil
}

// Stream sends output and reads input of a process over one full-duplex stream. It ends when the exit frame is sent and
// the host has closed its side, or when the host is gone. The process continues in both cases.
func (p *Process) Stream(ctx context.Context, from uint64, host *FrameReader, sink Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, p.journal.wake)()
	received := make(chan error, 1)
	go func() {
		err := p.listen(ctx, host)
		if err != nil {
			cancel() // the host broke off, or broke the rules
		}
		received <- err
	}()
	if err := p.send(ctx, from, sink); err != nil {
		return err
	}
	select {
	case err := <-received:
		return err
	case <-time.After(forgetGrace):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send writes the started frame, the output from an offset on, and the exit frame.
func (p *Process) send(ctx context.Context, from uint64, sink Sink) error {
	first, err := json.Marshal(started{p.ID, p.PID, p.StartedAt()})
	if err != nil {
		return err
	}
	if err := sendFrame(sink, KindStarted, from, first); err != nil {
		return err
	}
	if err := sink.Flush(); err != nil {
		return err
	}
	for offset := from; ; {
		piece, err := p.journal.next(ctx, offset)
		if err != nil {
			return err
		}
		err = sendFrame(sink, piece.kind, piece.offset, piece.bytes)
		p.journal.release(piece)
		if err != nil {
			return err
		}
		if piece.kind == KindExit {
			return sink.Flush()
		}
		if !piece.more {
			if err := sink.Flush(); err != nil {
				return err
			}
		}
		offset += uint64(len(piece.bytes))
	}
}

func sendFrame(sink Sink, kind Kind, offset uint64, payload []byte) error {
	header := frameHeader(kind, len(payload), offset)
	if _, err := sink.Write(header[:]); err != nil {
		return err
	}
	_, err := sink.Write(payload)
	return err
}

// listen obeys the host's frames until the host ends its side (nil) or the stream breaks.
func (p *Process) listen(ctx context.Context, host *FrameReader) error {
	for {
		frame, err := host.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		forgotten, err := p.obey(ctx, frame)
		if forgotten || err != nil {
			return err
		}
	}
}

func (p *Process) obey(ctx context.Context, frame Frame) (forgotten bool, err error) {
	switch frame.Kind {
	case KindStdin:
		p.Write(ctx, frame.Payload)
	case KindStdinEnd:
		p.EndInput()
	case KindAck:
		return false, p.Ack(frame.Offset)
	case KindSignal:
		return false, p.obeySignal(frame.Payload)
	case KindResize:
		var size Size
		if err := json.Unmarshal(frame.Payload, &size); err != nil {
			return false, fault.New(fault.InvalidInput, "a resize cannot be read: %s", err)
		}
		return false, p.Resize(size)
	case KindForget:
		p.table.Forget(p)
		return true, nil
	default:
		return false, fault.New(fault.InvalidInput, "a frame of type %d has no place here", frame.Kind)
	}
	return false, nil
}

// A SignalRequest is the payload of a signal frame and the body of a signal call.
type SignalRequest struct {
	Signal string `json:"signal"`
	Tree   bool   `json:"tree"`
}

func (p *Process) obeySignal(payload []byte) error {
	var request SignalRequest
	if err := json.Unmarshal(payload, &request); err != nil {
		return fault.New(fault.InvalidInput, "a signal cannot be read: %s", err)
	}
	number, err := ParseSignal(request.Signal)
	if err != nil {
		return err
	}
	p.table.Signal(p, number, request.Tree)
	return nil
}
