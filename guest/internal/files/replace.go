package files

import (
	"bytes"
	"io"

	"geode/guest/internal/fault"
)

// replaceLimit is the largest file whose text is replaced: all of it is in memory.
const replaceLimit = 16 << 20

// Replace changes every place in a file that matches, in one step. In the replacement of a regular
// expression $1 and ${name} stand for its groups. When another count than the expected would be replaced,
// nothing is.
func (t Target) Replace(query Query, replacement string, expect *int) (int, error) {
	pattern, err := query.compile()
	if err != nil {
		return 0, err
	}
	file, stat, err := t.OpenRead()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if stat.Size > replaceLimit {
		return 0, fault.New(fault.TooLarge, "%s has %d bytes; text is replaced in files up to %d", t.Path, stat.Size, replaceLimit)
	}
	before, err := io.ReadAll(io.LimitReader(file, replaceLimit))
	if err != nil {
		return 0, err
	}
	count := len(pattern.FindAllIndex(before, -1))
	if expect != nil && count != *expect {
		return 0, fault.New(fault.InvalidInput, "%s has %d matches, not %d; nothing was changed", t.Path, count, *expect)
	}
	if count == 0 {
		return 0, nil
	}
	var after []byte
	if query.Regex {
		after = pattern.ReplaceAll(before, []byte(replacement))
	} else {
		after = pattern.ReplaceAllLiteral(before, []byte(replacement))
	}
	_, err = t.Write(bytes.NewReader(after), WriteOptions{})
	return count, err
}
