package processes

import (
	"context"
	"sync/atomic"
	"syscall"
	"time"

	"geode/guest/internal/awake"
	"geode/guest/internal/fault"
)

// A Process is one command with its journal.
type Process struct {
	ID  string
	PID int

	argv    []string
	pty     bool
	sole    bool
	started time.Time
	table   *Table
	journal *Journal
	wires   *wires
	timer   *awake.Timer

	timedOut       atomic.Bool
	killed         atomic.Bool // by the guest
	oomKillsBefore int64
	alone          bool // no other process of the sandbox ran beside it; under the table's lock

	death  death
	exited chan struct{} // closed when the command is reaped
	exit   Exit
	ended  chan struct{} // closed when the exit record is in the journal
}

// begin notes what the exit record is measured from.
func (p *Process) begin() {
	p.oomKillsBefore, _ = p.table.oomKills()
	p.started = time.Now()
}

func (p *Process) follow(timeout time.Duration) {
	for _, output := range p.wires.outputs {
		go output.pump(p.journal)
	}
	if timeout > 0 {
		p.timer = awake.AfterFunc(timeout, p.expire)
	}
	go p.conclude()
}

func (p *Process) expire() {
	if !p.hasExited() {
		p.timedOut.Store(true)
		p.table.killTree(p)
	}
}

// conclude writes the exit record when the command has exited and what it wrote is in the journal.
func (p *Process) conclude() {
	<-p.exited
	if p.timer != nil {
		p.timer.Stop()
	}
	p.wires.input.Abandon()
	for _, output := range p.wires.outputs {
		output.finish()
	}
	for _, output := range p.wires.outputs {
		<-output.drained
	}
	p.exit = p.death.exit(p.started)
	// gVisor hangs up a stopped command when one of its children dies, and killTree stops a command first.
	if p.killed.Load() && p.death.status.Signaled() && p.death.status.Signal() == syscall.SIGHUP {
		name := SignalName(syscall.SIGKILL)
		p.exit.Signal = &name
	}
	p.exit.TimedOut = p.timedOut.Load()
	p.exit.OOMKilled = p.wasOOMKilled()
	close(p.ended)
	p.table.Events.Publish(Event{Type: "process-exit", ID: p.ID, Exit: &p.exit})
	if p.exit.OOMKilled {
		p.table.Events.Publish(Event{Type: "process-oom", ID: p.ID})
	}
	p.journal.Finish(p.exit.encode())
	if p.sole {
		p.table.close()
		killEveryone()
	}
}

// wasOOMKilled says whether the memory limit killed a process of this command. Victims are counted
// for the whole sandbox only; so the count must have risen during the command's life, and either nothing
// else ran then, or the command's end looks like it: SIGKILL from someone else, or a shell's 137 for it.
func (p *Process) wasOOMKilled() bool {
	after, counted := p.table.oomKills()
	if !counted || after <= p.oomKillsBefore || p.killed.Load() {
		return false
	}
	if signal := p.exit.Signal; signal != nil && *signal == "SIGKILL" {
		return true
	}
	if code := p.exit.ExitCode; code != nil && *code == 128+9 {
		return true
	}
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	return p.alone
}

func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// StartedAt is in Unix milliseconds.
func (p *Process) StartedAt() int64 { return p.started.UnixMilli() }

// Ack forgets output that is safe with the host.
func (p *Process) Ack(offset uint64) error { return p.journal.Ack(offset) }

// Write brings bytes to stdin.
func (p *Process) Write(ctx context.Context, bytes []byte) { p.wires.input.Write(ctx, bytes) }

// EndInput closes stdin behind what was written.
func (p *Process) EndInput() { p.wires.input.End() }

// Resize changes the size of the terminal. The size of one that is gone changes nothing.
func (p *Process) Resize(size Size) error {
	if !p.pty {
		return fault.New(fault.InvalidInput, "process %s has no terminal", p.ID)
	}
	_ = p.wires.outputs[0].raw.Control(func(fd uintptr) { _ = resize(int(fd), size) })
	return nil
}

// terminalSize asks the terminal itself: what runs in it can change its size too. Nil without one.
func (p *Process) terminalSize() *Size {
	if !p.pty {
		return nil
	}
	size := Size{}
	_ = p.wires.outputs[0].raw.Control(func(fd uintptr) { size = sizeOf(int(fd)) })
	return &size
}
