package workspace

import (
	"bytes"
	"io"
	"os"
	"syscall"

	"geode/guest/internal/at"
)

const (
	copyBytes = 256 << 10
	packBytes = 1 << 20
	// A file of this size has a pack of its own, which can share the blocks of the original; smaller ones come
	// one after the other in a common pack, which spares the file system their making.
	ownPackBytes = 1 << 20
	// A file with holes also keeps them, unless they are too small to matter.
	smallestHoles = 64 << 10
)

// A pack is a file of the store that holds the content of files. It is written once.
type pack struct {
	id     uint64
	file   *os.File
	buffer []byte
	size   int64
}

// append copies a file of up to length bytes to the end and returns the number of copied bytes.
func (p *pack) append(from int, length int64) (copied int64, err error) {
	for copied < length {
		if cap(p.buffer) == len(p.buffer) {
			if err := p.flush(); err != nil {
				return copied, err
			}
		}
		room := p.buffer[len(p.buffer):cap(p.buffer)]
		n, err := readAt(from, room[:min(int64(len(room)), length-copied)], copied)
		if err != nil {
			return copied, err
		}
		if n == 0 {
			break
		}
		p.buffer = p.buffer[:len(p.buffer)+n]
		p.size += int64(n)
		copied += int64(n)
	}
	return copied, nil
}

func (p *pack) flush() error {
	_, err := p.file.Write(p.buffer)
	p.buffer = p.buffer[:0]
	return err
}

func (p *pack) close(sync bool) error {
	err := p.flush()
	if err == nil && sync {
		err = syscall.Fdatasync(int(p.file.Fd()))
	}
	if closing := p.file.Close(); err == nil {
		err = closing
	}
	return err
}

// copyWhole copies a file of length bytes into an empty one, block by block where it cannot be cloned; holes
// stay holes. A file that shrinks during the copy leaves zeros at the end.
func copyWhole(from, to int, length int64, buffer []byte) error {
	if at.Clone(from, to) {
		return syscall.Ftruncate(to, length)
	}
	if err := syscall.Ftruncate(to, length); err != nil {
		return err
	}
	for offset := int64(0); offset < length; {
		start, end := nextData(from, offset, length)
		if err := copyRange(from, start, to, start, end-start, buffer); err != nil {
			return err
		}
		offset = end
	}
	return nil
}

func copyRange(from int, fromOffset int64, to int, toOffset, length int64, buffer []byte) error {
	for length > 0 {
		n, err := at.CopyRange(from, fromOffset, to, toOffset, min(length, 1<<30))
		switch err {
		case nil, syscall.EINTR:
		case syscall.EXDEV, syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EPERM:
			n, err = copyThrough(buffer, from, fromOffset, to, toOffset, length)
			if err != nil {
				return err
			}
		default:
			return err
		}
		if n == 0 && err == nil {
			return nil // shorter than it was
		}
		fromOffset, toOffset, length = fromOffset+n, toOffset+n, length-n
	}
	return nil
}

func copyThrough(buffer []byte, from int, fromOffset int64, to int, toOffset, length int64) (int64, error) {
	n, err := readAt(from, buffer[:min(int64(len(buffer)), length)], fromOffset)
	if err != nil || n == 0 {
		return 0, err
	}
	return int64(n), writeAt(to, buffer[:n], toOffset)
}

// nextData finds the next stretch of a file that is not a hole. Where that cannot be known it is all data.
func nextData(fd int, offset, length int64) (start, end int64) {
	start, err := syscall.Seek(fd, offset, at.SeekData)
	if err == syscall.ENXIO {
		return length, length
	}
	if err != nil {
		return offset, length
	}
	end, err = syscall.Seek(fd, start, at.SeekHole)
	if err != nil {
		end = length
	}
	return min(start, length), min(end, length)
}

// sameBytes compares stretches of two files. In whole files, what is a hole in both is not read.
func sameBytes(a int, aOffset int64, b int, bOffset, length int64, left, right []byte) (bool, error) {
	whole := aOffset == 0 && bOffset == 0 && length >= smallestHoles
	for done := int64(0); done < length; {
		if whole {
			first, _ := nextData(a, done, length)
			second, _ := nextData(b, done, length)
			if done = min(first, second); done >= length {
				break
			}
		}
		size := min(int64(len(left)), length-done)
		n, err := readFull(a, left[:size], aOffset+done)
		if err != nil {
			return false, err
		}
		m, err := readFull(b, right[:size], bOffset+done)
		if err != nil {
			return false, err
		}
		if int64(n) != size || int64(m) != size || !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		done += size
	}
	return true, nil
}

func readFull(fd int, into []byte, offset int64) (int, error) {
	total := 0
	for total < len(into) {
		n, err := readAt(fd, into[total:], offset+int64(total))
		if err != nil || n == 0 {
			return total, err
		}
		total += n
	}
	return total, nil
}

func readAt(fd int, into []byte, offset int64) (int, error) {
	for {
		n, err := syscall.Pread(fd, into, offset)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func writeAt(fd int, from []byte, offset int64) error {
	for len(from) > 0 {
		n, err := syscall.Pwrite(fd, from, offset)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrShortWrite
		}
		from, offset = from[n:], offset+int64(n)
	}
	return nil
}
