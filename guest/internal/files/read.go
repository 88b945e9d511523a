package files

import (
	"io"
	"os"
	"sync"
	"syscall"

	"geode/guest/internal/fault"
)

const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// OpenRead opens a regular file. What it is gets checked on the open file, so that nothing can be swapped in
// between; opening a pipe does not wait for its writer.
func (t Target) OpenRead() (*os.File, Stat, error) {
	file, err := t.place.OpenFile(t.name, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, Stat{}, err
	}
	raw, err := t.checkFile(file)
	if err != nil {
		file.Close()
		return nil, Stat{}, err
	}
	return file, newStat(t.Path, raw, ""), nil
}

// checkFile refuses what is not a regular file and, in the workspace, a file that may have another name
// outside of it.
func (t Target) checkFile(file *os.File) (*syscall.Stat_t, error) {
	raw, err := statFile(file)
	if err != nil {
		return nil, err
	}
	if !isFile(raw) {
		return nil, fault.New(fault.NotAFile, "%s is a %s, not a file", t.Path, typeOf(raw))
	}
	if t.strict && raw.Nlink > 1 {
		return nil, hardLinkFault(t.Path, uint64(raw.Nlink))
	}
	return raw, nil
}

func hardLinkFault(path string, links uint64) error {
	return fault.New(fault.FileRefused, "%s has %d hard links, some may be outside the workspace; use the scope sandbox", path, links)
}

// Copy moves bytes through a large buffer. It gives back the error of the side that failed.
func Copy(to io.Writer, from io.Reader) (int64, error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(onlyWriter{to}, onlyReader{from}, buffer[:])
}

// These hide shortcuts of io.Copy that come with small buffers of their own.
type onlyWriter struct{ io.Writer }
type onlyReader struct{ io.Reader }
