package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"geode/guest/internal/fault"
)

const (
	newFileMode = 0o644
	mostLinks   = 40
)

// WriteOptions say how a file is replaced.
type WriteOptions struct {
	Mode      *uint32 // nil: that of the file that was there, or the default
	Exclusive bool    // nothing may be there
}

// Write replaces a file in one step: a reader sees the old one or the new one, and an upload that breaks
// off leaves no trace. A link at the end of the path is followed, so the file that it points to is replaced.
func (t Target) Write(body io.Reader, options WriteOptions) (Stat, error) {
	if options.Exclusive {
		if exists, err := t.Exists(); err != nil || exists {
			return Stat{}, existsOr(err, t.Path)
		}
	}
	end, err := t.followed()
	if err != nil {
		return Stat{}, err
	}
	if err := end.makeParents(); err != nil {
		return Stat{}, err
	}
	folder, name, err := end.split()
	if err != nil {
		return Stat{}, err
	}
	defer folder.Close()
	before, err := statAt(folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		before = nil
	} else if err != nil {
		return Stat{}, err
	} else if !isFile(before) {
		return Stat{}, fault.New(fault.NotAFile, "%s is a %s, not a file", end.Path, typeOf(before))
	}
	raw, err := replace(folder, name, before, body, options)
	if err != nil {
		return Stat{}, err
	}
	return newStat(end.Path, raw, ""), nil
}

// replace writes a temporary file beside the name and puts it in its place.
func replace(folder *os.File, name string, before *syscall.Stat_t, body io.Reader, options WriteOptions) (*syscall.Stat_t, error) {
	temporary := temporaryName()
	file, err := openAt(folder, temporary, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := fill(file, before, body, options.Mode)
	if err == nil {
		err = renameAt(folder, temporary, folder, name, !options.Exclusive)
	}
	if err != nil {
		_ = removeAt(folder, temporary, 0)
		return nil, err
	}
	return raw, nil
}

func fill(file *os.File, before *syscall.Stat_t, body io.Reader, asked *uint32) (*syscall.Stat_t, error) {
	if _, err := Copy(file, body); err != nil {
		return nil, err
	}
	made, err := statFile(file)
	if err != nil {
		return nil, err
	}
	mode := uint32(newFileMode)
	if before != nil {
		mode = uint32(before.Mode) & 0o7777
		if before.Uid != made.Uid || before.Gid != made.Gid {
			if err := file.Chown(int(before.Uid), int(before.Gid)); err != nil {
				return nil, fault.New(fault.FileRefused, "the file belongs to %d:%d, and the guest may not make one that does", before.Uid, before.Gid)
			}
		}
	}
	if asked != nil {
		mode = *asked
	}
	if err := file.Chmod(fileMode(mode)); err != nil {
		return nil, err
	}
	return statFile(file)
}

// Append adds to the end of a file, and creates a missing file.
func (t Target) Append(body io.Reader) (Stat, error) {
	flags := syscall.O_WRONLY | syscall.O_APPEND | syscall.O_CREAT | syscall.O_NONBLOCK | syscall.O_NOCTTY
	file, err := t.place.OpenFile(t.name, flags, newFileMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := t.makeParents(); err != nil {
			return Stat{}, err
		}
		file, err = t.place.OpenFile(t.name, flags, newFileMode)
	}
	if err != nil {
		return Stat{}, err
	}
	defer file.Close()
	if _, err := t.checkFile(file); err != nil {
		return Stat{}, err
	}
	if _, err := Copy(file, body); err != nil {
		return Stat{}, err
	}
	raw, err := statFile(file)
	if err != nil {
		return Stat{}, err
	}
	return newStat(t.Path, raw, ""), nil
}

// followed goes along links at the end of a path, each of which has to stay in the scope.
func (t Target) followed() (Target, error) {
	for range mostLinks {
		link, err := t.place.Readlink(t.name)
		if errors.Is(err, fs.ErrNotExist) || isErrno(err, syscall.EINVAL) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		if !strings.HasPrefix(link, "/") {
			// Not cleaned: ".." behind a link is for the kernel to resolve.
			link = t.folderPath() + "/" + link
		}
		if t, err = t.sibling(link); err != nil {
			return t, err
		}
	}
	return t, fault.New(fault.InvalidPath, "%s: too many links", t.Path)
}

// folderPath is the path of the folder that a target is in, as it was given.
func (t Target) folderPath() string {
	name := strings.TrimRight(t.name, "/")
	if t.strict {
		name = t.files.workdir + "/" + name
	}
	return name[:max(strings.LastIndexByte(name, '/'), 0)]
}

func existsOr(err error, path string) error {
	if err != nil {
		return err
	}
	return fault.New(fault.FileExists, "%s exists", path)
}

// temporaryName is that of something that is not finished. Nobody can guess it and wait for it.
func temporaryName() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return ".geode-" + hex.EncodeToString(random)
}
