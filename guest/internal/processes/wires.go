package processes

import (
	"os"
	"syscall"

	"geode/guest/internal/fault"
	"geode/guest/internal/spawn"
)

// wires are the descriptors between the guest and a command: pipes, or one terminal.
type wires struct {
	stdio   [3]int // the command's side
	owned   []int  // those of the command's side that the guest must close
	outputs []*output
	input   *input
}

func openWires(spec *Spec, devNull int, identity *spawn.Identity) (*wires, error) {
	w := &wires{}
	var err error
	if spec.Pty != nil {
		err = w.openTerminal(*spec.Pty, identity)
	} else {
		err = w.openPipes(spec.Stdin == "open", devNull)
	}
	if err != nil {
		w.closeCommandSide()
		w.close()
		return nil, fault.New(fault.SpawnFailed, "cannot make the pipes of a command: %s", err)
	}
	return w, nil
}

func (w *wires) openPipes(stdin bool, devNull int) error {
	w.stdio[0] = devNull
	w.input = newInput(nil, false)
	if stdin {
		read, write, err := pipe()
		if err != nil {
			return err
		}
		w.stdio[0], w.owned = read, append(w.owned, read)
		_ = syscall.SetNonblock(write, true)
		w.input = newInput(os.NewFile(uintptr(write), "stdin"), false)
	}
	for i, kind := range []Kind{KindStdout, KindStderr} {
		read, write, err := pipe()
		if err != nil {
			return err
		}
		w.stdio[i+1], w.owned = write, append(w.owned, write)
		_ = syscall.SetNonblock(read, true)
		output, err := newOutput(read, "output", kind)
		if err != nil {
			return err
		}
		w.outputs = append(w.outputs, output)
	}
	return nil
}

func (w *wires) openTerminal(size Size, identity *spawn.Identity) error {
	w.input = newInput(nil, true)
	master, slave, err := openTerminal(size)
	if err != nil {
		return err
	}
	w.stdio, w.owned = [3]int{slave, slave, slave}, []int{slave}
	if identity != nil {
		_ = syscall.Fchown(slave, identity.UID, identity.GID)
	}
	output, err := newOutput(master, "terminal", KindStdout)
	if err != nil {
		return err
	}
	output.pty = true
	w.outputs = append(w.outputs, output)
	w.input = newInput(output.file, true)
	return nil
}

// closeCommandSide is for after the fork: an end of file comes only when nobody holds the other side.
func (w *wires) closeCommandSide() {
	for _, fd := range w.owned {
		syscall.Close(fd)
	}
	w.owned = nil
}

// close is for a command that was never started.
func (w *wires) close() {
	w.input.Abandon()
	for _, output := range w.outputs {
		output.file.Close()
	}
}

func pipe() (read, write int, err error) {
	var ends [2]int
	err = syscall.Pipe2(ends[:], syscall.O_CLOEXEC)
	return ends[0], ends[1], err
}
