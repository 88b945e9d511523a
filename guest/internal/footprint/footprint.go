// Package footprint keeps an idle guest small: there is one in every sandbox, inside its memory limit.
package footprint

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// The guest trades time for space.
	mostProcessors = 2
	gcPercent      = 50
	softMemory     = 96 << 20

	idleAfter    = 2 * time.Second
	madvDontneed = 4
)

var (
	once    sync.Once
	timer   *time.Timer
	program []mapping
	peak    *os.File
)

type mapping struct{ start, end uintptr }

// Limit applies the settings for the whole life of the guest.
func Limit() {
	runtime.GOMAXPROCS(min(runtime.NumCPU(), mostProcessors))
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(softMemory)
	program = readOnlyMappings()
	peak, _ = os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0)
}

// ForgetPeak makes the kernel forget how large the guest has been. A child inherits that number as the start
// of its own largest size, so this comes before every fork.
func ForgetPeak() {
	if peak != nil {
		_, _ = peak.WriteString("5")
	}
}

// Touch reports activity. After a while without activity, memory is returned to the kernel.
func Touch() {
	once.Do(func() { timer = time.AfterFunc(idleAfter, release) })
	timer.Reset(idleAfter)
}

// release frees the heap and unmaps the pages of the program itself. They stay in the page cache, where all
// guests share them, and come back one by one when they are needed.
func release() {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what was in a pool is garbage only now
	for _, m := range program {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, madvDontneed)
	}
}

// readOnlyMappings are the program's own pages that nobody can have changed.
func readOnlyMappings() []mapping {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	var found []mapping
	for line := range bytes.Lines(maps) {
		fields := bytes.Fields(line)
		if len(fields) < 6 || string(fields[5]) != self {
			continue
		}
		if mode := string(fields[1]); mode != "r-xp" && mode != "r--p" {
			continue
		}
		from, to, _ := bytes.Cut(fields[0], []byte{'-'})
		start, startErr := strconv.ParseUint(string(from), 16, 64)
		end, endErr := strconv.ParseUint(string(to), 16, 64)
		if startErr == nil && endErr == nil {
			found = append(found, mapping{uintptr(start), uintptr(end)})
		}
	}
	return found
}
