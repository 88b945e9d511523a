package link

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"geode/guest/internal/fault"
	"geode/guest/internal/files"
)

// target finds the path of a call in its query.
func (g *Guest) target(query url.Values) (files.Target, error) {
	return g.locate(query.Get("path"), query.Get("pathBase64"), query.Get("scope"))
}

func (g *Guest) readFile(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	target, err := g.target(query)
	if err != nil {
		return err
	}
	offset, err := number(query, "offset", 0)
	if err != nil {
		return err
	}
	length, err := number(query, "length", -1)
	if err != nil {
		return err
	}
	file, stat, err := target.OpenRead()
	if err != nil {
		return fault.At(target.Path, err)
	}
	defer file.Close()
	header := w.Header()
	header.Set("content-type", "application/octet-stream")
	header.Set("x-size", strconv.FormatInt(stat.Size, 10))
	header.Set("x-mtime-ms", strconv.FormatInt(stat.MtimeMs, 10))
	header.Set("x-mode", strconv.FormatUint(uint64(stat.Mode), 8))

	if stat.Size == 0 {
		// Files of /proc have no size and content all the same.
		return serveUnsized(w, file, offset, length)
	}
	left := max(stat.Size-offset, 0)
	if length >= 0 {
		left = min(left, length)
	}
	if query.Get("holes") == "true" && offset == 0 && length < 0 {
		sparse := files.NewSparse(file, stat.Size)
		header.Set("x-sparse", "true")
		header.Set("content-length", strconv.FormatInt(sparse.Size, 10))
		if _, err := sparse.WriteTo(w); err != nil {
			return errBroken
		}
		return nil
	}
	header.Set("content-length", strconv.FormatInt(left, 10))
	if sent, err := files.Copy(w, io.NewSectionReader(file, offset, left)); err != nil || sent != left {
		return errBroken
	}
	return nil
}

func serveUnsized(w http.ResponseWriter, file io.Reader, offset, length int64) error {
	if _, err := io.CopyN(io.Discard, file, offset); err == io.EOF {
		return nil
	} else if err != nil {
		return err
	}
	if length >= 0 {
		file = io.LimitReader(file, length)
	}
	announceFault(w)
	if _, err := files.Copy(w, file); err != nil {
		return lateFault(w, err)
	}
	return nil
}

func (g *Guest) writeFile(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	target, err := g.target(query)
	if err != nil {
		return err
	}
	var options files.WriteOptions
	if text := query.Get("mode"); text != "" {
		mode, err := strconv.ParseUint(text, 8, 32)
		if err != nil || mode > 0o7777 {
			return fault.New(fault.InvalidInput, "mode %q is not an octal mode", text)
		}
		asked := uint32(mode)
		options.Mode = &asked
	}
	switch create := query.Get("create"); create {
	case "":
	case "exclusive":
		options.Exclusive = true
	default:
		return fault.New(fault.InvalidInput, "create is %q, not exclusive", create)
	}
	stat, err := target.Write(r.Body, options)
	if err != nil {
		return fault.At(target.Path, err)
	}
	return writeJSON(w, stat)
}

func (g *Guest) appendFile(w http.ResponseWriter, r *http.Request) error {
	target, err := g.target(r.URL.Query())
	if err != nil {
		return err
	}
	stat, err := target.Append(r.Body)
	if err != nil {
		return fault.At(target.Path, err)
	}
	return writeJSON(w, stat)
}

func (g *Guest) pack(w http.ResponseWriter, r *http.Request) error {
	target, err := g.target(r.URL.Query())
	if err != nil {
		return err
	}
	packing, err := target.Pack(r.Context())
	if err != nil {
		return fault.At(target.Path, err)
	}
	defer packing.Close()
	packing.Holes = r.URL.Query().Get("holes") == "true"
	w.Header().Set("content-type", "application/x-tar")
	announceFault(w)
	if err := packing.WriteTo(r.Context(), w); err != nil {
		return lateFault(w, err)
	}
	return nil
}

func (g *Guest) unpack(w http.ResponseWriter, r *http.Request) error {
	target, err := g.target(r.URL.Query())
	if err != nil {
		return err
	}
	count, err := target.Unpack(r.Context(), r.Body)
	if err != nil {
		return fault.At(target.Path, err)
	}
	return writeJSON(w, map[string]int{"entries": count})
}

func (g *Guest) watch(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	target, err := g.target(query)
	if err != nil {
		return err
	}
	return lines(w, r, func(send func(any) error) error {
		err := target.Watch(r.Context(), query.Get("recursive") == "true", func(change files.Change) error {
			return send(change)
		})
		return fault.At(target.Path, err)
	})
}

// faultTrailer is the trailer that carries the reason when a started answer ends early.
const faultTrailer = "X-Fault"

func announceFault(w http.ResponseWriter) { w.Header().Set("Trailer", faultTrailer) }

func lateFault(w http.ResponseWriter, err error) error {
	refusal := fault.From(err)
	body, err := json.Marshal(map[string]any{"code": refusal.Code, "error": refusal.Message})
	if err != nil {
		return errBroken
	}
	w.Header().Set(faultTrailer, base64.StdEncoding.EncodeToString(body))
	return nil
}

func number(query url.Values, name string, otherwise int64) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 0 {
		return 0, fault.New(fault.InvalidInput, "%s is %q, not a number of bytes", name, text)
	}
	return value, nil
}
