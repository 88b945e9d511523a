package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"

	"geode/guest/internal/fault"
)

const (
	longestLine   = 64 << 10 // what is longer is searched in its beginning only
	longestText   = 1 << 10  // of a match's line in the answer
	sniffed       = 8 << 10  // a NUL byte in here makes a file binary
	grepLimit     = 1000
	mostInPattern = 64 << 10
)

// A Query is the pattern that grep and replace search for.
type Query struct {
	Pattern    string
	Regex      bool
	IgnoreCase bool
}

func (q Query) compile() (*regexp.Regexp, error) {
	if q.Pattern == "" || len(q.Pattern) > mostInPattern {
		return nil, fault.New(fault.InvalidInput, "the pattern is empty or too long")
	}
	pattern := q.Pattern
	if !q.Regex {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := "m"
	if q.IgnoreCase {
		flags = "mi"
	}
	compiled, err := regexp.Compile("(?" + flags + ":" + pattern + ")")
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "the pattern cannot be read: %s", err)
	}
	return compiled, nil
}

// A Match is the first place in a line. Line and column count from 1, the column in characters.
type Match struct {
	Path       string `json:"path"`
	PathBase64 string `json:"pathBase64,omitempty"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Text       string `json:"text"`
}

// Matches are the answer of grep.
type Matches struct {
	Matches   []json.RawMessage `json:"matches"`
	Truncated bool              `json:"truncated"`
}

// Grep searches the files below a folder, or one file.
func (t Target) Grep(ctx context.Context, query Query, include string, limit int) (Matches, error) {
	pattern, err := query.compile()
	if err != nil {
		return Matches{}, err
	}
	wanted := func(string) bool { return true }
	if include != "" {
		glob, err := newGlob(include)
		if err != nil {
			return Matches{}, err
		}
		wanted = glob.matches
	}
	if limit <= 0 {
		limit = grepLimit
	}
	search := &search{pattern: pattern, limit: limit}
	if !query.Regex && !query.IgnoreCase {
		search.literal = []byte(query.Pattern)
	}
	if err := t.grepBelow(ctx, search, wanted); err != nil && !errors.Is(err, errEnough) {
		return Matches{}, err
	}
	kept, all := fitting(search.matches)
	return Matches{kept, search.full || !all}, nil
}

func (t Target) grepBelow(ctx context.Context, search *search, wanted func(string) bool) error {
	folder, err := openFolder(t.place, t.name)
	if isErrno(err, syscall.ENOTDIR) {
		file, _, err := t.OpenRead()
		if err != nil {
			return err
		}
		defer file.Close()
		return search.file(t.Path, file)
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	walk := walk{ctx: ctx, patient: true, visit: func(e entry) (bool, error) {
		if !isFile(e.raw) || !wanted(e.path) {
			return true, nil
		}
		file, err := openAt(e.folder, e.name, syscall.O_RDONLY, 0)
		if err != nil {
			return true, nil
		}
		defer file.Close()
		if _, err := t.checkFile(file); err != nil {
			return true, nil // another kind by now, or hard-linked
		}
		return true, search.file(joinPath(t.Path, e.path), file)
	}}
	return walk.run(folder)
}

type search struct {
	pattern *regexp.Regexp
	literal []byte // when looking for it is all there is to do
	limit   int
	matches []Match
	full    bool
}

func (s *search) file(path string, file io.Reader) error {
	reader := bufio.NewReaderSize(file, longestLine)
	if head, _ := reader.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	for number := 1; ; number++ {
		line, err := reader.ReadSlice('\n')
		if at := s.find(line); at >= 0 {
			if len(s.matches) == s.limit {
				s.full = true
				return errEnough
			}
			s.matches = append(s.matches, newMatch(path, number, line, at))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = reader.ReadSlice('\n')
		}
		if err != nil {
			return nil // the end, or a file that cannot be read on
		}
	}
}

func (s *search) find(line []byte) int {
	line = bytes.TrimRight(line, "\r\n")
	if s.literal != nil {
		return bytes.Index(line, s.literal)
	}
	if at := s.pattern.FindIndex(line); at != nil {
		return at[0]
	}
	return -1
}

// newMatch cuts a long line so that the place is in the text.
func newMatch(path string, number int, line []byte, at int) Match {
	match := Match{Line: number, Column: utf8.RuneCount(line[:at]) + 1}
	match.Path, match.PathBase64 = readable(path)
	line = bytes.TrimRight(line, "\r\n")
	from := 0
	if at > longestText/2 && len(line) > longestText {
		from = at - longestText/2
	}
	text := line[from:min(from+longestText, len(line))]
	match.Text = strings.ToValidUTF8(string(text), "\uFFFD")
	return match
}
