package files

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"geode/guest/internal/fault"
)

const (
	defaultLimit = 10_000
	// answerRoom keeps an answer below the largest JSON body that the host takes.
	answerRoom = 1000 << 10
)

// Entries are the answer of list and search.
type Entries struct {
	Entries   []json.RawMessage `json:"entries"`
	Truncated bool              `json:"truncated"`
}

// List gives what is in a folder, down to a depth (0: all the way), sorted by path.
func (t Target) List(ctx context.Context, depth, limit int) (Entries, error) {
	if depth < 0 {
		return Entries{}, fault.New(fault.InvalidInput, "depth is %d", depth)
	}
	return t.collect(ctx, depth, limit, func(entry) bool { return true })
}

// Search gives what is below a folder and matches a pattern, sorted by path.
func (t Target) Search(ctx context.Context, pattern string, limit int) (Entries, error) {
	glob, err := newGlob(pattern)
	if err != nil {
		return Entries{}, err
	}
	return t.collect(ctx, 0, limit, func(e entry) bool { return glob.matches(e.path) })
}

func (t Target) collect(ctx context.Context, depth, limit int, wanted func(entry) bool) (Entries, error) {
	folder, err := openFolder(t.place, t.name)
	if err != nil {
		return Entries{}, err
	}
	defer folder.Close()
	if limit <= 0 {
		limit = defaultLimit
	}
	var stats []Stat
	truncated := false
	walk := walk{ctx: ctx, depth: depth, patient: true, visit: func(e entry) (bool, error) {
		if !wanted(e) {
			return true, nil
		}
		if len(stats) == limit {
			truncated = true
			return false, errEnough
		}
		stats = append(stats, newStat(joinPath(t.Path, e.path), e.raw, e.link()))
		return true, nil
	}}
	if err := walk.run(folder); err != nil {
		return Entries{}, err
	}
	slices.SortFunc(stats, func(a, b Stat) int { return strings.Compare(a.Path, b.Path) })
	kept, all := fitting(stats)
	return Entries{kept, truncated || !all}, nil
}

// fitting encodes values for as long as there is room in an answer.
func fitting[T any](values []T) (kept []json.RawMessage, all bool) {
	kept = []json.RawMessage{}
	room := answerRoom
	for _, value := range values {
		text, err := json.Marshal(value)
		if err != nil || len(text)+1 > room {
			return kept, false
		}
		room -= len(text) + 1
		kept = append(kept, text)
	}
	return kept, true
}

func joinPath(folder, path string) string {
	return strings.TrimSuffix(folder, "/") + "/" + path
}
