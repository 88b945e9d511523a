package link

import (
	"encoding/base64"
	"net/http"

	"geode/guest/internal/fault"
	"geode/guest/internal/files"
)

// An fsRequest has the fields of every op; each takes those that docs/protocol.md names.
type fsRequest struct {
	Path        string  `json:"path"`
	PathBase64  string  `json:"pathBase64"`
	To          string  `json:"to"`
	ToBase64    string  `json:"toBase64"`
	Scope       string  `json:"scope"`
	Follow      bool    `json:"follow"`
	Overwrite   bool    `json:"overwrite"`
	Depth       int     `json:"depth"`
	Limit       int     `json:"limit"`
	Mode        *uint32 `json:"mode"`
	Pattern     string  `json:"pattern"`
	Regex       bool    `json:"regex"`
	IgnoreCase  bool    `json:"ignoreCase"`
	Include     string  `json:"include"`
	Replacement string  `json:"replacement"`
	Expect      *int    `json:"expect"`
}

type fsOp func(r *http.Request, target files.Target, request *fsRequest) (any, error)

func (g *Guest) fsOps() map[string]fsOp {
	return map[string]fsOp{
		"stat": func(_ *http.Request, target files.Target, request *fsRequest) (any, error) {
			return target.Stat(request.Follow)
		},
		"exists": func(_ *http.Request, target files.Target, _ *fsRequest) (any, error) {
			exists, err := target.Exists()
			return map[string]bool{"exists": exists}, err
		},
		"list": func(r *http.Request, target files.Target, request *fsRequest) (any, error) {
			return target.List(r.Context(), request.Depth, request.Limit)
		},
		"mkdir": func(_ *http.Request, target files.Target, request *fsRequest) (any, error) {
			return struct{}{}, target.Mkdir(request.Mode)
		},
		"move": func(r *http.Request, target files.Target, request *fsRequest) (any, error) {
			to, err := g.locate(request.To, request.ToBase64, request.Scope)
			if err != nil {
				return nil, err
			}
			return struct{}{}, target.Move(r.Context(), to, request.Overwrite)
		},
		"copy": func(r *http.Request, target files.Target, request *fsRequest) (any, error) {
			to, err := g.locate(request.To, request.ToBase64, request.Scope)
			if err != nil {
				return nil, err
			}
			return struct{}{}, target.Copy(r.Context(), to, request.Overwrite)
		},
		"remove": func(_ *http.Request, target files.Target, _ *fsRequest) (any, error) {
			removed, err := target.Remove()
			return map[string]bool{"removed": removed}, err
		},
		"chmod": func(_ *http.Request, target files.Target, request *fsRequest) (any, error) {
			if request.Mode == nil {
				return nil, fault.New(fault.InvalidInput, "there is no mode")
			}
			return struct{}{}, target.Chmod(*request.Mode)
		},
		"search": func(r *http.Request, target files.Target, request *fsRequest) (any, error) {
			return target.Search(r.Context(), request.Pattern, request.Limit)
		},
		"grep": func(r *http.Request, target files.Target, request *fsRequest) (any, error) {
			return target.Grep(r.Context(), request.query(), request.Include, request.Limit)
		},
		"replace": func(_ *http.Request, target files.Target, request *fsRequest) (any, error) {
			replaced, err := target.Replace(request.query(), request.Replacement, request.Expect)
			return map[string]int{"replaced": replaced}, err
		},
	}
}

func (r *fsRequest) query() files.Query {
	return files.Query{Pattern: r.Pattern, Regex: r.Regex, IgnoreCase: r.IgnoreCase}
}

// serveFs answers POST /v1/fs/{op}.
func (g *Guest) serveFs() call {
	ops := g.fsOps()
	return func(w http.ResponseWriter, r *http.Request) error {
		op, known := ops[r.PathValue("op")]
		if !known {
			return fault.New(fault.InvalidInput, "there is no file call %q", r.PathValue("op"))
		}
		request := fsRequest{Depth: 1}
		if err := readJSON(r, &request); err != nil {
			return err
		}
		target, err := g.locate(request.Path, request.PathBase64, request.Scope)
		if err != nil {
			return err
		}
		answer, err := op(r, target, &request)
		if err != nil {
			return fault.At(target.Path, err)
		}
		return writeJSON(w, answer)
	}
}

// locate finds a path that is given as text or, when it is not UTF-8, in base64.
func (g *Guest) locate(path, encoded, scope string) (files.Target, error) {
	if encoded != "" {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return files.Target{}, fault.New(fault.InvalidPath, "a path in base64 cannot be read")
		}
		path = string(decoded)
	}
	return g.files.At(path, scope)
}
