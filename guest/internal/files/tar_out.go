package files

import (
	"archive/tar"
	"bufio"
	"context"
	"io"
	"strconv"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

// A Packing is a folder on its way into an archive.
type Packing struct {
	target Target
	walk   func(ctx context.Context, visit func(entry) error) error
	close  func()
	// Holes leaves out the holes of files: a file with holes becomes a Sparse entry, marked by a header record.
	Holes bool
}

// sparseRecord marks an entry whose content is a Sparse; its value is the size of the file.
const sparseRecord = "GEODE.sparse"

// Pack prepares an archive of a folder. In the workspace it looks at everything first: a refusal has to come
// before the first byte.
func (t Target) Pack(ctx context.Context) (*Packing, error) {
	folder, err := openFolder(t.place, t.name)
	if err != nil {
		return nil, err
	}
	packing := &Packing{target: t, close: func() { folder.Close() }}
	packing.walk = func(ctx context.Context, visit func(entry) error) error {
		if _, err := folder.Seek(0, io.SeekStart); err != nil {
			return err
		}
		walk := walk{ctx: ctx, top: t.Path, visit: func(e entry) (bool, error) { return true, visit(e) }}
		return walk.run(folder)
	}
	if !t.strict {
		return packing, nil
	}
	err = packing.walk(ctx, func(e entry) error {
		if isFile(e.raw) && e.raw.Nlink > 1 {
			return hardLinkFault(joinPath(t.Path, e.path), uint64(e.raw.Nlink))
		}
		return nil
	})
	if err != nil {
		packing.Close()
		return nil, err
	}
	return packing, nil
}

// Close closes the folder.
func (p *Packing) Close() { p.close() }

// WriteTo writes the archive: files, folders and links, the latter as links; sockets, pipes and devices are
// left out.
func (p *Packing) WriteTo(ctx context.Context, to io.Writer) error {
	buffered := bufio.NewWriterSize(to, bufferSize)
	archive := tar.NewWriter(buffered)
	err := p.walk(ctx, func(e entry) error {
		return fault.At(joinPath(p.target.Path, e.path), p.add(archive, e))
	})
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}

func (p *Packing) add(archive *tar.Writer, e entry) error {
	header := &tar.Header{
		Name:    e.path,
		Mode:    int64(e.raw.Mode & 0o7777),
		Uid:     int(e.raw.Uid),
		Gid:     int(e.raw.Gid),
		ModTime: time.Unix(e.raw.Mtim.Sec, 0),
	}
	switch {
	case isFile(e.raw):
		return p.addFile(archive, e, header)
	case isFolder(e.raw):
		header.Typeflag, header.Name = tar.TypeDir, e.path+"/"
	case isLink(e.raw):
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.link()
	default:
		return nil
	}
	return archive.WriteHeader(header)
}

func (p *Packing) addFile(archive *tar.Writer, e entry, header *tar.Header) error {
	file, err := openAt(e.folder, e.name, syscall.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	raw, err := p.target.checkFile(file)
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, raw.Size
	if p.Holes && raw.Blocks*512 < raw.Size {
		sparse := NewSparse(file, raw.Size)
		header.PAXRecords = map[string]string{sparseRecord: strconv.FormatInt(raw.Size, 10)}
		header.Size = sparse.Size
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = sparse.WriteTo(archive)
		return err
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	// The header has promised a size: cut a file that grows during the copy, fill up one that shrinks.
	_, err = Copy(archive, io.LimitReader(io.MultiReader(file, zeros{}), raw.Size))
	return err
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}
