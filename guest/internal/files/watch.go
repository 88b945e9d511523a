package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"geode/guest/internal/fault"
)

// A Change is one line of a watch.
type Change struct {
	Type       string `json:"type"`
	Path       string `json:"path,omitempty"`
	PathBase64 string `json:"pathBase64,omitempty"`
	From       string `json:"from,omitempty"` // of a move
}

const (
	watchedEvents = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MODIFY | syscall.IN_MOVED_FROM |
		syscall.IN_MOVED_TO | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR | syscall.IN_EXCL_UNLINK
	eventHeader = 16
	// settleTime lets a burst of writes to one file become one line.
	settleTime = 20 * time.Millisecond
)

// Watch reports what happens in a folder until the context ends or the folder is gone. Links are not followed.
func (t Target) Watch(ctx context.Context, recursive bool, report func(Change) error) error {
	folder, err := openFolder(t.place, t.name)
	if err != nil {
		return err
	}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		folder.Close()
		return fault.New(fault.CannotEnforce, "cannot watch: %s", err)
	}
	file := os.NewFile(uintptr(fd), "inotify")
	defer file.Close()
	watch := &watch{fd: fd, ctx: ctx, target: t, recursive: recursive, folders: map[int32]string{}, report: report}
	err = watch.add(folder, t.Path)
	folder.Close() // a folder that is held open is not reported as removed
	if err != nil {
		return fault.New(fault.CannotEnforce, "cannot watch %s: %s", t.Path, err)
	}
	if err := report(Change{Type: "ready"}); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })()
	return watch.run(file)
}

type watch struct {
	fd        int
	ctx       context.Context
	target    Target
	recursive bool
	folders   map[int32]string // the path of each watched folder
	report    func(Change) error
	last      Change
}

// add watches a folder, and the ones below it. The kernel takes only names, so the open folder is named
// through /proc.
func (w *watch) add(folder *os.File, path string) error {
	id, err := syscall.InotifyAddWatch(w.fd, procPath(folder), watchedEvents)
	if err != nil {
		return err
	}
	w.folders[int32(id)] = path
	if !w.recursive {
		return nil
	}
	walk := walk{ctx: w.ctx, depth: 1, patient: true, visit: func(e entry) (bool, error) {
		if !isFolder(e.raw) {
			return false, nil
		}
		inner, err := openFolderAt(e.folder, e.name)
		if err != nil {
			return false, nil
		}
		defer inner.Close()
		return false, w.add(inner, joinPath(path, e.name))
	}}
	return walk.run(folder)
}

func (w *watch) run(file *os.File) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := file.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return context.Canceled
		}
		if err != nil {
			return err
		}
		ended, err := w.batch(buffer[:n])
		if ended || err != nil {
			return err
		}
		select {
		case <-time.After(settleTime):
		case <-w.ctx.Done():
			return context.Canceled
		}
	}
}

type inotifyEvent struct {
	id     int32
	mask   uint32
	cookie uint32
	name   string
}

func parseEvents(raw []byte) []inotifyEvent {
	var events []inotifyEvent
	for len(raw) >= eventHeader {
		length := int(binary.NativeEndian.Uint32(raw[12:]))
		if len(raw) < eventHeader+length {
			break
		}
		name, _, _ := bytes.Cut(raw[eventHeader:eventHeader+length], []byte{0})
		events = append(events, inotifyEvent{
			id:     int32(binary.NativeEndian.Uint32(raw)),
			mask:   binary.NativeEndian.Uint32(raw[4:]),
			cookie: binary.NativeEndian.Uint32(raw[8:]),
			name:   string(name),
		})
		raw = raw[eventHeader+length:]
	}
	return events
}

// batch reports what was read at once. Both halves of a move are in it, next to each other, unless one of
// them is outside the watched folders.
func (w *watch) batch(raw []byte) (ended bool, err error) {
	w.last = Change{}
	events := parseEvents(raw)
	for i := 0; i < len(events); i++ {
		event := events[i]
		if event.mask&syscall.IN_Q_OVERFLOW != 0 {
			err = w.overflow()
		} else if event.mask&(syscall.IN_IGNORED|syscall.IN_MOVE_SELF) != 0 {
			if w.folders[event.id] == w.target.Path {
				return true, w.send(Change{Type: "remove", Path: w.target.Path})
			}
			if event.mask&syscall.IN_IGNORED != 0 {
				delete(w.folders, event.id)
			}
		} else if event.mask&syscall.IN_MOVED_FROM != 0 && i+1 < len(events) && events[i+1].cookie == event.cookie {
			i++
			err = w.moved(event, events[i])
		} else {
			err = w.single(event)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (w *watch) single(event inotifyEvent) error {
	parent, known := w.folders[event.id]
	if !known || event.name == "" {
		return nil
	}
	change := Change{Path: joinPath(parent, event.name)}
	isDir := event.mask&syscall.IN_ISDIR != 0
	switch {
	case event.mask&(syscall.IN_CREATE|syscall.IN_MOVED_TO) != 0:
		change.Type = "create"
		if err := w.send(change); err != nil {
			return err
		}
		if isDir && w.recursive {
			return w.arrived(change.Path)
		}
		return nil
	case event.mask&(syscall.IN_DELETE|syscall.IN_MOVED_FROM) != 0:
		change.Type = "remove"
		if isDir {
			w.forget(change.Path)
		}
	default:
		change.Type = "modify"
	}
	return w.send(change)
}

// arrived watches a new folder. What was put into it before that is reported as if it came now.
func (w *watch) arrived(path string) error {
	folder, err := w.open(path)
	if err != nil {
		return nil // gone again
	}
	defer folder.Close()
	if err := w.add(folder, path); err != nil {
		return w.send(Change{Type: "overflow"})
	}
	if _, err := folder.Seek(0, 0); err != nil {
		return err
	}
	walk := walk{ctx: w.ctx, patient: true, visit: func(e entry) (bool, error) {
		return true, w.send(Change{Type: "create", Path: joinPath(path, e.path)})
	}}
	return walk.run(folder)
}

func (w *watch) moved(from, to inotifyEvent) error {
	source, known := w.folders[from.id]
	target, alsoKnown := w.folders[to.id]
	if !known || !alsoKnown {
		return nil
	}
	change := Change{Type: "move", Path: joinPath(target, to.name), From: joinPath(source, from.name)}
	if err := w.send(change); err != nil {
		return err
	}
	if to.mask&syscall.IN_ISDIR == 0 || !w.recursive {
		return nil
	}
	// The watches go with the folders; only what they are called changes.
	for id, known := range w.folders {
		if known == change.From || strings.HasPrefix(known, change.From+"/") {
			w.folders[id] = change.Path + known[len(change.From):]
		}
	}
	return nil
}

// forget drops a folder that has left, with everything below it.
func (w *watch) forget(path string) {
	for id, known := range w.folders {
		if known == path || strings.HasPrefix(known, path+"/") {
			_, _ = syscall.InotifyRmWatch(w.fd, uint32(id))
			delete(w.folders, id)
		}
	}
}

// overflow reports lost changes, and watches folders that were created with them.
func (w *watch) overflow() error {
	folder, err := w.open(w.target.Path)
	if err == nil && w.recursive {
		err = w.add(folder, w.target.Path)
		folder.Close()
		if w.ctx.Err() != nil {
			return err
		}
	}
	return w.send(Change{Type: "overflow"})
}

func (w *watch) send(change Change) error {
	if change == w.last {
		return nil
	}
	w.last = change
	change.Path, change.PathBase64 = readable(change.Path)
	change.From, _ = readable(change.From)
	return w.report(change)
}

// open opens a watched folder: the way that the watch began, and from there step by step through no link.
func (w *watch) open(path string) (*os.File, error) {
	current, err := openFolder(w.target.place, w.target.name)
	below := strings.TrimPrefix(strings.TrimPrefix(path, w.target.Path), "/")
	if err != nil || below == "" {
		return current, err
	}
	for part := range strings.SplitSeq(below, "/") {
		next, err := openFolderAt(current, part)
		current.Close()
		if err != nil {
			return nil, err
		}
		current = next
	}
	return current, nil
}
