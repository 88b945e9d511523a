package layers

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Packed names the bytes of a packed layer.
type Packed struct {
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

type counter struct{ bytes int64 }

func (c *counter) Write(chunk []byte) (int, error) {
	c.bytes += int64(len(chunk))
	return len(chunk), nil
}

// Pack writes an unpacked layer as a tar archive into a new file. Entries are in the order of their names, so that the
// same files give the same bytes.
func Pack(layer, file string) (Packed, error) {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Packed{}, err
	}
	defer out.Close()
	hash, count := sha256.New(), &counter{}
	archive := tar.NewWriter(io.MultiWriter(out, hash, count))
	if err := packTree(layer, archive); err != nil {
		return Packed{}, err
	}
	if err := archive.Close(); err != nil {
		return Packed{}, err
	}
	return Packed{"sha256:" + hex.EncodeToString(hash.Sum(nil)), count.bytes}, out.Close()
}

func packTree(layer string, archive *tar.Writer) error {
	root, err := os.OpenRoot(layer)
	if err != nil {
		return err
	}
	defer root.Close()
	// Files of a layer that are one file in it; roots of images are hard links to them too.
	seen := map[uint64]string{}
	return filepath.WalkDir(layer, func(place string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(layer, place)
		if err != nil || name == "." {
			return err
		}
		return packEntry(root, name, seen, archive)
	})
}

func packEntry(root *os.Root, name string, seen map[uint64]string, archive *tar.Writer) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = root.Readlink(name); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name, header.Format = name, tar.FormatPAX
	header.Uname, header.Gname = "", ""
	if info.IsDir() {
		header.Name += "/"
	}
	stat, isUnix := info.Sys().(*syscall.Stat_t)
	if isUnix && info.Mode().IsRegular() {
		if first, ok := seen[stat.Ino]; ok {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
		} else {
			seen[stat.Ino] = name
		}
	}
	if err := archive.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	content, err := root.Open(name)
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(archive, content)
	return err
}
