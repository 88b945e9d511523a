package workspace

import (
	"bytes"
	"encoding/base64"
	"syscall"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

// restore makes the workspace like a snapshot.
func (j *job) restore() error {
	s, err := openStore(j.Store, true)
	if err != nil {
		return err
	}
	defer s.close()
	_, want, err := s.read(j.Kind, j.Name)
	if err == nil {
		err = s.check(want)
	}
	if err != nil {
		return err
	}
	workspace, err := openWorkspace(j.Workspace)
	if err != nil {
		return err
	}
	defer syscall.Close(workspace)
	hands := newWorkers()
	have, err := j.look(s, false).run(hands, workspace, s.index(), want)
	if err != nil {
		return err
	}
	apply := &apply{crew: crew{stop: j.stop}, store: s}
	if err := apply.run(hands, workspace, want, have); err != nil {
		return err
	}
	s.remember(want)
	return j.tellApplied(apply)
}

// fork makes a snapshot, or without a name the workspace as it is now, into an empty workspace of another.
func (j *job) fork() error {
	s, err := openStore(j.Store, j.Name == "")
	if err != nil {
		return err
	}
	defer s.close()
	hands := newWorkers()
	target, err := openWorkspace(j.Into)
	if err != nil {
		return err
	}
	defer syscall.Close(target)
	empty, err := j.look(s, false).run(hands, target, nil, nil)
	if err != nil {
		return err
	}
	if len(empty.children) > 0 {
		return fault.New(fault.FileExists, "the workspace to fork into is not empty")
	}
	want, err := j.original(s, hands)
	if j.Name == "" {
		defer s.forget(hands)
	}
	if err != nil {
		return err
	}
	j.changeOwners(want)
	apply := &apply{crew: crew{stop: j.stop}, store: s, fresh: true}
	if err := apply.run(hands, target, want, empty); err != nil {
		emptyFolder(target, hands[0].names)
		return err
	}
	return j.tellApplied(apply)
}

func (j *job) original(s *store, hands []*worker) (*node, error) {
	if j.Name != "" {
		_, tree, err := s.read(j.Kind, j.Name)
		if err == nil {
			err = s.check(tree)
		}
		return tree, err
	}
	tree, err := j.lookTwice(s, hands)
	if err == nil {
		err = s.finish(hands)
	}
	return tree, err
}

// changeOwners gives the files of one sandbox's user to the other's. A file that lends its owner's rights to who
// runs it does not do so in another user's sandbox.
func (j *job) changeOwners(tree *node) {
	change := func(n *node) {
		if j.From != nil && j.To != nil {
			if n.uid == j.From.UID {
				n.uid = j.To.UID
			}
			if n.gid == j.From.GID {
				n.gid = j.To.GID
			}
		}
		if n.kind == file {
			n.mode &^= syscall.S_ISUID | syscall.S_ISGID
		}
	}
	change(tree)
	tree.each(change)
}

func (j *job) tellApplied(a *apply) error {
	r := &a.report
	return j.emit(map[string]any{
		"written": r.Written.Load(), "removed": r.Removed.Load(), "changed": r.Changed.Load(), "left": r.Left.Load(),
	})
}

// diff compares two snapshots, or a snapshot and the workspace.
func (j *job) diff() error {
	s, err := openStore(j.Store, false)
	if err != nil {
		return err
	}
	defer s.close()
	_, before, err := s.read(j.Kind, j.Name)
	if err != nil {
		return err
	}
	hands := newWorkers()
	var after *node
	if j.Against != "" {
		_, after, err = s.read(j.AgainstKind, j.Against)
	} else {
		var workspace int
		if workspace, err = openWorkspace(j.Workspace); err == nil {
			defer syscall.Close(workspace)
			after, err = j.look(s, false).run(hands, workspace, s.index(), before)
		}
	}
	if err != nil {
		return err
	}
	diff := diff{store: s, w: hands[0], emit: func(c change) error {
		if j.stop.Load() {
			return errStopped
		}
		return j.emit(c)
	}}
	return diff.folder("", before.children, after.children)
}

// read gives one file of a snapshot, or of the workspace when no name is given, if it is not too large.
func (j *job) read() error {
	s, err := openStore(j.Store, false)
	if err != nil {
		return err
	}
	defer s.close()
	parts := bytes.Split(j.Path, []byte{'/'})
	for _, part := range parts {
		if text := string(part); text == "" || text == "." || text == ".." || bytes.IndexByte(part, 0) >= 0 {
			return fault.New(fault.InvalidPath, "%q is not a path of a workspace", j.Path)
		}
	}
	var content []byte
	if j.Name != "" {
		content, err = j.readKept(s, parts)
	} else {
		content, err = j.readNow(parts)
	}
	if err != nil {
		return err
	}
	return j.emit(map[string]any{"content": base64.StdEncoding.EncodeToString(content)})
}

func (j *job) readKept(s *store, parts [][]byte) ([]byte, error) {
	_, n, err := s.read(j.Kind, j.Name)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if n = n.child(string(part)); n == nil {
			return nil, fault.New(fault.FileNotFound, "%s is not in the snapshot %s", j.Path, j.Name)
		}
	}
	if !n.hasContent() {
		return nil, fault.New(fault.NotAFile, "%s is a %s in the snapshot %s", j.Path, kindNames[n.kind], j.Name)
	}
	if n.size > j.MostBytes {
		return nil, fault.New(fault.TooLarge, "%s is larger than %d bytes", j.Path, j.MostBytes)
	}
	content := make([]byte, n.size)
	if n.size > 0 {
		err = s.with(n.pack, func(fd int) error {
			got, err := readFull(fd, content, n.offset)
			if err == nil && got < len(content) {
				return errCutOff
			}
			return err
		})
	}
	return content, err
}

func (j *job) readNow(parts [][]byte) ([]byte, error) {
	fd, err := openWorkspace(j.Workspace)
	for i, part := range parts {
		if err != nil {
			return nil, err
		}
		flags := at.AsFolder
		if i == len(parts)-1 {
			flags = syscall.O_RDONLY
		}
		inner, opening := at.Open(fd, string(part), flags, 0)
		syscall.Close(fd)
		fd, err = inner, fault.At(string(j.Path), opening)
	}
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var raw syscall.Stat_t
	if err := syscall.Fstat(fd, &raw); err != nil {
		return nil, err
	}
	if raw.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, fault.New(fault.NotAFile, "%s is not a file", j.Path)
	}
	if raw.Size > j.MostBytes {
		return nil, fault.New(fault.TooLarge, "%s is larger than %d bytes", j.Path, j.MostBytes)
	}
	content := make([]byte, raw.Size)
	got, err := readFull(fd, content, 0)
	return content[:got], err
}
