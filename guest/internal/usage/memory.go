// Package usage counts the memory of a sandbox that has no control group.
package usage

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"geode/guest/internal/proctree"
)

const (
	tmpfsMagic = 0x01021994
	// memfdPause is how often open files are searched for memory that no process has mapped.
	memfdPause = 500 * time.Millisecond
	statBlock  = 512
)

// A Meter measures the processes that it is given. Its zero value counts processes alone.
type Meter struct {
	// Files are folders whose memory counts when they are a tmpfs; SharedMemory counts System V segments. Both are
	// right only where the sandbox has namespaces of its own.
	Files        []string
	SharedMemory bool

	memfds   int64
	memfdsAt time.Time
}

// Memory is what the processes use. When a quick count that can only be too high stays within the limit, that count
// is the answer: the exact one makes the kernel walk the page tables of every process.
func (m *Meter) Memory(processes []proctree.Process, limit int64) int64 {
	files := m.unmapped(processes)
	quick := files
	for _, process := range processes {
		quick += process.ResidentPages * int64(os.Getpagesize())
	}
	if quick <= limit {
		return quick
	}
	var private, shared int64
	for _, process := range processes {
		own, together := Mapped(process)
		private += own
		shared += together
	}
	// Files of a tmpfs may be mapped as well: they count once.
	return private + max(shared, files)
}

// Mapped is the private memory of a process and its share of the shared memory. Pages that the page cache can drop do
// not count. A process that hides its maps counts with all that is resident.
func Mapped(process proctree.Process) (private, shared int64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(process.PID) + "/smaps_rollup")
	if err != nil {
		// It may have ended since it was listed; then it has given its memory back.
		now, _ := proctree.Read(process.PID)
		return now.ResidentPages * int64(os.Getpagesize()), 0
	}
	private, known := kilobytes(text, "Pss_Anon:")
	if !known {
		private, _ = kilobytes(text, "Pss:")
		return private, 0
	}
	shared, _ = kilobytes(text, "Pss_Shmem:")
	return private, shared
}

func kilobytes(text []byte, name string) (int64, bool) {
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == name {
			value, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return value << 10, err == nil
		}
	}
	return 0, false
}

// unmapped is shared memory that need not be mapped by anyone.
func (m *Meter) unmapped(processes []proctree.Process) int64 {
	total := int64(0)
	for _, folder := range m.Files {
		var space syscall.Statfs_t
		if syscall.Statfs(folder, &space) == nil && space.Type == tmpfsMagic {
			total += int64(space.Blocks-space.Bfree) * space.Bsize
		}
	}
	if m.SharedMemory {
		total += segments()
	}
	if time.Since(m.memfdsAt) > memfdPause {
		m.memfds = memfds(processes)
		m.memfdsAt = time.Now()
	}
	return total + m.memfds
}

// segments is the resident size of System V shared memory. Its column is the one before the last.
func segments() int64 {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	column := -1
	for i, name := range strings.Fields(lines[0]) {
		if name == "rss" {
			column = i
		}
	}
	total := int64(0)
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); column >= 0 && column < len(fields) {
			bytes, _ := strconv.ParseInt(fields[column], 10, 64)
			total += bytes
		}
	}
	return total
}

// memfds is the size of the anonymous files that the processes hold open, each counted once.
func memfds(processes []proctree.Process) int64 {
	seen := map[uint64]int64{}
	for _, process := range processes {
		folder := "/proc/" + strconv.Itoa(process.PID) + "/fd"
		names, _ := os.ReadDir(folder)
		for _, name := range names {
			path := filepath.Join(folder, name.Name())
			var facts syscall.Stat_t
			if target, err := os.Readlink(path); err != nil || !strings.HasPrefix(target, "/memfd:") {
				continue
			}
			if syscall.Stat(path, &facts) == nil {
				seen[facts.Ino] = facts.Blocks * statBlock
			}
		}
	}
	total := int64(0)
	for _, size := range seen {
		total += size
	}
	return total
}
