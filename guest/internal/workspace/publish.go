package workspace

import (
	"errors"
	"os"
)

// publish puts a manifest in its place. The index becomes another name of the same file.
func (s *store) publish(about summary, tree *node, sync bool) error {
	about.NextPack, about.Sequence, about.Boot = s.next.Load(), s.number, thisBoot()
	staged := s.path(about.Kind, ".new")
	if err := writeNew(staged, encodeManifest(about, tree), sync); err != nil {
		return err
	}
	newIndex := s.path("index.new")
	_ = os.Remove(newIndex)
	if err := os.Link(staged, newIndex); err != nil {
		return err
	}
	final := s.path(about.Kind, about.Name)
	if err := os.Rename(staged, final); err != nil {
		return err
	}
	// The old index stays correct: it maps the state of a file to its content.
	_ = os.Rename(newIndex, s.path("index"))
	if !sync {
		return nil
	}
	err := errors.Join(syncFolder(s.path("packs")), syncFolder(s.path(about.Kind)))
	if err != nil {
		_ = os.Remove(final)
		_ = os.Remove(s.path("index"))
	}
	return err
}

// publishAlso keeps a published snapshot as another kind too. A failure takes the first one back.
func (s *store) publishAlso(about summary, kind string, tree *node, sync bool) error {
	also := about
	also.Kind, also.AddedBytes = kind, 0
	err := s.publish(also, tree, sync)
	if err != nil {
		_ = os.Remove(s.path(about.Kind, about.Name))
		_ = os.Remove(s.path("index"))
	}
	return err
}

// remember replaces the index alone. Without one the next look compares more, and that is all: a full disk is
// no reason to fail.
func (s *store) remember(tree *node) {
	about := summary{NextPack: s.next.Load(), Sequence: s.number, Boot: thisBoot()}
	staged := s.path("index.new")
	if writeNew(staged, encodeManifest(about, tree), false) != nil || os.Rename(staged, s.path("index")) != nil {
		_ = os.Remove(s.path("index"))
	}
}

func writeNew(path string, text []byte, sync bool) error {
	// Never write into an existing file: it may be a hard link of a snapshot.
	_ = os.Remove(path)
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = made.Write(text)
	if err == nil && sync {
		err = made.Sync()
	}
	err = errors.Join(err, made.Close())
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

func syncFolder(path string) error {
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
