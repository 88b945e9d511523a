package workspace

import (
	"sync"
	"sync/atomic"
	"syscall"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

const (
	mostTries  = 5
	mostLinked = 512
)

// An apply makes a workspace like a tree. It goes by descriptors from folder to folder and puts each file in
// place by a rename inside of its folder, so even if entries are swapped during the call, it writes to and removes from the
// workspace only, and never through a file or link that is there.
type apply struct {
	crew
	store *store
	// fresh: the workspace is empty and nobody uses it, so files are made under their names at once.
	fresh  bool
	mutex  sync.Mutex
	linked map[uint64]int
	report applied
}

type applied struct {
	Written atomic.Int64
	Removed atomic.Int64
	Changed atomic.Int64 // owner, mode or time alone
	Left    atomic.Int64 // could not be had back: it was not in the snapshot
}

// run changes have, the workspace as it was just looked at, into want. In the end want says which files these
// are now, as an index does.
func (a *apply) run(hands []*worker, workspace int, want, have *node) error {
	a.linked = map[uint64]int{}
	want.each(func(n *node) { n.group = n.ino })
	defer func() {
		for _, fd := range a.linked {
			syscall.Close(fd)
		}
	}()
	again, err := at.Open(workspace, ".", at.AsFolder, 0)
	if err != nil {
		return err
	}
	top := newOpenFolder(again, nil)
	return a.work(hands, func(w *worker) error { return a.folder(w, top, want, have) })
}

func (a *apply) folder(w *worker, in *openFolder, want, have *node) error {
	if err := a.mayWrite(in.fd); err != nil {
		return err
	}
	in.finish = func() error { return a.settleFolder(in.fd, want) }
	// Removals come first, because they free space.
	err := pairs(have.children, want.children, func(h, n *node) error {
		if h == nil || (n != nil && (h.kind == n.kind || n.kind == closed)) {
			return nil
		}
		a.report.Removed.Add(1)
		h.kind = gone
		return about(h.name, a.removeAll(in.fd, h.name, w.names))
	})
	if err != nil {
		return err
	}
	err = pairs(have.children, want.children, func(h, n *node) error {
		if n == nil {
			return nil
		}
		if h == nil {
			h = &node{name: n.name}
		}
		return about(n.name, a.entry(w, in, n, h))
	})
	if err != nil {
		return err
	}
	return in.done()
}

func (a *apply) entry(w *worker, in *openFolder, want, have *node) error {
	switch want.kind {
	case file:
		return a.file(w, in.fd, want, have)
	case link:
		return a.link(in.fd, want, have)
	case folder:
		in.hold()
		a.add(func(w *worker) error {
			fd, err := a.folderAt(in.fd, want, have, w.names)
			if err != nil {
				return about(want.name, err)
			}
			inner := newOpenFolder(fd, in)
			if err := in.done(); err != nil {
				return err
			}
			return a.folder(w, inner, want, have)
		})
	default:
		if have.kind != want.kind {
			a.report.Left.Add(1)
		}
	}
	return nil
}

// folderAt opens a folder, and makes it first when it is not there.
func (a *apply) folderAt(in int, want, have *node, buffer []byte) (int, error) {
	for try := 0; ; try++ {
		if have.kind != folder {
			if err := at.Mkdir(in, want.name); err != nil && err != syscall.EEXIST {
				return 0, err
			}
			a.report.Written.Add(1)
		}
		fd, err := at.Open(in, want.name, at.AsFolder, 0)
		if err == syscall.EACCES && !root && at.ChmodFolder(in, want.name, 0o700) == nil {
			fd, err = at.Open(in, want.name, at.AsFolder, 0)
		}
		if err == nil || (err != syscall.ENOENT && err != syscall.ENOTDIR && err != syscall.ELOOP) {
			return fd, err
		}
		if try == mostTries {
			return 0, errChanging
		}
		if err := a.removeAll(in, want.name, buffer); err != nil {
			return 0, err
		}
		have.kind, have.children = gone, nil
	}
}

var errChanging = fault.New(fault.WorkspaceBusy, "a process keeps changing the workspace")

// mayWrite opens a folder of our own for changes; settleFolder closes it again.
func (a *apply) mayWrite(fd int) error {
	if root {
		return nil
	}
	var raw syscall.Stat_t
	if err := syscall.Fstat(fd, &raw); err != nil {
		return err
	}
	if raw.Mode&0o700 == 0o700 {
		return nil
	}
	return syscall.Fchmod(fd, uint32(raw.Mode)&0o7777|0o700)
}

func (a *apply) settleFolder(fd int, want *node) error {
	var raw syscall.Stat_t
	if err := syscall.Fstat(fd, &raw); err != nil {
		return err
	}
	now := node{}
	now.fill(&raw, uint64(raw.Dev))
	if now.sameOwnerAndMode(want) && now.mtime == want.mtime {
		return nil
	}
	return settle(fd, want)
}

// settle gives an open file or folder its owner, mode and time. Modes come after owners, which clear some.
func settle(fd int, want *node) error {
	if err := syscall.Fchown(fd, int(want.uid), int(want.gid)); err != nil && root {
		return err
	}
	if err := syscall.Fchmod(fd, want.mode); err != nil {
		return err
	}
	return at.TouchOpen(fd, want.mtime)
}

func (a *apply) link(in int, want, have *node) error {
	same := have.kind == link && have.target == want.target
	if same && have.uid == want.uid && have.gid == want.gid && have.mtime == want.mtime {
		return nil
	}
	staged := temporaryName()
	if err := at.Symlink(want.target, in, staged); err != nil {
		return err
	}
	err := at.Chown(in, staged, want.uid, want.gid)
	if !root {
		err = nil
	}
	if err == nil {
		err = at.Touch(in, staged, want.mtime)
	}
	a.report.Written.Add(1)
	return a.swapIn(in, staged, want.name, err)
}

// swapIn moves a staged entry to its place and replaces an existing one.
func (a *apply) swapIn(in int, staged, name string, err error) error {
	for try := 0; err == nil; try++ {
		if err = at.Rename(in, staged, in, name); err == nil {
			return nil
		}
		if err != syscall.EISDIR && err != syscall.ENOTEMPTY && err != syscall.EEXIST {
			break
		}
		if err = errChanging; try < mostTries {
			err = a.removeAll(in, name, make([]byte, readBufBytes))
		}
	}
	_ = at.Remove(in, staged, 0)
	return err
}
