package layers

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	whiteout = ".wh."
	// In a folder: nothing of the lower layers shows there.
	opaque = ".wh..wh..opq"
)

// Merged counts the entries of a root file system.
type Merged struct {
	Entries int `json:"entries"`
}

// Merge puts layers over each other, the lowest first, into an empty folder. Files are hard links to those of the
// layers, so the result must never be written to.
func Merge(layers []string, folder string) (Merged, error) {
	to, err := os.OpenRoot(folder)
	if err != nil {
		return Merged{}, err
	}
	defer to.Close()
	var done Merged
	for _, layer := range layers {
		if err := mergeLayer(layer, folder, to, &done); err != nil {
			return Merged{}, err
		}
	}
	return done, makePlaces(to)
}

func mergeLayer(layer, folder string, to *os.Root, done *Merged) error {
	from, err := os.OpenRoot(layer)
	if err != nil {
		return err
	}
	defer from.Close()
	var folders []string
	err = filepath.WalkDir(layer, func(place string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(layer, place)
		if err != nil || name == "." {
			return err
		}
		base, parent := path.Base(name), path.Dir(name)
		switch {
		case base == opaque:
			return nil
		case strings.HasPrefix(base, whiteout):
			return removeAny(to, path.Join(parent, strings.TrimPrefix(base, whiteout)))
		case entry.IsDir():
			folders = append(folders, name)
			return mergeFolder(from, to, name, done)
		}
		done.Entries++
		if err := removeAny(to, name); err != nil {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			return copyLink(from, to, name)
		}
		return os.Link(place, filepath.Join(folder, name))
	})
	if err != nil {
		return err
	}
	for index := len(folders) - 1; index >= 0; index-- {
		if err := copyFolder(from, to, folders[index]); err != nil {
			return err
		}
	}
	return nil
}

func mergeFolder(from, to *os.Root, name string, done *Merged) error {
	if _, err := from.Lstat(path.Join(name, opaque)); err == nil {
		if err := removeAny(to, name); err != nil {
			return err
		}
	}
	info, err := to.Lstat(name)
	if err == nil && !info.IsDir() {
		if err := to.Remove(name); err != nil {
			return err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		done.Entries++
		return to.Mkdir(name, 0o700)
	}
	return err
}

// copyFolder gives a folder the owner, the permissions and the time that the layer has for it.
func copyFolder(from, to *os.Root, name string) error {
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := to.Lchown(name, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	if err := to.Chmod(name, info.Mode()&(fs.ModePerm|fs.ModeSticky)); err != nil {
		return err
	}
	return to.Chtimes(name, info.ModTime(), info.ModTime())
}

func copyLink(from, to *os.Root, name string) error {
	target, err := from.Readlink(name)
	if err != nil {
		return err
	}
	if err := to.Symlink(target, name); err != nil {
		return err
	}
	info, err := from.Lstat(name)
	if stat, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && os.Geteuid() == 0 {
		return to.Lchown(name, int(stat.Uid), int(stat.Gid))
	}
	return err
}

func removeAny(root *os.Root, name string) error {
	if base := path.Base(name); base == "." || base == ".." || base == "" {
		return errors.New("a whiteout without a name")
	}
	return root.RemoveAll(name)
}

// The places that walls mount over. A link there would lead a mount elsewhere, so it is replaced.
var (
	ownFolders = []string{".geode", ".geode/link", ".geode/cgroup", "workspace", "proc", "dev", "sys", "tmp", "var", "var/tmp", "etc", "home"}
	ownFiles   = []string{".geode/guest", "etc/passwd", "etc/group", "etc/hostname", "etc/hosts", "etc/resolv.conf"}
)

// makePlaces adds what walls need to mount over, as nothing can be made in a read-only root.
func makePlaces(root *os.Root) error {
	for _, name := range ownFolders {
		if info, err := root.Lstat(name); err == nil && info.IsDir() {
			continue
		}
		if err := removeAny(root, name); err != nil {
			return err
		}
		if err := root.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	for _, name := range ownFiles {
		info, err := root.Lstat(name)
		if err == nil && info.Mode().IsRegular() {
			continue
		}
		if err := removeAny(root, name); err != nil {
			return err
		}
		if err := root.WriteFile(name, nil, 0o644); err != nil {
			return err
		}
	}
	if _, err := root.Lstat("home/user"); errors.Is(err, fs.ErrNotExist) {
		return root.Symlink("/workspace", "home/user")
	}
	return nil
}
