package processes

import (
	"context"
	"os"
	"sync"
)

// inputLimit is how much stdin may wait in the guest for a command that does not read it.
const inputLimit = 1 << 20

// endOfInput is what a terminal takes for the end of its input.
const endOfInput = 4

// An input feeds a command's stdin without making the sender wait for the command, up to a
// limit: acks and signals travel behind them on the same stream.
type input struct {
	mu      sync.Mutex
	changed *sync.Cond
	file    *os.File
	pty     bool
	queue   [][]byte
	queued  int
	running bool // a goroutine writes
	ended   bool // the host has said that nothing more comes
	broken  bool // the command does not read any more
}

func newInput(file *os.File, pty bool) *input {
	in := &input{file: file, pty: pty, broken: file == nil}
	in.changed = sync.NewCond(&in.mu)
	return in
}

// Write queues a copy of the bytes and waits while too many are queued. Bytes for a command that does not
// read any more go nowhere, as on a pipe whose reader ignores them.
func (in *input) Write(ctx context.Context, bytes []byte) {
	if len(bytes) == 0 {
		return
	}
	defer context.AfterFunc(ctx, in.wake)()
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.queued >= inputLimit && !in.broken && ctx.Err() == nil {
		in.changed.Wait()
	}
	if in.broken || in.ended || ctx.Err() != nil {
		return
	}
	in.queue = append(in.queue, append([]byte(nil), bytes...))
	in.queued += len(bytes)
	in.start()
}

// End closes stdin once everything queued is written. A terminal gets ^D instead, which ends its input only
// at the start of a line, as when a person types it.
func (in *input) End() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || in.broken {
		return
	}
	in.ended = true
	if in.pty {
		in.queue = append(in.queue, []byte{endOfInput})
		in.queued++
	}
	in.start()
}

// Abandon drops what is queued: the command has exited.
func (in *input) Abandon() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.broken = true
	in.queue, in.queued = nil, 0
	in.changed.Broadcast()
	if in.file != nil && !in.pty {
		in.file.Close()
	}
}

func (in *input) start() {
	if !in.running {
		in.running = true
		go in.run()
	}
}

func (in *input) run() {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer func() { in.running = false }()
	for !in.broken {
		if len(in.queue) == 0 {
			if in.ended && !in.pty {
				in.broken = true
				in.file.Close()
			}
			return
		}
		bytes := in.queue[0]
		in.queue = in.queue[1:]
		in.mu.Unlock()
		_, err := in.file.Write(bytes)
		in.mu.Lock()
		in.queued = max(in.queued-len(bytes), 0)
		if err != nil {
			in.broken = true
			in.queue, in.queued = nil, 0
		}
		in.changed.Broadcast()
	}
}

func (in *input) wake() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.changed.Broadcast()
}
