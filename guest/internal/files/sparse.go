package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"geode/guest/internal/at"
)

// mostExtents bounds the map of a file: what lies behind the last one travels as it is, holes included.
const mostExtents = 1 << 14

// An extent is a part of a file that has data; what is between two of them is a hole and reads as zeros.
type extent struct{ offset, length int64 }

// A Sparse is a file on its way without its holes. Its bytes are a map, "SIZE COUNT\n" and a line
// "OFFSET LENGTH\n" for each extent, and behind it the extents.
type Sparse struct {
	file    *os.File
	header  string
	extents []extent
	// Size is the number of bytes to send, without the holes.
	Size int64
}

// NewSparse looks for the holes of an open file.
func NewSparse(file *os.File, size int64) *Sparse {
	s := &Sparse{file: file, extents: extentsOf(file, size)}
	var header strings.Builder
	fmt.Fprintf(&header, "%d %d\n", size, len(s.extents))
	for _, e := range s.extents {
		fmt.Fprintf(&header, "%d %d\n", e.offset, e.length)
		s.Size += e.length
	}
	s.header = header.String()
	s.Size += int64(len(s.header))
	return s
}

// WriteTo writes exactly Size bytes: a file that shrinks during the copy is filled up with zeros.
func (s *Sparse) WriteTo(to io.Writer) (int64, error) {
	sent, err := io.WriteString(to, s.header)
	total := int64(sent)
	for _, e := range s.extents {
		if err != nil {
			break
		}
		var copied int64
		data := io.NewSectionReader(s.file, e.offset, e.length)
		copied, err = Copy(to, io.LimitReader(io.MultiReader(data, zeros{}), e.length))
		total += copied
	}
	return total, err
}

// A file system that cannot tell has one extent, the whole file.
func extentsOf(file *os.File, size int64) []extent {
	var found []extent
	for from := int64(0); from < size; {
		start, err := file.Seek(from, at.SeekData)
		if errors.Is(err, syscall.ENXIO) || (err == nil && start >= size) {
			return found
		}
		if err != nil {
			return []extent{{0, size}}
		}
		end, err := file.Seek(start, at.SeekHole)
		if err != nil || end > size || len(found) == mostExtents-1 {
			end = size
		}
		found = append(found, extent{start, end - start})
		from = end
	}
	return found
}
