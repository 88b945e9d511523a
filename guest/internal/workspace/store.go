package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

const (
	kept = "kept"
	undo = "undo"
	// turn is a point before or after a turn of an agent.
	turn = "turn"

	lockWait     = 5 * time.Second
	lockStep     = 10 * time.Millisecond
	mostOpen     = 256
	packNameBase = 16
)

var kinds = []string{kept, undo, turn}

var errStopped = fault.New(fault.Cancelled, "it was cancelled")

// A store keeps the snapshots of one workspace in a folder that no sandbox sees:
//
//	lock          held by who works on it
//	index         the workspace as it was last seen, to know what changed since
//	kept, undo, turn  a manifest for each snapshot
//	packs         the content of their files
//
// A manifest is put in place by one rename, after its packs are written. Packs with numbers that no manifest
// reaches are what a killed host left, and go at the next opening.
type store struct {
	folder string
	lock   *os.File
	next   atomic.Uint64
	first  uint64 // the first pack of this opening
	number uint64 // the last one that was given as a name

	mutex sync.Mutex
	open  map[uint64]*os.File
	made  []uint64
	added atomic.Int64
	most  int64 // of added
	sync  bool  // what is written survives the loss of power
}

// openStore waits a moment for the current holder. Several readers may hold it at once.
func openStore(folder string, write bool) (*store, error) {
	s := &store{folder: folder, open: map[uint64]*os.File{}}
	for _, part := range []string{"", kept, undo, turn, "packs"} {
		if err := os.MkdirAll(filepath.Join(folder, part), 0o700); err != nil {
			return nil, err
		}
	}
	how := syscall.LOCK_SH
	if write {
		how = syscall.LOCK_EX
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s.lock = lock
	for until := time.Now().Add(lockWait); ; time.Sleep(lockStep) {
		err := syscall.Flock(int(lock.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if time.Now().After(until) {
			lock.Close()
			return nil, fault.New(fault.WorkspaceBusy, "the snapshots of this workspace are being worked on")
		}
	}
	if !write {
		return s, nil
	}
	if err := s.sweep(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *store) close() {
	for _, opened := range s.open {
		opened.Close()
	}
	s.lock.Close()
}

// sweep removes what a killed host left.
func (s *store) sweep() error {
	next := uint64(1)
	all, err := s.list()
	if err != nil {
		return err
	}
	for _, about := range all {
		next, s.number = max(next, about.NextPack), max(s.number, about.Sequence)
	}
	if about, err := readSummary(s.path("index")); err == nil {
		next, s.number = max(next, about.NextPack), max(s.number, about.Sequence)
	}
	s.first = next
	s.next.Store(next)
	_ = os.Remove(s.path("index.new"))
	for _, part := range kinds {
		_ = os.Remove(s.path(part, ".new"))
	}
	packs, err := s.packs()
	for _, id := range packs {
		if id >= next {
			err = errors.Join(err, os.Remove(s.packPath(id)))
		}
	}
	return err
}

func (s *store) path(parts ...string) string {
	return filepath.Join(append([]string{s.folder}, parts...)...)
}

func (s *store) packPath(id uint64) string {
	return s.path("packs", strconv.FormatUint(id, packNameBase))
}

func (s *store) packs() ([]uint64, error) {
	names, err := os.ReadDir(s.path("packs"))
	if err != nil {
		return nil, err
	}
	ids := make([]uint64, 0, len(names))
	for _, name := range names {
		if id, err := strconv.ParseUint(name.Name(), packNameBase, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// list returns the summaries of all snapshots. It leaves out unreadable ones, but does not remove them.
func (s *store) list() ([]summary, error) {
	var all []summary
	for _, part := range kinds {
		names, err := os.ReadDir(s.path(part))
		if part == turn && errors.Is(err, fs.ErrNotExist) {
			continue // an older program made this store
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if about, err := readSummary(s.path(part, name.Name())); err == nil && about.Name == name.Name() {
				all = append(all, about)
			}
		}
	}
	return all, nil
}

func (s *store) read(kind, name string) (summary, *node, error) {
	if err := checkName(name); err != nil || !slices.Contains(kinds, kind) {
		return summary{}, nil, fault.New(fault.InvalidInput, "%q is not a name for a snapshot", name)
	}
	about, tree, err := readManifest(s.path(kind, name))
	if errors.Is(err, fs.ErrNotExist) {
		return about, nil, fault.New(fault.SnapshotNotFound, "there is no snapshot %q", name)
	}
	if errors.Is(err, errDamaged) {
		return about, nil, fault.New(fault.SnapshotDamaged, "the snapshot %q cannot be read: %s", name, err)
	}
	return about, tree, err
}

// index is the workspace as it was last seen; nil when that is not known. A machine that went down may have
// lost what was written last, so after that the bytes of everything are compared once.
func (s *store) index() *node {
	about, tree, err := readManifest(s.path("index"))
	if err != nil {
		return nil
	}
	if about.Boot != thisBoot() {
		tree.each(func(n *node) { n.settled = false })
	}
	return tree
}

func thisBoot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}
