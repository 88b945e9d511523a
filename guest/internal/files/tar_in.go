package files

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

const (
	mostInArchive = 1_000_000
	tarEnd        = 1024 // two blocks of zeros
)

// Unpack puts an archive below a folder, which is made if it is missing. Everything is unpacked into a
// staging folder first and checked there; only a whole and harmless archive is then moved into place.
func (t Target) Unpack(ctx context.Context, body io.Reader) (int, error) {
	existed, err := t.Exists()
	if err != nil {
		return 0, err
	}
	if err := t.place.MkdirAll(t.name, 0o755); err != nil {
		return 0, err
	}
	folder, err := openFolder(t.place, t.name)
	if err != nil {
		return 0, err
	}
	defer folder.Close()
	count, err := unpackInto(ctx, folder, body)
	if err != nil && !existed {
		t.removeEmpty()
	}
	return count, err
}

// removeEmpty takes back a folder that was made for an archive that was then refused.
func (t Target) removeEmpty() {
	if folder, name, err := t.split(); err == nil {
		_ = removeAt(folder, name, at.RemoveFolder)
		folder.Close()
	}
}

func unpackInto(ctx context.Context, folder *os.File, body io.Reader) (int, error) {
	staged := temporaryName()
	if err := mkdirAt(folder, staged); err != nil {
		return 0, err
	}
	defer func() { _ = removeAll(folder, staged) }()
	stage, err := openFolderAt(folder, staged)
	if err != nil {
		return 0, err
	}
	defer stage.Close()
	// The path below /proc opens the held folder itself, also after its name was reused.
	root, err := os.OpenRoot(procPath(stage))
	if err != nil {
		return 0, err
	}
	defer root.Close()

	unpacking := &unpacking{root: root, folders: map[string]*tar.Header{}, links: map[string]bool{}}
	if err := unpacking.all(body); err != nil {
		return 0, err
	}
	merging := &merging{ctx: ctx, unpacking: unpacking}
	if err := merging.folder(stage, folder, "", true); err != nil {
		return 0, err
	}
	return unpacking.count, merging.folder(stage, folder, "", false)
}

type unpacking struct {
	root    *os.Root
	count   int
	folders map[string]*tar.Header // by name; their modes and times are set last
	links   map[string]bool
}

func (u *unpacking) all(body io.Reader) error {
	counted := &countingReader{source: body}
	archive := tar.NewReader(counted)
	for {
		began := counted.count
		header, err := archive.Next()
		if err == io.EOF {
			if counted.count-began < tarEnd {
				return refused("the archive breaks off")
			}
			break
		}
		if err != nil {
			return u.readError(counted, err)
		}
		if u.count++; u.count > mostInArchive {
			return refused("the archive has more than %d entries", mostInArchive)
		}
		if err := u.entry(header, archive); err != nil {
			return u.readError(counted, err)
		}
	}
	if _, err := Copy(io.Discard, body); err != nil {
		return err
	}
	return u.checkLinks()
}

// readError distinguishes a broken archive, a broken upload and a full disk.
func (u *unpacking) readError(counted *countingReader, err error) error {
	var known *fault.Fault
	var errno syscall.Errno
	switch {
	case counted.failed != nil:
		return counted.failed
	case errors.As(err, &known) || errors.As(err, &errno):
		return err
	}
	return refused("the archive cannot be read: %s", err)
}

func (u *unpacking) entry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := u.safeName(header.Name)
	if err != nil {
		return err
	}
	if name == "." {
		if header.Typeflag != tar.TypeDir {
			return refused("an entry names the folder itself and is not a folder")
		}
		return nil
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return u.conflict(name, err)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		u.folders[name] = header
		return u.conflict(name, u.root.MkdirAll(name, 0o755))
	case tar.TypeReg:
		if isSparse(header) {
			return refused("%q is sparse: a small archive of it could fill the disk", header.Name)
		}
		return u.file(name, header, content)
	case tar.TypeSymlink:
		return u.link(name, header)
	}
	return refused("%q is a hard link, a device, sparse or of an unknown kind", header.Name)
}

func isSparse(header *tar.Header) bool {
	for name := range header.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// safeName refuses names that are absolute, that climb, or that lead through a link of the archive.
func (u *unpacking) safeName(name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) || len(name) > longestPath {
		return "", refused("%q is not a relative path", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", refused("%q has a .. in it", name)
		}
	}
	clean := path.Clean(name)
	for folder := path.Dir(clean); folder != "."; folder = path.Dir(folder) {
		if u.links[folder] {
			return "", refused("%q leads through a link", name)
		}
	}
	return clean, nil
}

func (u *unpacking) file(name string, header *tar.Header, content io.Reader) error {
	if err := u.makeRoom(name); err != nil {
		return err
	}
	file, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return u.conflict(name, err)
	}
	defer file.Close()
	if _, err := Copy(file, content); err != nil {
		return err
	}
	if err := file.Chmod(fileMode(uint32(header.Mode) & 0o777)); err != nil {
		return err
	}
	return u.root.Chtimes(name, header.ModTime, header.ModTime)
}

func (u *unpacking) link(name string, header *tar.Header) error {
	if strings.HasPrefix(header.Linkname, "/") || header.Linkname == "" {
		return refused("the link %q points to %q, outside the archive", header.Name, header.Linkname)
	}
	end := path.Join(path.Dir(name), header.Linkname)
	if end == ".." || strings.HasPrefix(end, "../") {
		return refused("the link %q points to %q, outside the archive", header.Name, header.Linkname)
	}
	if err := u.makeRoom(name); err != nil {
		return err
	}
	u.links[name] = true
	return u.conflict(name, u.root.Symlink(header.Linkname, name))
}

// makeRoom lets a later entry of the same name win, as in any tar.
func (u *unpacking) makeRoom(name string) error {
	found, err := u.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return u.conflict(name, err)
	}
	if found.IsDir() {
		return refused("%q is a folder and something else", name)
	}
	delete(u.links, name)
	return u.root.Remove(name)
}

// conflict makes a refusal of errors that come from what the archive itself put there.
func (u *unpacking) conflict(name string, err error) error {
	if isErrno(err, syscall.ENOTDIR) || isErrno(err, syscall.EEXIST) || isErrno(err, syscall.ELOOP) {
		return refused("%q is a folder and something else", name)
	}
	return err
}

// checkLinks looks where links really lead, now that everything is there: each may stay inside as text and
// still climb out through another.
func (u *unpacking) checkLinks() error {
	for name := range u.links {
		_, err := u.root.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && fault.From(err).Code == fault.InvalidPath {
			return refused("the link %q leads outside the archive, or in a circle", name)
		}
	}
	return nil
}

func refused(format string, args ...any) error {
	return fault.New(fault.ArchiveRefused, format, args...)
}

type countingReader struct {
	source io.Reader
	count  int64
	failed error
}

func (c *countingReader) Read(into []byte) (int, error) {
	n, err := c.source.Read(into)
	c.count += int64(n)
	if err != nil && err != io.EOF {
		c.failed = err
	}
	return n, err
}
