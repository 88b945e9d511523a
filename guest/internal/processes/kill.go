package processes

import (
	"os"
	"slices"
	"syscall"
	"time"

	"geode/guest/internal/proctree"
)

const (
	killDeadline = 5 * time.Second
	killPause    = time.Millisecond
	// quietScans is how often in a row nothing may be found: one scan can miss a process that is born and
	// moves while /proc is read.
	quietScans = 2
	// stopLooks is how often Stop looks whether everything has ended by itself, stopPause apart. It counts looks
	// and not time: while the whole machine stands still, time passes for nobody.
	stopLooks   = 100
	stopPause   = 5 * time.Millisecond
	deleteGrace = 200 * time.Millisecond
)

// Signal sends a signal to a command, or to it and all its descendants. One that has exited hears nothing.
func (t *Table) Signal(p *Process, signal syscall.Signal, tree bool) {
	if tree && signal == syscall.SIGKILL {
		t.killTree(p)
		return
	}
	// Exited children that are not reaped yet may have left processes.
	t.reapAll()
	t.mu.Lock()
	defer t.mu.Unlock()
	if signal == syscall.SIGKILL {
		p.killed.Store(true)
	}
	if !tree {
		if t.running[p.PID] == p {
			_ = syscall.Kill(p.PID, signal)
		}
		return
	}
	roots := t.roots(p)
	for _, below := range proctree.Scan().Below(roots...) {
		_ = syscall.Kill(below.PID, signal)
	}
	for _, root := range roots {
		_ = syscall.Kill(root, signal)
	}
}

// roots are the guest's children that a command's processes hang below: itself while it lives, and what it
// left behind afterwards.
func (t *Table) roots(p *Process) []int {
	if t.running[p.PID] == p {
		return []int{p.PID}
	}
	var roots []int
	for pid, families := range t.orphans {
		if isOnly(families, p) {
			roots = append(roots, pid)
		}
	}
	return roots
}

// killTree ends a command and everything that it started. The command is stopped and kept as the last to
// die: as a subreaper it keeps all its descendants below it, also those that left its session or
// lost their parent, so nothing can slip away.
func (t *Table) killTree(p *Process) {
	p.killed.Store(true)
	deadline := time.Now().Add(killDeadline)
	for quiet := 0; quiet < quietScans && time.Now().Before(deadline); {
		if !t.killRoot(p, syscall.SIGSTOP) {
			break
		}
		table := proctree.Scan()
		root := table[p.PID]
		busy := !root.Stopped()
		for _, below := range table.Below(p.PID) {
			if below.Alive() {
				busy = true
				_ = syscall.Kill(below.PID, syscall.SIGKILL)
			}
		}
		if busy {
			quiet = 0
			time.Sleep(killPause)
		} else {
			quiet++
		}
	}
	if t.killRoot(p, syscall.SIGKILL) {
		select {
		case <-p.exited:
		case <-time.After(time.Until(deadline)):
		}
	}
	t.killOrphans(p, deadline)
}

// killRoot signals a command if it still runs, and reports whether it does.
func (t *Table) killRoot(p *Process, signal syscall.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[p.PID] != p {
		return false
	}
	_ = syscall.Kill(p.PID, signal)
	return true
}

// killOrphans ends what a command left behind. When one of them dies its children come to the guest and are
// found in the next round.
func (t *Table) killOrphans(p *Process, deadline time.Time) {
	for time.Now().Before(deadline) {
		t.mu.Lock()
		roots := t.roots(p)
		for _, root := range roots {
			_ = syscall.Kill(root, syscall.SIGKILL)
		}
		t.mu.Unlock()
		if len(roots) == 0 {
			return
		}
		for _, below := range proctree.Scan().Below(roots...) {
			_ = syscall.Kill(below.PID, syscall.SIGKILL)
		}
		time.Sleep(killPause)
	}
}

// inherit leaves what a deleted command shared with others to them.
func (t *Table) inherit(p *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for pid, families := range t.orphans {
		if !isOnly(families, p) {
			t.orphans[pid] = slices.DeleteFunc(families, func(family *Process) bool { return family == p })
		}
	}
}

func isOnly(families []*Process, p *Process) bool { return len(families) == 1 && families[0] == p }

// Delete kills a command with everything it started, and forgets it. Streams get a moment for the exit frame.
func (t *Table) Delete(p *Process) {
	t.killTree(p)
	t.inherit(p)
	select {
	case <-p.ended:
	case <-time.After(deleteGrace):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.processes, p.ID)
	p.journal.Close()
}

// Stop ends everything in the sandbox: a short time to end by themselves, then SIGKILL. Nothing can be
// started any more.
func (t *Table) Stop() {
	t.close()
	// SIGCONT, because a stopped process does not hear SIGTERM.
	everyone(syscall.SIGTERM)
	everyone(syscall.SIGCONT)
	for looks := 0; looks < stopLooks && everyone(0); looks++ {
		time.Sleep(stopPause)
	}
	killEveryone()
}

func (t *Table) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopping = true
}

func killEveryone() {
	for deadline := time.Now().Add(killDeadline); time.Now().Before(deadline) && everyone(syscall.SIGKILL); {
		time.Sleep(killPause)
	}
}

// everyone signals all but the guest, and reports whether there was somebody.
func everyone(signal syscall.Signal) bool {
	if os.Getpid() == 1 {
		return syscall.Kill(-1, signal) != syscall.ESRCH
	}
	found := false
	for _, below := range proctree.Scan().Below(os.Getpid()) {
		if below.Alive() {
			found = true
			_ = syscall.Kill(below.PID, signal)
		}
	}
	return found
}
