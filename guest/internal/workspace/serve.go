// Package workspace takes snapshots of a sandbox's workspace, and makes workspaces from them. It runs on the
// host, as the host's user, beside processes in the sandbox that may change the workspace at any moment.
package workspace

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

const (
	longestRequest = 64 << 10
	stopWithin     = 2 * time.Second
	gcPercent      = 400
	outputBytes    = 64 << 10
)

// Serve does one job: a line of JSON says what, lines of JSON are the answer, and the last one is empty for
// success or holds the error. The end of the input cancels: the host gave up, or is gone.
func Serve(input io.Reader, output io.Writer) error {
	runtime.GOMAXPROCS(workers)
	debug.SetGCPercent(gcPercent)
	syscall.Umask(0o077)
	out := bufio.NewWriterSize(output, outputBytes)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	lines := bufio.NewReaderSize(input, longestRequest)
	stop := &atomic.Bool{}
	err := serve(lines, stop, encoder, out.Flush)
	if err != nil {
		known := fault.From(err)
		err = encoder.Encode(map[string]any{"error": map[string]any{"code": known.Code, "message": known.Message}})
	} else {
		err = encoder.Encode(map[string]any{"done": true})
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

func serve(lines *bufio.Reader, stop *atomic.Bool, encoder *json.Encoder, flush func() error) error {
	line, err := lines.ReadSlice('\n')
	if err != nil {
		return fault.New(fault.InvalidInput, "the request is cut off or too long")
	}
	job := job{stop: stop}
	if err := json.Unmarshal(line, &job.request); err != nil {
		return fault.New(fault.InvalidInput, "the request cannot be read: %s", err)
	}
	words := make(chan struct{})
	go follow(lines, words, stop)
	job.emit = func(value any) error {
		if err := encoder.Encode(value); err != nil {
			return err
		}
		if _, isChange := value.(change); isChange {
			return nil
		}
		return flush()
	}
	job.wait = func() error {
		if _, more := <-words; !more {
			return errStopped
		}
		return nil
	}
	return job.run()
}

// follow passes on each line of the host. After the last line, work has a moment to clean up.
func follow(lines *bufio.Reader, words chan<- struct{}, stop *atomic.Bool) {
	for {
		if _, err := lines.ReadSlice('\n'); err != nil {
			stop.Store(true)
			close(words)
			time.Sleep(stopWithin)
			os.Exit(1)
		}
		words <- struct{}{}
	}
}
