package workspace

import (
	"errors"
	"os"
	"syscall"

	"geode/guest/internal/fault"
)

// keep copies the content of an open file into the store and notes on the node where it is.
func (s *store) keep(w *worker, n *node, fd int, raw *syscall.Stat_t) error {
	if added := s.added.Add(min(n.size, raw.Blocks*512)); s.most > 0 && added > s.most {
		return fault.New(fault.DiskFull, "the changed files are larger than the %d bytes that a snapshot may add", s.most)
	}
	holes := n.size >= smallestHoles && raw.Blocks*512 < n.size
	if n.size >= ownPackBytes || holes {
		return s.keepAlone(w, n, fd)
	}
	if w.pack == nil {
		var err error
		if w.pack, err = s.newPack(); err != nil {
			return err
		}
		w.pack.buffer = make([]byte, 0, packBytes)
	}
	n.pack, n.offset = w.pack.id, w.pack.size
	copied, err := w.pack.append(fd, n.size)
	n.size = copied
	return err
}

func (s *store) keepAlone(w *worker, n *node, fd int) error {
	made, err := s.newPack()
	if err != nil {
		return err
	}
	n.pack, n.offset = made.id, 0
	buffer, _ := w.compareBuffers()
	err = copyWhole(fd, int(made.file.Fd()), n.size, buffer)
	return errors.Join(err, made.close(s.sync))
}

func (s *store) newPack() (*pack, error) {
	id := s.next.Add(1) - 1
	made, err := os.OpenFile(s.packPath(id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &pack{id: id, file: made}, nil
}

// finish writes out the packs of the workers.
func (s *store) finish(hands []*worker) error {
	var err error
	for _, w := range hands {
		if w.pack != nil {
			err = errors.Join(err, w.pack.close(s.sync))
			w.pack = nil
		}
	}
	return err
}

// forget removes every pack that this opening made.
func (s *store) forget(hands []*worker) {
	_ = s.finish(hands)
	for id := s.first; id < s.next.Load(); id++ {
		_ = os.Remove(s.packPath(id))
	}
	s.next.Store(s.first)
}

// with hands out the descriptor of a pack. Few packs are used often, so those stay open.
func (s *store) with(id uint64, use func(fd int) error) error {
	s.mutex.Lock()
	opened := s.open[id]
	if opened == nil {
		var err error
		if opened, err = os.Open(s.packPath(id)); err != nil {
			s.mutex.Unlock()
			return fault.New(fault.SnapshotDamaged, "the content of a snapshot is missing: %s", err)
		}
		if len(s.open) < mostOpen {
			s.open[id] = opened
		} else {
			defer opened.Close()
		}
	}
	s.mutex.Unlock()
	return use(int(opened.Fd()))
}

// isContent reports whether an open file has the bytes that are stored for a node.
func (s *store) isContent(w *worker, fd int, of *node) (same bool, err error) {
	if of.size == 0 {
		return true, nil
	}
	left, right := w.compareBuffers()
	err = s.with(of.pack, func(packed int) error {
		same, err = sameBytes(fd, 0, packed, of.offset, of.size, left, right)
		return err
	})
	return same, err
}

// sameContent compares what is kept for two nodes. A node with no content kept is like no other.
func (s *store) sameContent(w *worker, a, b *node) (same bool, err error) {
	if a.samePlace(b) || a.size != b.size || a.pack == 0 || b.pack == 0 {
		return a.samePlace(b), nil
	}
	left, right := w.compareBuffers()
	err = s.with(a.pack, func(first int) error {
		return s.with(b.pack, func(second int) error {
			same, err = sameBytes(first, a.offset, second, b.offset, a.size, left, right)
			return err
		})
	})
	return same, err
}

// check verifies that all content of a snapshot exists, before anything is changed.
func (s *store) check(tree *node) error {
	ends := map[uint64]int64{}
	tree.each(func(n *node) {
		if n.pack != 0 {
			ends[n.pack] = max(ends[n.pack], n.offset+n.size)
		}
	})
	for id, end := range ends {
		var raw syscall.Stat_t
		if err := syscall.Lstat(s.packPath(id), &raw); err != nil || raw.Size < end {
			return errCutOff
		}
	}
	return nil
}

func damaged(err error) bool {
	var known *fault.Fault
	return errors.As(err, &known) && known.Code == fault.SnapshotDamaged
}
