package workspace

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

type kind uint8

const (
	gone kind = iota // went away while it was looked at
	file
	folder
	link
	other  // a socket, a pipe, a device, another file system: known, never copied
	closed // a file or folder that the host's user may not read
)

var kindNames = [...]string{gone: "gone", file: "file", folder: "directory", link: "symlink", other: "special", closed: "unreadable"}

// A node is one entry of a workspace, as it was looked at or as a snapshot keeps it.
type node struct {
	name     string
	kind     kind
	mode     uint32 // permission bits
	uid, gid uint32
	size     int64
	mtime    syscall.Timespec
	// ino and ctime say which file it was in the workspace, and in which state. No command in a sandbox can
	// set ctime, so equal ones mean an unchanged file, once it is settled.
	ino   uint64
	ctime syscall.Timespec
	// linked: it had more than one name.
	linked bool
	// group is the ino that it had in the snapshot, while a workspace is made like it.
	group uint64
	// settled: so long unchanged when it was looked at that every later change must move ctime.
	settled bool
	// Where a file's content is kept; pack 0: nowhere.
	pack     uint64
	offset   int64
	target   string
	children []node // sorted by name
}

// A clock tick hides a second change behind the same ctime, and so does memory that a process has mapped,
// until the kernel writes it out. It does so in half of this time.
const settleAfter = 60 * time.Second

func (n *node) fill(raw *syscall.Stat_t, dev uint64) {
	n.mode, n.uid, n.gid = uint32(raw.Mode)&0o7777, raw.Uid, raw.Gid
	n.mtime, n.ctime, n.ino = raw.Mtim, raw.Ctim, raw.Ino
	switch raw.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		n.kind, n.size, n.linked = file, raw.Size, raw.Nlink > 1
	case syscall.S_IFDIR:
		n.kind = folder
	case syscall.S_IFLNK:
		n.kind, n.size = link, raw.Size
	default:
		n.kind = other
	}
	if uint64(raw.Dev) != dev {
		n.kind = other
	}
}

func (n *node) settle(now time.Time) {
	n.settled = now.Sub(time.Unix(n.ctime.Sec, n.ctime.Nsec)) > settleAfter
}

func (n *node) hasContent() bool { return n.kind == file && (n.size == 0 || n.pack != 0) }

// unchanged reports whether a file still has its earlier state.
func (n *node) unchanged(before *node) bool {
	return before != nil && before.settled && before.hasContent() &&
		n.kind == file && n.ino == before.ino && n.ctime == before.ctime && n.size == before.size && n.mtime == before.mtime
}

func (n *node) keepAs(stored *node) { n.pack, n.offset = stored.pack, stored.offset }

func (n *node) samePlace(as *node) bool {
	return n.size == as.size && (n.size == 0 || (n.pack != 0 && n.pack == as.pack && n.offset == as.offset))
}

func (n *node) sameOwnerAndMode(as *node) bool {
	return n.mode == as.mode && n.uid == as.uid && n.gid == as.gid
}

// child finds an entry; nil if it does not exist, or if n is nil.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(n.children, name, func(c node, name string) int { return strings.Compare(c.name, name) })
	if !found {
		return nil
	}
	return &n.children[i]
}

// each visits everything below a node, folders before what is in them.
func (n *node) each(visit func(*node)) {
	for i := range n.children {
		visit(&n.children[i])
		n.children[i].each(visit)
	}
}

// about names the entry that an error is about; a name is any bytes, and stays in its line.
func about(name string, err error) error { return fault.At(strconv.Quote(name), err) }

// pairs goes through two sorted folders side by side; what one of them lacks is nil.
func pairs(a, b []node, visit func(a, b *node) error) error {
	for len(a) > 0 || len(b) > 0 {
		var left, right *node
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = strings.Compare(a[0].name, b[0].name)
		}
		if order <= 0 {
			left, a = &a[0], a[1:]
		}
		if order >= 0 {
			right, b = &b[0], b[1:]
		}
		if err := visit(left, right); err != nil {
			return err
		}
	}
	return nil
}
