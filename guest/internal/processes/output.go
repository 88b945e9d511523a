package processes

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// ptyBuffer is more than the kernel keeps between a terminal's two sides.
const ptyBuffer = 128 << 10

// An output is the guest's end of a pipe or terminal that a command writes to.
type output struct {
	file    *os.File
	raw     syscall.RawConn
	kind    Kind
	pty     bool
	drained chan struct{} // closed when all that the command wrote is in the journal
	ending  sync.Once
}

func newOutput(fd int, name string, kind Kind) (*output, error) {
	file := os.NewFile(uintptr(fd), name)
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &output{file: file, raw: raw, kind: kind, drained: make(chan struct{})}, nil
}

// pump moves output into the journal until the command has exited and what it wrote is read. Descendants
// may still hold the other end: what they write from then on is read and thrown away, so that they neither
// block nor die of SIGPIPE.
func (o *output) pump(journal *Journal) {
	defer o.file.Close()
	ended := o.follow(journal)
	if !ended {
		ended = o.drain(journal)
	}
	close(o.drained)
	if !ended {
		o.discard()
	}
}

// finish notifies the pump that the command has exited.
func (o *output) finish() {
	o.ending.Do(func() { _ = o.file.SetReadDeadline(time.Unix(1, 0)) })
}

// follow reads until end of file (true) or until finish is called (false). A buffer is held only while
// there is something to read: an idle process costs none.
func (o *output) follow(journal *Journal) bool {
	for {
		var chunk *[chunkSize]byte
		var n int
		var failed error
		err := o.raw.Read(func(fd uintptr) bool {
			chunk = chunks.Get().(*[chunkSize]byte)
			n, failed = read(int(fd), chunk[:])
			if failed == syscall.EAGAIN {
				chunks.Put(chunk)
				return false
			}
			return true
		})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		if err != nil {
			return true
		}
		if n <= 0 || failed != nil {
			chunks.Put(chunk)
			return true
		}
		journal.Append(o.kind, chunk, n)
	}
}

// drain reads what was written before the command exited and reports whether that was the end. The amount
// is fixed first: a descendant that goes on writing must not keep the exit record waiting.
func (o *output) drain(journal *Journal) (ended bool) {
	left := o.waiting()
	for left > 0 && !ended {
		chunk := chunks.Get().(*[chunkSize]byte)
		var n int
		var failed error
		if err := o.raw.Control(func(fd uintptr) { n, failed = read(int(fd), chunk[:min(left, chunkSize)]) }); err != nil {
			failed = err
		}
		if n <= 0 || failed != nil {
			chunks.Put(chunk)
			return failed != syscall.EAGAIN
		}
		journal.Append(o.kind, chunk, n)
		left -= n
	}
	return false
}

func (o *output) waiting() int {
	if o.pty {
		return ptyBuffer
	}
	var count int32
	_ = o.raw.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&count)))
	})
	return int(count)
}

func (o *output) discard() {
	_ = o.file.SetReadDeadline(time.Time{})
	for {
		var n int
		var failed error
		err := o.raw.Read(func(fd uintptr) bool {
			chunk := chunks.Get().(*[chunkSize]byte)
			n, failed = read(int(fd), chunk[:])
			chunks.Put(chunk)
			return failed != syscall.EAGAIN
		})
		if err != nil || failed != nil || n <= 0 {
			return
		}
	}
}

func read(fd int, buffer []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, buffer)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
