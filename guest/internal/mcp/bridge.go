package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// dialRetry is the pause between two tries, dialTimeout how long a socket may be away while its session is
	// replaced.
	dialRetry   = 50 * time.Millisecond
	dialTimeout = 5 * time.Second
	// restPause keeps a host that refuses every connection from being asked without end.
	restPause = 200 * time.Millisecond
)

const lostReason = "The Geode host was lost while this call was under way; it may or may not have been done. Call again."

// errOutput means that the program that started the bridge no longer reads its output.
var errOutput = errors.New("nobody reads the output")

// A Bridge joins an MCP client on stdin and stdout to the socket. When a host goes, calls that are under way fail
// with a clear error and later ones wait for the next host, which receives the client's opening messages again.
type Bridge struct {
	socket string
	output io.Writer

	mu      sync.Mutex
	calls   calls
	failure error
}

// Run pumps until the input ends and everything is answered, or until the context ends.
func Run(ctx context.Context, socket string, input io.Reader, output io.Writer) error {
	b := &Bridge{socket: socket, output: output, calls: newCalls()}
	pieces := make(chan piece)
	over := make(chan struct{})
	defer close(over)
	go func() {
		defer close(pieces)
		_ = readPieces(input, func(p piece) bool {
			select {
			case pieces <- p:
				return true
			case <-over:
				return false
			}
		})
	}()
	// skipping is the rest of a long line whose beginning went to a host that is gone.
	skipping := false
	for {
		conn, err := b.dial(ctx)
		if err != nil {
			b.fail("The tools of this sandbox are closed.")
			return err
		}
		isOver, midLine := b.serve(ctx, conn, pieces, skipping)
		skipping = midLine
		conn.Close()
		if isOver || b.failed() != nil || ctx.Err() != nil {
			return b.failed()
		}
		b.fail(lostReason)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restPause):
		}
	}
}

// dial waits for a socket that is away for a moment, as when its session is replaced.
func (b *Bridge) dial(ctx context.Context) (*net.UnixConn, error) {
	deadline := time.Now().Add(dialTimeout)
	for {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: b.socket, Net: "unix"})
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return nil, fmt.Errorf("no tool session is open in this sandbox (%s): open one with geode tools open", err)
		}
		time.Sleep(dialRetry)
	}
}

// serve passes lines both ways over one connection. isOver: the client is done; midLine: its line is not.
func (b *Bridge) serve(ctx context.Context, conn *net.UnixConn, pieces <-chan piece, skipping bool) (isOver, midLine bool) {
	b.mu.Lock()
	opening := b.calls.opening()
	b.mu.Unlock()
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		_ = readPieces(conn, b.deliver)
	}()
	finish := func() { conn.Close(); <-lost }
	defer finish()
	for _, line := range opening {
		if _, err := conn.Write(line); err != nil {
			return false, skipping
		}
	}
	midLine = skipping
	for {
		select {
		case <-ctx.Done():
			return true, midLine
		case <-lost:
			return false, midLine
		case p, more := <-pieces:
			if !more {
				return b.awaitAnswers(ctx, lost), false
			}
			wasSkipping := skipping
			skipping = skipping && !p.ends
			midLine = !p.ends
			if wasSkipping {
				continue
			}
			if p.whole {
				b.mu.Lock()
				b.calls.sent(p.bytes)
				b.mu.Unlock()
			}
			if _, err := conn.Write(p.bytes); err != nil {
				return false, midLine
			}
		}
	}
}

// awaitAnswers waits for the answers that the client still wants after it has closed its side.
func (b *Bridge) awaitAnswers(ctx context.Context, lost <-chan struct{}) bool {
	for {
		b.mu.Lock()
		open, changed := b.calls.open(), b.calls.changed
		b.mu.Unlock()
		if open == 0 {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return true
		case <-lost:
			b.fail(lostReason)
			return true
		}
	}
}

// deliver passes on messages of the host, except answers to messages that the bridge itself sent again.
func (b *Bridge) deliver(p piece) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.whole && b.calls.answered(p.bytes) {
		return true
	}
	return b.write(p.bytes)
}

// fail answers every call that is under way with an error.
func (b *Bridge) fail(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.calls.abandon() {
		line, err := json.Marshal(errorLine{"2.0", id, lineError{internalError, reason}})
		if err == nil && !b.write(append(line, '\n')) {
			return
		}
	}
}

// write holds the lock: lines of two writers never mix.
func (b *Bridge) write(bytes []byte) bool {
	if _, err := b.output.Write(bytes); err != nil {
		b.failure = errOutput
		return false
	}
	return true
}

func (b *Bridge) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failure
}
