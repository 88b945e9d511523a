package processes

import (
	"context"
	"maps"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

// A prepared program runs before its command is known. It has read nothing of its stdin, and nobody has read
// what it wrote.
type prepared struct {
	process *Process
	spec    *Spec
}

// Prepare starts a program for a command that may come, in the place of the one before.
func (t *Table) Prepare(spec *Spec) error {
	if spec.Stdin != "open" || spec.Pty != nil {
		return fault.New(fault.InvalidInput, "a prepared program waits on a stdin that is open and no terminal")
	}
	var former *prepared
	_, err := t.fork(spec, func(p *Process) {
		former, t.prepared = t.prepared, &prepared{p, spec}
	})
	former.discard()
	return err
}

// takePrepared makes the prepared program the process of a command. Nil when there is none that fits; one
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
	return w != nil && len(spec.Opening) > 0 && !w.process.hasExited() &&
		spec.Pty == nil && spec.User == w.spec.User && maps.Equal(spec.Rlimits, w.spec.Rlimits)
}

func (w *prepared) discard() {
	if w == nil {
		return
	}
	if w.process.table.killRoot(w.process, syscall.SIGKILL) {
		select {
		case <-w.process.exited:
		case <-time.After(killDeadline):
		}
	}
	w.process.wires.close()
}
