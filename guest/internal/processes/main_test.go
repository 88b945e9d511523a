package processes

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"geode/guest/internal/cgroup"
	"geode/guest/internal/proctree"
	"geode/guest/internal/spawn"
)

// The tests run real commands under a real reaper: the test program takes the guest's place, as a subreaper
// instead of PID 1. It must not use os/exec, whose children the reaper would collect.
var table *Table

func TestMain(m *testing.M) {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, 36, 1, 0, 0, 0, 0); errno != 0 {
		panic(errno)
	}
	spawn.CloseOnExec()
	made, err := NewTable(cgroup.Open(""))
	if err != nil {
		panic(err)
	}
	table = made
	table.SetDefaults(Defaults{Env: map[string]string{"PATH": "/usr/bin:/bin"}, Workdir: os.TempDir()})
	table.Reap()
	os.Exit(m.Run())
}

var ids atomic.Int64

func start(t *testing.T, spec Spec) *Process {
	t.Helper()
	if spec.ID == "" {
		spec.ID = fmt.Sprintf("p%d", ids.Add(1))
	}
	p, err := table.Start(&spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Delete(p) })
	return p
}

func shell(script string) Spec { return Spec{Argv: []string{"sh", "-c", script}} }

// A recorder takes the guest's frames apart and checks that offsets follow on.
type recorder struct {
	stdout, stderr strings.Builder
	next           uint64
	exit           *Exit
	failed         error
	pending        []byte
	seen           func(offset uint64)
}

func (r *recorder) Flush() error { return nil }

func (r *recorder) Write(bytes []byte) (int, error) {
	r.pending = append(r.pending, bytes...)
	for len(r.pending) >= headerSize {
		length := int(binary.BigEndian.Uint32(r.pending[4:]))
		if len(r.pending) < headerSize+length {
			break
		}
		r.frame(Kind(r.pending[0]), binary.BigEndian.Uint64(r.pending[8:]), r.pending[headerSize:headerSize+length])
		r.pending = r.pending[headerSize+length:]
	}
	return len(bytes), r.failed
}

func (r *recorder) frame(kind Kind, offset uint64, payload []byte) {
	if kind == KindStarted {
		r.next = offset
		return
	}
	if offset != r.next {
		r.failed = fmt.Errorf("offset %d does not follow %d", offset, r.next)
	}
	r.next += uint64(len(payload))
	switch kind {
	case KindStdout:
		r.stdout.Write(payload)
	case KindStderr:
		r.stderr.Write(payload)
	case KindExit:
		r.next = offset
		r.exit = &Exit{}
		r.failed = json.Unmarshal(payload, r.exit)
		return
	}
	if r.seen != nil {
		r.seen(r.next)
	}
}

// finish reads a process to its end, acking as it goes.
func finish(t *testing.T, p *Process) *recorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r := &recorder{seen: func(offset uint64) { _ = p.Ack(offset) }}
	if err := p.Stream(ctx, 0, NewFrameReader(strings.NewReader("")), r); err != nil {
		t.Fatalf("stream: %v (stdout %q, stderr %q)", err, r.stdout.String(), r.stderr.String())
	}
	if r.exit == nil {
		t.Fatal("there is no exit frame")
	}
	return r
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never came true: %s", what)
}

// marked counts the living processes whose command line has a mark in it.
func marked(mark string) int {
	count := 0
	for _, process := range proctree.Scan() {
		if process.Alive() && strings.Contains(process.CommandLine(4096), mark) {
			count++
		}
	}
	return count
}
