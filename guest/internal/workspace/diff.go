package workspace

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// A change is one line of a diff.
type change struct {
	Path       string `json:"path"`
	PathBase64 string `json:"pathBase64,omitempty"`
	Change     string `json:"change"`
	Before     *side  `json:"before,omitempty"`
	After      *side  `json:"after,omitempty"`
}

type side struct {
	Type string `json:"type"`
	Size int64  `json:"size"`
	Mode uint32 `json:"mode"`
}

// A diff compares two trees, folder by folder, and reports differences in the order of the names.
type diff struct {
	store *store
	w     *worker
	emit  func(change) error
}

func (d *diff) folder(path string, a, b []node) error {
	return pairs(a, b, func(before, after *node) error {
		what, err := d.entry(before, after)
		if err != nil {
			return err
		}
		at := path + either(before, after).name
		if what != "" {
			text, encoded := readable(at)
			if err := d.emit(change{text, encoded, what, sideOf(before), sideOf(after)}); err != nil {
				return err
			}
		}
		return d.folder(at+"/", childrenOf(before).left, childrenOf(after).left)
	})
}

func either(before, after *node) *node {
	if before != nil {
		return before
	}
	return after
}

func (d *diff) entry(before, after *node) (string, error) {
	switch {
	case before == nil:
		return "added", nil
	case after == nil:
		return "removed", nil
	case before.kind == closed || after.kind == closed:
		// Nobody knows what is in it, but whether it is still the same.
		if before.ino == after.ino && before.ctime == after.ctime {
			return "", nil
		}
		return "modified", nil
	case before.kind != after.kind:
		return "type", nil
	case before.kind == link && before.target != after.target:
		return "modified", nil
	case before.kind == file:
		same, err := d.store.sameContent(d.w, before, after)
		if err != nil || !same {
			return "modified", err
		}
	}
	if before.kind != link && !before.sameOwnerAndMode(after) {
		return "mode", nil
	}
	return "", nil
}

func sideOf(n *node) *side {
	if n == nil {
		return nil
	}
	return &side{kindNames[n.kind], n.size, n.mode}
}

// readable returns a name as text. If the name is not UTF-8, it also returns its exact bytes in base64.
func readable(name string) (text, encoded string) {
	if utf8.ValidString(name) {
		return name, ""
	}
	return strings.ToValidUTF8(name, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(name))
}
