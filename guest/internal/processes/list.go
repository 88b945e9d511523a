package processes

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"geode/guest/internal/proctree"
)

// The texts of a list are cut, so that it stays below the largest answer that a host accepts.
const (
	longestLine = 200
	longestArgv = 1 << 10
	mostInList  = 2000
	clockTicks  = 100 // USER_HZ, fixed for user space
	ticksToMs   = 1000 / clockTicks
)

// A Listing is everything that runs in the sandbox, and what ran and is not forgotten.
type Listing struct {
	Processes []Entry `json:"processes"`
	Disowned  []Child `json:"disowned"`
}

// An Entry is one command.
type Entry struct {
	ID        string   `json:"id"`
	PID       int      `json:"pid"`
	Argv      []string `json:"argv"`
	StartedAt int64    `json:"startedAt"`
	State     string   `json:"state"`
	Offset    uint64   `json:"offset"`
	Acked     uint64   `json:"acked"`
	Terminal  *Size    `json:"terminal"`
	Exit      *Exit    `json:"exit"`
	Children  []Child  `json:"children"`
}

// A Child is a process that a command started.
type Child struct {
	PID     int    `json:"pid"`
	PPID    int    `json:"ppid"`
	Command string `json:"command"`
}

// List looks at all commands and at what hangs below them and below the guest.
func (t *Table) List() Listing {
	table := proctree.Scan()
	t.mu.Lock()
	known := slices.Collect(maps.Values(t.processes))
	running := maps.Clone(t.running)
	t.mu.Unlock()
	slices.SortFunc(known, func(a, b *Process) int { return a.started.Compare(b.started) })

	room := mostInList
	below := func(roots ...int) []Child {
		found := []Child{}
		processes := table.Below(roots...)
		slices.SortFunc(processes, func(a, b proctree.Process) int { return a.PID - b.PID })
		for _, process := range processes {
			if process.Alive() && running[process.PID] == nil && room > 0 {
				room--
				found = append(found, Child{process.PID, process.Parent, process.CommandLine(longestLine)})
			}
		}
		return found
	}
	listing := Listing{Processes: []Entry{}}
	for _, p := range known {
		entry := p.entry()
		if running[p.PID] == p {
			entry.Children = below(p.PID)
		}
		listing.Processes = append(listing.Processes, entry)
	}
	// Without the commands, what is left below the guest is disowned.
	for pid := range running {
		for _, process := range table.Below(pid) {
			delete(table, process.PID)
		}
		delete(table, pid)
	}
	listing.Disowned = below(os.Getpid())
	return listing
}

func (p *Process) entry() Entry {
	acked, end := p.journal.Range()
	entry := Entry{
		ID: p.ID, PID: p.PID, Argv: shortened(p.argv), StartedAt: p.StartedAt(), State: "running",
		Offset: end, Acked: acked, Terminal: p.terminalSize(), Children: []Child{},
	}
	if p.hasEnded() {
		entry.State, entry.Exit = "exited", &p.exit
	}
	return entry
}

func shortened(argv []string) []string {
	short := []string{}
	room := longestArgv
	for _, argument := range argv {
		cut := argument[:min(len(argument), room)]
		room -= len(cut)
		short = append(short, strings.ToValidUTF8(cut, ""))
		if room == 0 {
			break
		}
	}
	return short
}

// Metrics are the sandbox's numbers: from its control group where there is one, else summed up over the
// processes below the guest.
type Metrics struct {
	MemoryBytes   int64   `json:"memoryBytes"`
	CPUMs         float64 `json:"cpuMs"`
	PIDs          int64   `json:"pids"`
	Processes     int64   `json:"processes"`
	GuestRSSBytes int64   `json:"guestRssBytes"`
	UptimeMs      int64   `json:"uptimeMs"`
	OOMKills      int64   `json:"oomKills"`
	Disk          *Disk   `json:"disk"`
}

// Disk is the file system that the workdir is on, which other sandboxes may share.
type Disk struct {
	Device     uint64 `json:"device"`
	UsedBytes  int64  `json:"usedBytes"`
	TotalBytes int64  `json:"totalBytes"`
}

var guestStart = time.Now()

// Metrics measures now.
func (t *Table) Metrics() Metrics {
	table := proctree.Scan()
	page := int64(os.Getpagesize())
	guest := table[os.Getpid()]
	metrics := Metrics{
		GuestRSSBytes: guest.ResidentPages * page,
		UptimeMs:      time.Since(guestStart).Milliseconds(),
		PIDs:          max(guest.Threads, 1),
		MemoryBytes:   guest.ResidentPages * page,
	}
	var usage syscall.Rusage
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		if syscall.Getrusage(who, &usage) == nil {
			metrics.CPUMs += milliseconds(time.Duration(usage.Utime.Nano() + usage.Stime.Nano()))
		}
	}
	for _, process := range table.Below(os.Getpid()) {
		metrics.PIDs += process.Threads
		metrics.Processes++
		metrics.MemoryBytes += process.ResidentPages * page
		metrics.CPUMs += float64(process.CPUTicks * ticksToMs)
	}
	if bytes, ok := t.Group.MemoryBytes(); ok {
		metrics.MemoryBytes = bytes
	}
	if cpu, ok := t.Group.CPUMs(); ok {
		metrics.CPUMs = cpu
	}
	if pids, ok := t.Group.PIDs(); ok {
		metrics.PIDs = pids
	}
	metrics.OOMKills, _ = t.oomKills()
	t.mu.Lock()
	workdir := t.defaults.Workdir
	t.mu.Unlock()
	metrics.Disk = diskOf(workdir)
	return metrics
}

func diskOf(folder string) *Disk {
	var place syscall.Stat_t
	var space syscall.Statfs_t
	if syscall.Stat(folder, &place) != nil || syscall.Statfs(folder, &space) != nil {
		return nil
	}
	block := int64(space.Frsize)
	return &Disk{
		Device:     place.Dev,
		UsedBytes:  int64(space.Blocks-space.Bfree) * block,
		TotalBytes: int64(space.Blocks) * block,
	}
}
