// Package fault holds the refusals that a guest can answer with: a code from the project's catalogue and
// a sentence that names the thing and the reason.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// A Code is one line of docs/errors.md, or "refused".
type Code string

const (
	Refused         Code = "refused"
	InvalidInput    Code = "invalid_input"
	InvalidPath     Code = "invalid_path"
	TooLarge        Code = "too_large"
	CannotEnforce   Code = "cannot_enforce"
	GuestVersion    Code = "guest_version"
	ProcessNotFound Code = "process_not_found"
	SpawnFailed     Code = "spawn_failed"
	FileNotFound    Code = "file_not_found"
	FileExists      Code = "file_exists"
	FileRefused     Code = "file_refused"
	NotAFile        Code = "not_a_file"
	DiskFull        Code = "disk_full"
	ArchiveRefused  Code = "archive_refused"
	TunnelRefused   Code = "tunnel_refused"
	Cancelled       Code = "cancelled"
	Internal        Code = "internal"

	SnapshotNotFound Code = "snapshot_not_found"
	SnapshotExists   Code = "snapshot_exists"
	SnapshotLimit    Code = "snapshot_limit"
	SnapshotDamaged  Code = "snapshot_damaged"
	WorkspaceBusy    Code = "workspace_busy"
)

// A Fault is a refusal on its way to the host. Details are further fields of its JSON body.
type Fault struct {
	Code    Code
	Message string
	Details map[string]any
}

func (f *Fault) Error() string { return f.Message }

// New makes a fault from a format.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds a field to the body of the answer.
func (f *Fault) With(name string, value any) *Fault {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[name] = value
	return f
}

// From turns any error into a fault. What is one already stays as it is; an error of the kernel gets the
// code that says what a caller can do about it.
func From(err error) *Fault { return about("", err) }

// At is From for something that was done to a path, which the message then names.
func At(path string, err error) error {
	if err == nil {
		return nil
	}
	return about(path+": ", err)
}

func about(subject string, err error) *Fault {
	var known *Fault
	var errno syscall.Errno
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &errno):
		return New(codeOf(errno), "%s%s", subject, errno)
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "%scancelled", subject)
	case errors.Is(err, os.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
		return New(Internal, "%s%s", subject, err)
	case errors.As(err, &pathError):
		// Package os refuses by itself only a path that leaves its root.
		return New(InvalidPath, "%s%s", subject, pathError.Err)
	case errors.As(err, &linkError):
		return New(InvalidPath, "%s%s", subject, linkError.Err)
	}
	return New(Internal, "%s%s", subject, err)
}

func codeOf(errno syscall.Errno) Code {
	switch errno {
	case syscall.ENOENT:
		return FileNotFound
	case syscall.EEXIST, syscall.ENOTEMPTY:
		return FileExists
	case syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EBUSY, syscall.ETXTBSY:
		return FileRefused
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		return DiskFull
	case syscall.ELOOP, syscall.ENAMETOOLONG:
		return InvalidPath
	case syscall.EISDIR, syscall.ENOTDIR, syscall.ENXIO, syscall.ENODEV:
		return NotAFile
	case syscall.EINVAL:
		return InvalidInput
	}
	return Internal
}
