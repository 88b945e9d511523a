package files

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"

	"geode/guest/internal/fault"
)

// Copy makes a copy of a file, a link or a whole folder. It comes into its place in one step, complete.
// Sockets, pipes and devices are left out of a folder's copy.
func (t Target) Copy(ctx context.Context, to Target, overwrite bool) error {
	if to.Path == t.Path || strings.HasPrefix(to.Path, t.Path+"/") {
		return fault.New(fault.InvalidInput, "%s cannot be copied into itself", t.Path)
	}
	from, name, err := t.split()
	if err != nil {
		return err
	}
	defer from.Close()
	raw, err := statAt(from, name)
	if err != nil {
		return err
	}
	if exists, err := to.Exists(); err != nil || (exists && !overwrite) {
		return existsOr(err, to.Path)
	}
	if err := to.makeParents(); err != nil {
		return err
	}
	into, as, err := to.split()
	if err != nil {
		return err
	}
	defer into.Close()

	staged := temporaryName()
	copying := copying{ctx: ctx, target: t, staged: staged}
	err = copying.entry(entry{from, name, name, raw}, into, staged)
	if err == nil {
		err = swapIn(into, staged, as, overwrite)
	}
	if err != nil {
		_ = removeAll(into, staged)
	}
	return err
}

// swapIn puts something staged in its place. A folder that is there cannot be replaced by a rename, so it
// steps aside first.
func swapIn(folder *os.File, staged, name string, overwrite bool) error {
	err := renameAt(folder, staged, folder, name, overwrite)
	if err == nil || !overwrite {
		return err
	}
	old := temporaryName()
	if aside := renameAt(folder, name, folder, old, false); aside != nil {
		return err
	}
	if err := renameAt(folder, staged, folder, name, false); err != nil {
		_ = renameAt(folder, old, folder, name, false)
		return err
	}
	return removeAll(folder, old)
}

type copying struct {
	ctx    context.Context
	target Target
	staged string
}

func (c *copying) entry(e entry, into *os.File, as string) error {
	switch {
	case isFile(e.raw):
		return c.file(e, into, as)
	case isLink(e.raw):
		return symlinkAt(e.link(), into, as)
	case isFolder(e.raw):
		return c.folder(e, into, as)
	}
	return fault.New(fault.NotAFile, "%s is a %s and cannot be copied", c.target.Path, typeOf(e.raw))
}

func (c *copying) file(e entry, into *os.File, as string) error {
	source, err := openAt(e.folder, e.name, syscall.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	raw, err := c.target.checkFile(source)
	if err != nil {
		return err
	}
	made, err := openAt(into, as, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer made.Close()
	if _, err := io.Copy(made, source); err != nil {
		return err
	}
	return made.Chmod(fileMode(uint32(raw.Mode)))
}

func (c *copying) folder(e entry, into *os.File, as string) error {
	source, err := openFolderAt(e.folder, e.name)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := mkdirAt(into, as); err != nil {
		return err
	}
	made, err := openFolderAt(into, as)
	if err != nil {
		return err
	}
	defer made.Close()
	walk := walk{ctx: c.ctx, depth: 1, visit: func(inner entry) (bool, error) {
		if inner.name == c.staged || !(isFile(inner.raw) || isLink(inner.raw) || isFolder(inner.raw)) {
			return false, nil
		}
		return false, c.entry(inner, made, inner.name)
	}}
	if err := walk.run(source); err != nil {
		return err
	}
	return made.Chmod(fileMode(uint32(e.raw.Mode)))
}
