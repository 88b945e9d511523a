package files

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// A Stat is what a caller learns about a path. Texts that are not UTF-8 have their bytes beside them.
type Stat struct {
	Path         string  `json:"path"`
	PathBase64   string  `json:"pathBase64,omitempty"`
	Name         string  `json:"name"`
	NameBase64   string  `json:"nameBase64,omitempty"`
	Type         string  `json:"type"`
	Size         int64   `json:"size"`
	Mode         uint32  `json:"mode"`
	MtimeMs      int64   `json:"mtimeMs"`
	UID          uint32  `json:"uid"`
	GID          uint32  `json:"gid"`
	Target       *string `json:"target"`
	TargetBase64 string  `json:"targetBase64,omitempty"`
}

// Stat returns the facts of a path; with follow, those of the target of a link.
func (t Target) Stat(follow bool) (Stat, error) {
	look := t.place.Lstat
	if follow {
		look = t.place.Stat
	}
	found, err := look(t.name)
	if err != nil {
		return Stat{}, err
	}
	raw := rawStat(found)
	link := ""
	if isLink(raw) {
		if link, err = t.place.Readlink(t.name); err != nil {
			return Stat{}, err
		}
	}
	return newStat(t.Path, raw, link), nil
}

// Exists reports whether the path exists; a dangling link exists.
func (t Target) Exists() (bool, error) {
	_, err := t.place.Lstat(t.name)
	if errors.Is(err, fs.ErrNotExist) || isErrno(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

func newStat(path string, raw *syscall.Stat_t, link string) Stat {
	stat := Stat{
		Type:    typeOf(raw),
		Size:    raw.Size,
		Mode:    uint32(raw.Mode) & 0o7777,
		MtimeMs: raw.Mtim.Sec*1000 + raw.Mtim.Nsec/1e6,
		UID:     raw.Uid,
		GID:     raw.Gid,
	}
	stat.Path, stat.PathBase64 = readable(path)
	stat.Name, stat.NameBase64 = readable(filepath.Base(path))
	if isLink(raw) {
		var text string
		text, stat.TargetBase64 = readable(link)
		stat.Target = &text
	}
	return stat
}

// readable gives a text for people, and its bytes in base64 when the text is not all of them.
func readable(name string) (text, encoded string) {
	if utf8.ValidString(name) {
		return name, ""
	}
	return strings.ToValidUTF8(name, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(name))
}

func typeOf(raw *syscall.Stat_t) string {
	switch raw.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return "file"
	case syscall.S_IFDIR:
		return "directory"
	case syscall.S_IFLNK:
		return "symlink"
	case syscall.S_IFSOCK:
		return "socket"
	case syscall.S_IFIFO:
		return "pipe"
	}
	return "device"
}

func isFile(raw *syscall.Stat_t) bool   { return raw.Mode&syscall.S_IFMT == syscall.S_IFREG }
func isFolder(raw *syscall.Stat_t) bool { return raw.Mode&syscall.S_IFMT == syscall.S_IFDIR }
func isLink(raw *syscall.Stat_t) bool   { return raw.Mode&syscall.S_IFMT == syscall.S_IFLNK }

func rawStat(found fs.FileInfo) *syscall.Stat_t { return found.Sys().(*syscall.Stat_t) }

func statFile(file *os.File) (*syscall.Stat_t, error) {
	found, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return rawStat(found), nil
}

func isErrno(err error, errno syscall.Errno) bool { return errors.Is(err, errno) }
