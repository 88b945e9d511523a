package processes

import (
	"os"
	"os/signal"
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
// orphan, that has just died. That is certain when one family is concerned; when several died at once the
// session tells, and else nobody is blamed.
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
		t.orphans[pid] = familyOf(pid, families)
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
		families[t.orphans[pid]] = true
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

func familyOf(pid int, families map[*Process]bool) *Process {
	if len(families) == 1 {
		for p := range families {
			return p
		}
	}
	process, _ := proctree.Read(pid)
	for p := range families {
		if p != nil && p.PID == process.Session {
			return p
		}
	}
	return nil
}
