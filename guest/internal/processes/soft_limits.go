package processes

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"geode/guest/internal/proctree"
	"geode/guest/internal/usage"
)

const (
	// The time between two measurements, while a process uses CPU and while all are idle.
	shortLook = 20 * time.Millisecond
	longLook  = 160 * time.Millisecond
	// victimTime is how long a killed process may take to give its memory back.
	victimTime = 200 * time.Millisecond
)

// SoftLimits hold where no control group does: the guest counts and kills. 0 is no limit.
type SoftLimits struct {
	MemoryBytes int64
	PIDs        int64
}

type softWatch struct {
	limits   SoftLimits
	meter    usage.Meter
	wake     chan struct{}
	oomKills atomic.Int64
}

// HoldSoftly watches the limits for as long as the guest lives. Call it before the first command.
func (t *Table) HoldSoftly(limits SoftLimits) {
	if limits == (SoftLimits{}) {
		return
	}
	t.soft = &softWatch{limits: limits, wake: make(chan struct{}, 1)}
	if os.Getpid() == 1 {
		t.soft.meter = usage.Meter{Files: []string{"/tmp", "/var/tmp", "/dev/shm"}, SharedMemory: true}
	}
	go t.watchSoftly()
}

// oomKills is how many processes a memory limit has killed, and whether anything counts them.
func (t *Table) oomKills() (int64, bool) {
	kernel, counted := t.Group.OOMKills()
	if t.soft == nil {
		return kernel, counted
	}
	return kernel + t.soft.oomKills.Load(), counted || t.soft.limits.MemoryBytes > 0
}

func (w *softWatch) nudge() {
	if w == nil {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// watchSoftly sleeps while the guest is alone. Otherwise it looks often while processes work, and seldom while they
// only wait.
func (t *Table) watchSoftly() {
	pause, ticks := shortLook, uint64(0)
	for {
		processes := others()
		if len(processes) == 0 {
			<-t.soft.wake
			pause = shortLook
			continue
		}
		if t.holdMemory(processes) || t.holdPIDs(processes) {
			pause = shortLook
			continue
		}
		used := uint64(0)
		for _, process := range processes {
			used += process.CPUTicks
		}
		pause = min(2*pause, longLook)
		if used != ticks {
			pause = shortLook
		}
		ticks = used
		select {
		case <-t.soft.wake:
			pause = shortLook
		case <-time.After(pause):
		}
	}
}

// others are the sandbox's processes without the guest.
func others() []proctree.Process {
	alive := []proctree.Process{}
	for _, process := range proctree.Scan().Below(os.Getpid()) {
		if process.Alive() {
			alive = append(alive, process)
		}
	}
	return alive
}

// holdMemory kills the largest process when all of them use more than the limit, as the kernel does, and reports
// whether it did.
func (t *Table) holdMemory(processes []proctree.Process) bool {
	limit := t.soft.limits.MemoryBytes
	if limit == 0 {
		return false
	}
	guest, _ := proctree.Read(os.Getpid())
	if t.soft.meter.Memory(append(processes, guest), limit) <= limit {
		return false
	}
	victim, largest := proctree.Process{}, int64(-1)
	for _, process := range processes {
		private, shared := usage.Mapped(process)
		if private+shared > largest {
			victim, largest = process, private+shared
		}
	}
	// The count rises first: a reader of the victim's exit must see it.
	t.soft.oomKills.Add(1)
	_ = syscall.Kill(victim.PID, syscall.SIGKILL)
	waitForEnd(victim)
	return true
}

// holdPIDs ends the command with the most tasks when all of them are more than the limit. The kernel refuses the
// fork before it comes to this where it counts the tasks of a user namespace.
func (t *Table) holdPIDs(processes []proctree.Process) bool {
	limit := t.soft.limits.PIDs
	guest, _ := proctree.Read(os.Getpid())
	tasks := guest.Threads
	for _, process := range processes {
		tasks += process.Threads
	}
	// A command of the host is started beside what runs, so that one more is no breach.
	if limit == 0 || tasks <= limit+1 {
		return false
	}
	t.mu.Lock()
	table := proctree.Scan()
	var worst *Process
	most := int64(-1)
	for pid, p := range t.running {
		own := table[pid].Threads
		for _, below := range table.Below(pid) {
			own += below.Threads
		}
		if own > most {
			worst, most = p, own
		}
	}
	t.mu.Unlock()
	if worst == nil {
		killEveryone()
		return true
	}
	worst.journal.Note(fmt.Sprintf("geode: killed, because the sandbox has more than %d processes and threads\n", limit))
	t.killTree(worst)
	return true
}

func waitForEnd(victim proctree.Process) {
	for deadline := time.Now().Add(victimTime); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if now, there := proctree.Read(victim.PID); !there || !now.Alive() {
			return
		}
	}
}
