package workspace

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

const (
	mostEntries = 1_000_000
	mostDepth   = 4_000

	readBufBytes = 32 << 10
)

var errTooMany = fault.New(fault.TooLarge, "the workspace has more than %d entries", mostEntries)

// root may read and enter everything, and give files to others.
var root = os.Geteuid() == 0

// A look walks through a workspace while its processes may change it at any moment.
type look struct {
	crew
	store *store
	dev   uint64
	// keep: content that is not in the store yet is copied there.
	keep    bool
	entries atomic.Int64
	mutex   sync.Mutex
	linked  map[uint64]node
}

// run builds the tree of an open workspace. index is how it was seen before; against, if not nil, is a
// snapshot that it is compared with: a file with the same bytes gets the same place in the store.
func (l *look) run(hands []*worker, workspace int, index, against *node) (*node, error) {
	var raw syscall.Stat_t
	if err := syscall.Fstat(workspace, &raw); err != nil {
		return nil, err
	}
	l.dev, l.linked = uint64(raw.Dev), map[uint64]node{}
	again, err := syscall.Openat(workspace, ".", at.AsFolder|at.NeverFollow, 0)
	if err != nil {
		return nil, err
	}
	tree := &node{}
	tree.fill(&raw, l.dev)
	top := newOpenFolder(again, nil)
	err = l.work(hands, func(w *worker) error { return l.folder(w, top, tree, index, against) })
	if err != nil {
		return nil, err
	}
	return tree, nil
}

// folder reads one open folder; the next free worker takes the folders in it.
func (l *look) folder(w *worker, in *openFolder, n, index, against *node) error {
	names, err := namesIn(in.fd, w.names)
	if err != nil && err != syscall.ENOENT {
		return err
	}
	if l.entries.Add(int64(len(names))) > mostEntries {
		return errTooMany
	}
	slices.Sort(names)
	names = slices.Compact(names)
	n.children = make([]node, len(names))
	known, wanted := childrenOf(index), childrenOf(against)
	now := time.Now()
	for i, name := range names {
		child := &n.children[i]
		child.name = name
		if err := at.Stat(in.fd, name, &w.raw); err != nil {
			if err == syscall.EACCES {
				child.kind = closed
			}
			continue
		}
		child.fill(&w.raw, l.dev)
		if err := l.entry(w, in.fd, child, known.next(name), wanted.next(name), now); err != nil {
			return about(name, err)
		}
	}
	n.children = slices.DeleteFunc(n.children, func(c node) bool { return c.kind == gone })
	for i := range n.children {
		child := &n.children[i]
		if child.kind == folder {
			in.hold()
			l.add(func(w *worker) error {
				return l.enter(w, in, child, index.child(child.name), against.child(child.name))
			})
		}
	}
	return in.done()
}

func (l *look) enter(w *worker, in *openFolder, n, index, against *node) error {
	fd, err := at.Open(in.fd, n.name, at.AsFolder, 0)
	switch err {
	case nil:
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
		return err
	case syscall.EACCES, syscall.EPERM:
		n.kind = closed
		return in.done()
	default: // something else is there now; the next look sees what
		return in.done()
	}
	if in.depth >= mostDepth {
		syscall.Close(fd)
		return fault.New(fault.TooLarge, "the workspace has folders more than %d levels deep", mostDepth)
	}
	inner := newOpenFolder(fd, in)
	if err := in.done(); err != nil {
		return err
	}
	var raw syscall.Stat_t
	if err := syscall.Fstat(fd, &raw); err != nil {
		return err
	}
	if n.fill(&raw, l.dev); n.kind != folder {
		return inner.done()
	}
	return l.folder(w, inner, n, index, against)
}

func (l *look) entry(w *worker, in int, n, index, against *node, now time.Time) error {
	switch n.kind {
	case link:
		var err error
		if n.target, err = at.Readlink(in, n.name); err != nil {
			n.kind = gone
		}
	case file:
		return l.file(w, in, n, index, against, now)
	}
	return nil
}

func (l *look) file(w *worker, in int, n, index, against *node, now time.Time) error {
	if n.unchanged(index) {
		n.keepAs(index)
		n.settled = true
		return nil
	}
	if n.size == 0 && l.keep || !l.keep && !n.maybe(index) && !n.maybe(against) {
		n.settle(now)
		return nil
	}
	if l.keep && n.linked && l.otherName(n) {
		return nil
	}
	fd, err := at.OpenUntraced(in, n.name)
	switch err {
	case nil:
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO:
		return err
	case syscall.ENOENT, syscall.ELOOP:
		n.kind = gone
		return nil
	default: // not ours to read, or leased by a process
		n.kind = closed
		return nil
	}
	defer syscall.Close(fd)
	// The state before the first byte counts: a later change shows in ctime, or the file
	// is not settled and its bytes are compared the next time.
	now = time.Now()
	var raw syscall.Stat_t
	if err := syscall.Fstat(fd, &raw); err != nil {
		return err
	}
	if n.fill(&raw, l.dev); n.kind != file {
		n.kind = other
		return nil
	}
	n.settle(now)
	return l.content(w, n, fd, &raw, index, against)
}

// maybe reports whether a node could have the content of a stored one.
func (n *node) maybe(stored *node) bool {
	return stored != nil && stored.hasContent() && stored.size == n.size
}

func (l *look) content(w *worker, n *node, fd int, raw *syscall.Stat_t, index, against *node) error {
	for _, stored := range [...]*node{index, against} {
		if !n.maybe(stored) {
			continue
		}
		same, err := l.store.isContent(w, fd, stored)
		if damaged(err) && stored == index {
			continue // the index promises nothing
		}
		if err != nil {
			return err
		}
		if same {
			n.keepAs(stored)
			return nil
		}
	}
	if !l.keep || n.size == 0 {
		return nil
	}
	if err := l.store.keep(w, n, fd, raw); err != nil {
		return err
	}
	if n.linked {
		l.mutex.Lock()
		l.linked[n.ino] = *n
		l.mutex.Unlock()
	}
	return nil
}

// otherName spares the content of a file that was copied a moment ago under another name.
func (l *look) otherName(n *node) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	same, found := l.linked[n.ino]
	if !found || same.ctime != n.ctime || same.size != n.size {
		return false
	}
	n.keepAs(&same)
	n.settled = same.settled
	return true
}

// inOrder finds the children of a node when they are asked for in order.
type inOrder struct {
	left []node
}

func childrenOf(n *node) inOrder {
	if n == nil {
		return inOrder{}
	}
	return inOrder{n.children}
}

func (o *inOrder) next(name string) *node {
	for len(o.left) > 0 && o.left[0].name < name {
		o.left = o.left[1:]
	}
	if len(o.left) == 0 || o.left[0].name != name {
		return nil
	}
	return &o.left[0]
}

// namesIn lists a folder.
func namesIn(fd int, buffer []byte) ([]string, error) {
	var names []string
	for {
		n, err := syscall.ReadDirent(fd, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		if len(names) > mostEntries {
			return nil, errTooMany
		}
		_, _, names = syscall.ParseDirent(buffer[:n], -1, names)
	}
}
