// Package layers unpacks the layers of images and merges them. A layer is hostile input: nothing in it may lead out
// of the folder that it is unpacked into, which os.Root enforces for every name and every link on the way.
package layers

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Limits bound what one layer may unpack to.
type Limits struct {
	Bytes   int64
	Entries int
}

// Unpacked counts the entries of a layer and the bytes of its files.
type Unpacked struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

const (
	longestName = 4096
	// Programs in a sandbox cannot gain privileges, so these bits are dropped.
	permissions = 0o1777
)

// Unpack writes the entries of a tar archive into an empty folder. Files of whiteouts (`.wh.…`) stay files: Merge
// reads them. Devices and pipes are left out: a sandbox has its own /dev.
func Unpack(archive io.Reader, folder string, most Limits) (Unpacked, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Unpacked{}, err
	}
	defer root.Close()
	unpacker := unpacker{root: root, most: most, asRoot: os.Geteuid() == 0}
	reader := tar.NewReader(archive)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Unpacked{}, fmt.Errorf("the archive cannot be read: %w", err)
		}
		if err := unpacker.entry(header, reader); err != nil {
			return Unpacked{}, fmt.Errorf("%.200q: %w", header.Name, err)
		}
	}
	// The digest of the layer covers the padding after the last entry.
	if _, err := io.Copy(io.Discard, archive); err != nil {
		return Unpacked{}, err
	}
	return unpacker.done, unpacker.restoreFolders()
}

type unpacker struct {
	root   *os.Root
	most   Limits
	asRoot bool
	done   Unpacked
	// Folders get their own permissions last: one that may not be written to still has to be filled.
	folders []folderMode
}

type folderMode struct {
	name   string
	header *tar.Header
}

func (u *unpacker) entry(header *tar.Header, content io.Reader) error {
	u.done.Entries++
	if u.done.Entries > u.most.Entries {
		return fmt.Errorf("the layer has more than %d entries", u.most.Entries)
	}
	name, err := cleanName(header.Name)
	if err != nil || name == "." {
		return err
	}
	if err := u.above(name); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.folder(name, header)
	case tar.TypeReg:
		return u.file(name, header, content)
	case tar.TypeSymlink:
		return u.link(name, header)
	case tar.TypeLink:
		return u.hardLink(name, header)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo, tar.TypeXGlobalHeader:
		return nil
	}
	return fmt.Errorf("entries of type %q are not supported", header.Typeflag)
}

// cleanName refuses what leads out of the folder instead of repairing it.
func cleanName(name string) (string, error) {
	if len(name) > longestName || strings.ContainsRune(name, 0) {
		return "", errors.New("the name is not valid")
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", errors.New("the name has '..' in it")
		}
	}
	return path.Clean(strings.TrimLeft(name, "/") + "/."), nil
}

// above makes the folders that lead to an entry, where the layer does not list them.
func (u *unpacker) above(name string) error {
	parent := path.Dir(name)
	if parent == "." {
		return nil
	}
	return u.root.MkdirAll(parent, 0o755)
}

func (u *unpacker) folder(name string, header *tar.Header) error {
	if err := u.root.Mkdir(name, 0o755); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, statErr := u.root.Lstat(name)
		if statErr != nil {
			return statErr
		}
		if !info.IsDir() {
			if err := u.replace(name, func() error { return u.root.Mkdir(name, 0o755) }); err != nil {
				return err
			}
		}
	}
	u.folders = append(u.folders, folderMode{name, header})
	return nil
}

func (u *unpacker) file(name string, header *tar.Header, content io.Reader) error {
	if header.Size < 0 || u.done.Bytes+header.Size > u.most.Bytes {
		return fmt.Errorf("the layer unpacks to more than %d bytes", u.most.Bytes)
	}
	var file *os.File
	err := u.replace(name, func() (err error) {
		file, err = u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	defer file.Close()
	written, err := io.Copy(file, content)
	u.done.Bytes += written
	if err != nil {
		return err
	}
	if u.asRoot {
		if err := file.Chown(header.Uid, header.Gid); err != nil {
			return err
		}
	}
	if err := file.Chmod(modeOf(header)); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return u.root.Chtimes(name, header.ModTime, header.ModTime)
}

func (u *unpacker) link(name string, header *tar.Header) error {
	if header.Linkname == "" || len(header.Linkname) > longestName || strings.ContainsRune(header.Linkname, 0) {
		return errors.New("the link's target is not valid")
	}
	if err := u.replace(name, func() error { return u.root.Symlink(header.Linkname, name) }); err != nil {
		return err
	}
	if u.asRoot {
		return u.root.Lchown(name, header.Uid, header.Gid)
	}
	return nil
}

func (u *unpacker) hardLink(name string, header *tar.Header) error {
	target, err := cleanName(header.Linkname)
	if err != nil {
		return err
	}
	info, err := u.root.Lstat(target)
	if err != nil {
		return fmt.Errorf("the hard link leads to %.200q, which this layer does not have", header.Linkname)
	}
	if info.IsDir() {
		return errors.New("the hard link leads to a folder")
	}
	if target == name {
		return nil
	}
	return u.replace(name, func() error { return u.root.Link(target, name) })
}

// replace makes an entry, after removing whatever an earlier entry of the layer put there.
func (u *unpacker) replace(name string, make func() error) error {
	err := make()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := u.root.RemoveAll(name); err != nil {
		return err
	}
	return make()
}

// restoreFolders gives folders their owner, permissions and times, the deepest first.
func (u *unpacker) restoreFolders() error {
	for index := len(u.folders) - 1; index >= 0; index-- {
		name, header := u.folders[index].name, u.folders[index].header
		info, err := u.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.IsDir()) {
			continue
		}
		if err != nil {
			return err
		}
		if u.asRoot {
			if err := u.root.Lchown(name, header.Uid, header.Gid); err != nil {
				return err
			}
		}
		if err := u.root.Chmod(name, modeOf(header)|0o700); err != nil {
			return err
		}
		if err := u.root.Chtimes(name, header.ModTime, header.ModTime); err != nil {
			return err
		}
	}
	return nil
}

func modeOf(header *tar.Header) fs.FileMode {
	mode := fs.FileMode(header.Mode & 0o777 & permissions)
	if header.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}
