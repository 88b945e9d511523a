package files

import (
	"path"
	"strings"

	"geode/guest/internal/fault"
)

const mostAlternatives = 64

// A glob matches paths: * and ? and [a-z] within one part of a path, ** for any number of parts, {a,b} for
// alternatives. A pattern without a slash matches names at any depth.
type glob [][]string

func newGlob(pattern string) (glob, error) {
	alternatives := expand(pattern)
	if pattern == "" || len(alternatives) > mostAlternatives {
		return nil, fault.New(fault.InvalidInput, "the pattern %q is empty or has too many alternatives", pattern)
	}
	var made glob
	for _, alternative := range alternatives {
		parts := strings.Split(strings.TrimPrefix(alternative, "/"), "/")
		if len(parts) == 1 && parts[0] != "**" {
			parts = []string{"**", parts[0]}
		}
		for _, part := range parts {
			if _, err := path.Match(part, ""); err != nil {
				return nil, fault.New(fault.InvalidInput, "the pattern %q cannot be read", pattern)
			}
		}
		made = append(made, parts)
	}
	return made, nil
}

// expand writes out the first pair of braces, and so on. Braces without a comma stand for themselves.
func expand(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	depth, start := 0, open+1
	var options []string
	for i := open; i < len(pattern); i++ {
		switch {
		case pattern[i] == '{':
			depth++
		case pattern[i] == ',' && depth == 1:
			options = append(options, pattern[start:i])
			start = i + 1
		case pattern[i] == '}':
			if depth--; depth > 0 {
				continue
			}
			if options == nil {
				return []string{pattern}
			}
			var all []string
			for _, option := range append(options, pattern[start:i]) {
				all = append(all, expand(pattern[:open]+option+pattern[i+1:])...)
				if len(all) > mostAlternatives {
					break
				}
			}
			return all
		}
	}
	return []string{pattern}
}

func (g glob) matches(name string) bool {
	parts := strings.Split(name, "/")
	for _, pattern := range g {
		if matchParts(pattern, parts) {
			return true
		}
	}
	return false
}

// matchParts goes through both once, and back to the last ** on a mismatch: no pattern makes it slow.
func matchParts(pattern, parts []string) bool {
	star, resume := -1, 0
	p, i := 0, 0
	for i < len(parts) {
		if p < len(pattern) && pattern[p] == "**" {
			star, resume = p, i
			p++
			continue
		}
		if p < len(pattern) {
			if ok, _ := path.Match(pattern[p], parts[i]); ok {
				p++
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		resume++
		p, i = star+1, resume
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
