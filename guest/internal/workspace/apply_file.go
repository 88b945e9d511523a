package workspace

import (
	"syscall"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

var errCutOff = fault.New(fault.SnapshotDamaged, "the content of the snapshot is cut off")

func (a *apply) file(w *worker, in int, want, have *node) error {
	if have.kind == file {
		same, err := a.store.sameContent(w, want, have)
		if err != nil {
			return err
		}
		if same && have.sameOwnerAndMode(want) && have.mtime == want.mtime {
			want.ino, want.ctime, want.settled = have.ino, have.ctime, have.settled
			a.isLinked(in, want)
			return nil
		}
		if same && a.adjust(in, want, have) {
			a.report.Changed.Add(1)
			a.isLinked(in, want)
			return nil
		}
	}
	a.report.Written.Add(1)
	name := temporaryName()
	if a.fresh {
		name = want.name
	}
	made, err := a.linkAgain(in, name, want)
	if err == nil && !made {
		err = a.write(w, in, name, want)
	}
	if a.fresh {
		return err
	}
	return a.swapIn(in, name, want.name, err)
}

// adjust changes owner, mode and time of a file whose content is right. It refuses when the file is not the one
// that was looked at, or has names that the snapshot does not know.
func (a *apply) adjust(in int, want, have *node) bool {
	fd, err := at.OpenUntraced(in, want.name)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	var raw syscall.Stat_t
	if syscall.Fstat(fd, &raw) != nil || raw.Ino != have.ino || raw.Ctim != have.ctime || (raw.Nlink > 1 && !want.linked) {
		return false
	}
	if settle(fd, want) != nil || syscall.Fstat(fd, &raw) != nil {
		return false
	}
	want.ino, want.ctime, want.settled = raw.Ino, raw.Ctim, false
	return true
}

func (a *apply) write(w *worker, in int, name string, want *node) error {
	fd, err := at.Open(in, name, at.ForWriting, 0o600)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	err = a.fill(w, fd, want)
	if err == nil {
		err = settle(fd, want)
	}
	var raw syscall.Stat_t
	if err == nil {
		err = syscall.Fstat(fd, &raw)
	}
	if err != nil {
		_ = at.Remove(in, name, 0)
		return err
	}
	want.ino, want.ctime, want.settled = raw.Ino, raw.Ctim, false
	a.holdLinked(fd, want)
	return nil
}

func (a *apply) fill(w *worker, fd int, want *node) error {
	if want.size == 0 {
		return nil
	}
	buffer, _ := w.compareBuffers()
	return a.store.with(want.pack, func(packed int) error {
		if want.offset == 0 && want.size >= smallestHoles {
			return copyWhole(packed, fd, want.size, buffer)
		}
		for done := int64(0); done < want.size; {
			n, err := copyThrough(buffer, packed, want.offset+done, fd, done, want.size-done)
			if err != nil {
				return err
			}
			if n == 0 {
				return errCutOff
			}
			done += n
		}
		return nil
	})
}

// Files that had several names in the snapshot get them again: the first one that is right or written is held
// open, and the others become names of it. When there are very many such files, some become copies.

func (a *apply) isLinked(in int, want *node) {
	if !want.linked {
		return
	}
	fd, err := at.OpenUntraced(in, want.name)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var raw syscall.Stat_t
	if syscall.Fstat(fd, &raw) == nil && raw.Ino == want.ino {
		a.holdLinked(fd, want)
	}
}

func (a *apply) holdLinked(fd int, want *node) {
	if !want.linked {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if _, found := a.linked[want.group]; found || len(a.linked) >= mostLinked {
		return
	}
	if own, err := syscall.Dup(fd); err == nil {
		syscall.CloseOnExec(own)
		a.linked[want.group] = own
	}
}

func (a *apply) linkAgain(in int, name string, want *node) (bool, error) {
	if !want.linked {
		return false, nil
	}
	a.mutex.Lock()
	fd, found := a.linked[want.group]
	a.mutex.Unlock()
	if !found {
		return false, nil
	}
	if err := at.Link(fd, in, name); err != nil {
		return false, nil // too many names, or none left: a copy does
	}
	var raw syscall.Stat_t
	if err := syscall.Fstat(fd, &raw); err != nil {
		return false, err
	}
	want.ino, want.ctime, want.settled = raw.Ino, raw.Ctim, false
	return true, nil
}
