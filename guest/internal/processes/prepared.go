package processes

import (
	"context"
	"maps"
	"time"

	"geode/guest/internal/fault"
)

// waitsMark is what a prepared program writes to stdout when all that is left to it is to read its opening.
const waitsMark = 0

// readyDeadline is for the slowest interpreter on a busy machine.
const readyDeadline = 10 * time.Second

// A prepared program runs before its command is known. It has read nothing of its stdin, and nobody has read
// what it wrote, but for the mark.
type prepared struct {
	process *Process
	spec    *Spec
	waits   bool // it has said so; under the table's lock
}

// Prepare starts a program for a command that may come, in the place of the one before. It is back when the
// program waits; one that ends, or does something else, is no program for any command.
func (t *Table) Prepare(spec *Spec) error {
	if spec.Stdin != "open" || spec.Pty != nil {
		return fault.New(fault.InvalidInput, "a prepared program waits on a stdin that is open and no terminal")
	}
	var former *prepared
	next := &prepared{spec: spec}
	_, err := t.fork(spec, func(p *Process) {
		next.process = p
		former, t.prepared = t.prepared, next
	})
	former.discard()
	if err != nil {
		return err
	}
	marked := next.hasMark()
	t.mu.Lock()
	next.waits = marked
	if !marked && t.prepared == next {
		t.prepared = nil
	}
	t.mu.Unlock()
	if !marked {
		next.discard()
		return fault.New(fault.SpawnFailed, "the program %q does not wait for a command", spec.Argv[0])
	}
	return nil
}

// hasMark waits for the program's first byte.
func (w *prepared) hasMark() bool {
	stdout := w.process.wires.outputs[0].file
	_ = stdout.SetReadDeadline(time.Now().Add(readyDeadline))
	defer func() { _ = stdout.SetReadDeadline(time.Time{}) }()
	first := []byte{0xff}
	_, err := stdout.Read(first)
	return err == nil && first[0] == waitsMark
}

// takePrepared makes the prepared program the process of a command. Nil if no prepared program fits; one
// that does not is ended, since it would share the command's limits.
func (t *Table) takePrepared(spec *Spec) (*Process, error) {
	t.mu.Lock()
	if err := t.admit(spec.ID); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	waiting := t.prepared
	t.prepared = nil
	if !waiting.fits(spec) {
		t.mu.Unlock()
		waiting.discard()
		return nil, nil
	}
	defer t.mu.Unlock()
	p := waiting.process
	p.ID, p.argv, p.sole = spec.ID, spec.Argv, spec.Sole
	p.begin()
	t.register(p)
	p.Write(context.Background(), spec.Opening)
	if spec.Stdin != "open" {
		p.EndInput()
	}
	return p, nil
}

// fits says whether the program lives and differs from the command only in what an opening can tell it:
// arguments, environment, folder.
func (w *prepared) fits(spec *Spec) bool {
	return w != nil && w.waits && len(spec.Opening) > 0 && !w.process.hasExited() &&
		spec.Pty == nil && spec.User == w.spec.User && maps.Equal(spec.Rlimits, w.spec.Rlimits)
}

// discard ends the program and whatever it started.
func (w *prepared) discard() {
	if w == nil {
		return
	}
	table := w.process.table
	table.killTree(w.process)
	table.inherit(w.process)
	w.process.wires.close()
}
