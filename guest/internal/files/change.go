package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

// Mkdir makes a folder and the ones that lead to it. One that is there already is no error and keeps its mode.
func (t Target) Mkdir(mode *uint32) error {
	if found, err := t.place.Stat(t.name); err == nil {
		if found.IsDir() {
			return nil
		}
		return fault.New(fault.NotAFile, "%s is there and is not a folder", t.Path)
	}
	if err := t.place.MkdirAll(t.name, 0o755); err != nil {
		return err
	}
	if mode == nil {
		return nil
	}
	return t.place.Chmod(t.name, fileMode(*mode))
}

// Chmod changes the mode of a file or folder, of what a link points to.
func (t Target) Chmod(mode uint32) error {
	if mode > 0o7777 {
		return fault.New(fault.InvalidInput, "mode %o is more than 7777", mode)
	}
	return t.place.Chmod(t.name, fileMode(mode))
}

// Remove deletes a file, a link or a whole folder, and says whether there was one.
func (t Target) Remove() (bool, error) {
	if err := t.checkDispensable(); err != nil {
		return false, err
	}
	folder, name, err := t.split()
	if errors.Is(err, fs.ErrNotExist) || isErrno(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer folder.Close()
	if _, err := statAt(folder, name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	err = removeAll(folder, name)
	return err == nil, err
}

// checkDispensable refuses to take away the workdir, or a folder that holds it.
func (t Target) checkDispensable() error {
	workdir := t.files.workdir
	if t.Path == "/" || t.Path == workdir || strings.HasPrefix(workdir, t.Path+"/") {
		return fault.New(fault.InvalidPath, "%s is or holds the workdir %s and stays", t.Path, workdir)
	}
	return nil
}

// removeAll deletes an entry of a folder with everything below it, also below folders that were made
// read-only by their own user.
func removeAll(folder *os.File, name string) error {
	err := removeAt(folder, name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !isErrno(err, syscall.EISDIR) && !isErrno(err, syscall.EPERM) {
		return err
	}
	inner, opened := openFolderAt(folder, name)
	if isErrno(opened, syscall.EACCES) {
		if opened = loosen(folder, name); opened == nil {
			inner, opened = openFolderAt(folder, name)
		}
	}
	if opened != nil {
		if isErrno(opened, syscall.ENOTDIR) {
			return err
		}
		return opened
	}
	defer inner.Close()
	names, err := inner.Readdirnames(-1)
	if err != nil {
		return err
	}
	for i, entry := range names {
		err := removeAll(inner, entry)
		if i == 0 && isErrno(err, syscall.EACCES) && inner.Chmod(0o700) == nil {
			err = removeAll(inner, entry)
		}
		if err != nil {
			return err
		}
	}
	err = removeAt(folder, name, at.RemoveFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// loosen lets the owner into a folder that cannot be opened. The kernel has no way to change an entry's mode
// without following it; the check before makes that a folder of the same user at worst.
func loosen(folder *os.File, name string) error {
	raw, err := statAt(folder, name)
	if err != nil {
		return err
	}
	if !isFolder(raw) || int(raw.Uid) != os.Geteuid() {
		return &os.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	return syscall.Fchmodat(int(folder.Fd()), name, 0o700, 0)
}

// Move renames. Between file systems it copies and then removes.
func (t Target) Move(ctx context.Context, to Target, overwrite bool) error {
	if err := t.checkDispensable(); err != nil {
		return err
	}
	from, name, err := t.split()
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := statAt(from, name); err != nil {
		return err
	}
	if err := to.makeParents(); err != nil {
		return err
	}
	into, as, err := to.split()
	if err != nil {
		return err
	}
	defer into.Close()
	err = renameAt(from, name, into, as, overwrite)
	if !isErrno(err, syscall.EXDEV) {
		return err
	}
	if err := t.Copy(ctx, to, overwrite); err != nil {
		return err
	}
	return removeAll(from, name)
}
