package processes

import (
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"geode/guest/internal/proctree"
)

const waitAll = 0x40000000 // __WALL

// Reap waits for children for as long as the guest lives. Start it before the first command.
func (t *Table) Reap() {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		for range died {
			t.reapAll()
		}
	}()
}

// reapAll collects every child that has died.
//
// A command is a subreaper, so its orphans stay below it while it lives, and come to the guest at the moment
// of its death. A child of the guest that was not there before therefore belongs to a command, or to an
// orphan, that has just died. When several died at once the session may tell which; else it is shared
// between them, and goes when the last of them is deleted.
func (t *Table) reapAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	families := map[*Process]bool{}
	var arrived []int
	// Once around more than there were deaths: then everyone whose orphans were seen is in families.
	for t.collect(families) {
		arrived = t.unknownChildren()
	}
	for _, pid := range arrived {
		t.orphans[pid] = familiesOf(pid, families)
	}
}

func (t *Table) collect(families map[*Process]bool) bool {
	any := false
	for {
		var last death
		pid, err := syscall.Wait4(-1, &last.status, syscall.WNOHANG|waitAll, &last.usage)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return any
		}
		any = true
		last.at = time.Now()
		if p := t.running[pid]; p != nil {
			delete(t.running, pid)
			families[p] = true
			p.death = last
			close(p.exited)
			continue
		}
		for _, family := range t.orphans[pid] {
			families[family] = true
		}
		delete(t.orphans, pid)
	}
}

func (t *Table) unknownChildren() []int {
	var unknown []int
	for _, pid := range proctree.ChildrenOf(os.Getpid()) {
		_, known := t.orphans[pid]
		if t.running[pid] == nil && !known {
			unknown = append(unknown, pid)
		}
	}
	return unknown
}

func familiesOf(pid int, families map[*Process]bool) []*Process {
	process, _ := proctree.Read(pid)
	for p := range families {
		if p.PID == process.Session {
			return []*Process{p}
		}
	}
	return slices.Collect(maps.Keys(families))
}
