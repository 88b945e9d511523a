package workspace

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"syscall"
)

const (
	blockBytes = 4096
	// An undo point goes with nearly every command. What it alone kept is looked for once in a while, or when
	// it was large.
	undoBetween = 16
	largeUndo   = 64 << 20
	punchHole   = 3 // and keep the size
)

type stretch struct{ offset, end int64 }

// collect frees the content that no snapshot needs any more: whole packs, and stretches of packs that others
// still need. The index is no reason to keep anything; it forgets first what is about to go.
func (s *store) collect() error {
	live := map[uint64][]stretch{}
	all, err := s.list()
	if err != nil {
		return err
	}
	for _, about := range all {
		_, tree, err := s.read(about.Kind, about.Name)
		if damaged(err) {
			continue // nothing can be had from it
		}
		if err != nil {
			return err
		}
		tree.each(func(n *node) {
			if n.pack != 0 {
				live[n.pack] = append(live[n.pack], stretch{n.offset, n.offset + n.size})
			}
		})
	}
	for id, stretches := range live {
		live[id] = merged(stretches)
	}
	s.forgetDead(live)
	packs, err := s.packs()
	for _, id := range packs {
		if needed, found := live[id]; found {
			err = errors.Join(err, s.punch(id, needed))
		} else {
			err = errors.Join(err, os.Remove(s.packPath(id)))
		}
	}
	return err
}

func merged(all []stretch) []stretch {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.offset, b.offset) })
	result := all[:0]
	for _, next := range all {
		if last := len(result) - 1; last >= 0 && next.offset <= result[last].end {
			result[last].end = max(result[last].end, next.end)
		} else {
			result = append(result, next)
		}
	}
	return result
}

func (s *store) forgetDead(live map[uint64][]stretch) {
	index := s.index()
	if index == nil {
		return
	}
	dead := false
	index.each(func(n *node) {
		if n.pack == 0 {
			return
		}
		needed := slices.ContainsFunc(near(live[n.pack], n.offset), func(one stretch) bool {
			return one.offset <= n.offset && n.offset+n.size <= one.end
		})
		if !needed {
			n.pack, n.offset, dead = 0, 0, true
		}
	})
	if dead {
		s.remember(index)
	}
}

// near are the stretches that may hold an offset: the last one that begins at or before it.
func near(sorted []stretch, offset int64) []stretch {
	i, found := slices.BinarySearchFunc(sorted, offset, func(one stretch, offset int64) int { return cmp.Compare(one.offset, offset) })
	if found {
		return sorted[i : i+1]
	}
	return sorted[max(i-1, 0):i]
}

// punch gives back the blocks between the stretches that are needed. A file system that cannot do that keeps
// them until the whole pack goes.
func (s *store) punch(id uint64, needed []stretch) error {
	opened, err := os.OpenFile(s.packPath(id), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer opened.Close()
	found, err := opened.Stat()
	if err != nil {
		return err
	}
	from := int64(0)
	for _, next := range append(needed, stretch{found.Size(), found.Size()}) {
		start, end := (from+blockBytes-1)/blockBytes*blockBytes, next.offset/blockBytes*blockBytes
		if end > start && syscall.Fallocate(int(opened.Fd()), punchHole, start, end-start) != nil {
			return nil
		}
		from = next.end
	}
	return nil
}

// retain removes snapshots that are more than the policy keeps, the oldest first: of the undo points, or of
// those that nobody gave a name.
func (s *store) retain(kind string, most int) error {
	all, err := s.list()
	if err != nil {
		return err
	}
	count := 0
	var nameless []summary
	for _, about := range all {
		if about.Kind != kind {
			continue
		}
		if count++; numbered(about.Name) {
			nameless = append(nameless, about)
		}
	}
	slices.SortFunc(nameless, func(a, b summary) int { return cmp.Compare(a.Sequence, b.Sequence) })
	due := kind == kept
	dropped := false
	for count > most && len(nameless) > 1 {
		oldest := nameless[0]
		if err := os.Remove(s.path(kind, oldest.Name)); err != nil {
			return err
		}
		due = due || oldest.leavesMuch()
		dropped, nameless, count = true, nameless[1:], count-1
	}
	if !dropped || !due {
		return nil
	}
	return s.collect()
}

func (about summary) leavesMuch() bool {
	return about.AddedBytes > largeUndo || about.Sequence%undoBetween == 0
}

func numbered(name string) bool {
	for _, letter := range name {
		if letter < '0' || letter > '9' {
			return false
		}
	}
	return name != ""
}
