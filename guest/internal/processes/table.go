// Package processes runs the commands of a sandbox: it starts them, keeps their journals, reaps every
// child of the guest, and kills whole trees.
package processes

import (
	"os"
	"sync"
	"syscall"

	"geode/guest/internal/cgroup"
	"geode/guest/internal/fault"
	"geode/guest/internal/footprint"
	"geode/guest/internal/spawn"
)

// A Table holds the commands of a sandbox, running and ended, until the host has forgotten them.
type Table struct {
	Events   Events
	Group    cgroup.Group
	devNull  int
	defaults Defaults

	// mu is the lock of the guest's children. It is held over fork and registration, over wait4, and over
	// every kill of a direct child: so no exit status is lost and no signal reaches a reused pid.
	mu        sync.Mutex
	processes map[string]*Process
	running   map[int]*Process
	// orphans are the guest's children that are not commands, and the command that left each behind; several
	// if that is unknown.
	orphans  map[int][]*Process
	prepared *prepared
	soft     *softWatch // nil without soft limits
	stopping bool
}

// NewTable makes an empty table.
func NewTable(group cgroup.Group) (*Table, error) {
	devNull, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Table{
		Group:     group,
		devNull:   devNull,
		processes: map[string]*Process{},
		running:   map[int]*Process{},
		orphans:   map[int][]*Process{},
	}, nil
}

// SetDefaults gives the environment and the working directory of commands from now on.
func (t *Table) SetDefaults(defaults Defaults) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.defaults = defaults
}

// Get finds a command by its id.
func (t *Table) Get(id string) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if process := t.processes[id]; process != nil {
		return process, nil
	}
	return nil, fault.New(fault.ProcessNotFound, "there is no process %s", id)
}

// Forget drops a command that has exited, with its journal. A running one stays.
func (t *Table) Forget(p *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.processes[p.ID] == p && p.hasExited() {
		delete(t.processes, p.ID)
		p.journal.Close()
	}
}

// Start runs a command: as the prepared program, where that fits, or as a new one.
func (t *Table) Start(spec *Spec) (*Process, error) {
	p, err := t.open(spec)
	if err != nil {
		return nil, err
	}
	p.follow(spec.timeout())
	return p, nil
}

func (t *Table) open(spec *Spec) (*Process, error) {
	if p, err := t.takePrepared(spec); p != nil || err != nil {
		return p, err
	}
	return t.fork(spec, t.register)
}

// fork makes a process of a spec. The caller enters it into the table under the lock of the fork.
func (t *Table) fork(spec *Spec, enter func(*Process)) (*Process, error) {
	t.mu.Lock()
	defaults := t.defaults
	t.mu.Unlock()
	command, err := spec.command(defaults)
	if err != nil {
		return nil, err
	}
	wires, err := openWires(spec, t.devNull, command.Identity)
	if err != nil {
		return nil, err
	}
	command.Stdio = wires.stdio
	p := &Process{
		ID:      spec.ID,
		argv:    spec.Argv,
		pty:     spec.Pty != nil,
		sole:    spec.Sole,
		table:   t,
		journal: newJournal(),
		wires:   wires,
		exited:  make(chan struct{}),
		ended:   make(chan struct{}),
	}
	err = t.launch(p, command, enter)
	wires.closeCommandSide()
	if err != nil {
		wires.close()
		return nil, err
	}
	return p, nil
}

func (t *Table) launch(p *Process, command *spawn.Command, enter func(*Process)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.admit(p.ID); err != nil {
		return err
	}
	footprint.ForgetPeak()
	p.begin()
	pid, err := spawn.Start(command)
	if err != nil {
		return err
	}
	p.PID = pid
	t.running[pid] = p
	enter(p)
	t.soft.nudge()
	return nil
}

// register makes a command of a process: from here on the host can ask for it.
func (t *Table) register(p *Process) {
	p.alone = len(t.running) == 1 && len(t.orphans) == 0
	for _, other := range t.running {
		other.alone = other.alone && other == p
	}
	t.processes[p.ID] = p
	t.Events.Publish(Event{Type: "process-start", ID: p.ID, PID: p.PID})
}

func (t *Table) admit(id string) error {
	if t.stopping {
		return fault.New(fault.SpawnFailed, "the sandbox is stopping")
	}
	if t.processes[id] != nil {
		return fault.New(fault.InvalidInput, "there is already a process %s", id)
	}
	return nil
}
