package workspace

import (
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"geode/guest/internal/at"
	"geode/guest/internal/fault"
)

// A request is the first line that the host writes. Which fields count depends on the verb.
type request struct {
	Verb      string `json:"verb"`
	Store     string `json:"store"`
	Workspace string `json:"workspace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// Against is the snapshot that a diff compares with; empty: the workspace as it is.
	Against     string `json:"against"`
	AgainstKind string `json:"againstKind"`
	// Into is the workspace that a fork fills, or the folder that changes places with the workspace.
	Into string `json:"into"`
	// Most snapshots of this kind, and bytes that one may add.
	Most int `json:"most"`
	// Also: a second kind that the same snapshot is kept as, and how many of that kind are kept.
	Also      string `json:"also"`
	MostAlso  int    `json:"mostAlso"`
	MostBytes int64  `json:"mostBytes"`
	// Sync: what was taken survives a loss of power.
	Sync bool `json:"sync"`
	// Pause waits for the host before a second, short pass.
	Pause bool `json:"pause"`
	// Path of a file to read, as bytes.
	Path []byte `json:"path"`
	// Owners of a fork: files of the first become files of the second.
	From *owner `json:"from"`
	To   *owner `json:"to"`
}

type owner struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
}

type job struct {
	request
	stop *atomic.Bool
	// emit writes a line to the host, wait reads one.
	emit func(any) error
	wait func() error
}

func (j *job) run() error {
	switch j.Verb {
	case "take":
		return j.take()
	case "list":
		return j.list()
	case "restore":
		return j.restore()
	case "fork":
		return j.fork()
	case "diff":
		return j.diff()
	case "read":
		return j.read()
	case "remove":
		return j.remove()
	case "exchange":
		return j.exchange()
	}
	return fault.New(fault.InvalidInput, "there is no verb %q", j.Verb)
}

// exchange swaps two folders in one step: at any moment, also after a crash, each path leads to a whole folder.
func (j *job) exchange() error {
	if err := at.Exchange(j.Workspace, j.Into); err != nil {
		return fault.From(err)
	}
	return j.emit(map[string]any{})
}

// take keeps the workspace as it is. With a pause the first look copies what changed while processes go on,
// and the second, short one sees all of it at one moment.
func (j *job) take() error {
	s, err := openStore(j.Store, true)
	if err != nil {
		return err
	}
	defer s.close()
	about, err := j.newSummary(s)
	if err != nil {
		return err
	}
	hands := newWorkers()
	tree, err := j.lookTwice(s, hands)
	if err == nil {
		err = s.finish(hands)
	}
	if err == nil {
		about.counts, about.AddedBytes = countsOf(tree), s.added.Load()
		err = s.publish(about, tree, j.Sync)
	}
	if err == nil && j.Also != "" {
		err = s.publishAlso(about, j.Also, tree, j.Sync)
	}
	if err != nil {
		s.forget(hands)
		return err
	}
	if err := s.retain(j.Kind, j.Most); err != nil {
		return err
	}
	if j.Also != "" {
		if err := s.retain(j.Also, j.MostAlso); err != nil {
			return err
		}
	}
	return j.emit(map[string]any{"snapshot": about})
}

func (j *job) newSummary(s *store) (summary, error) {
	s.sync, s.most = j.Sync, j.MostBytes
	s.number++
	about := summary{Name: j.Name, Kind: j.Kind, TakenMs: time.Now().UnixMilli()}
	if !slices.Contains(kinds, j.Kind) || (j.Also != "" && !slices.Contains(kinds, j.Also)) {
		return about, fault.New(fault.InvalidInput, "there is no kind %q of snapshot", j.Kind)
	}
	if about.Name == "" {
		about.Name = strconv.FormatUint(s.number, 10)
	} else if err := checkName(about.Name); err != nil {
		return about, err
	}
	if _, err := os.Lstat(s.path(j.Kind, about.Name)); err == nil {
		return about, fault.New(fault.SnapshotExists, "there is a snapshot %q already", about.Name)
	}
	all, err := s.list()
	named := 0
	for _, one := range all {
		if one.Kind == j.Kind && !numbered(one.Name) {
			named++
		}
	}
	if err == nil && named >= j.Most {
		err = fault.New(fault.SnapshotLimit, "there are %d snapshots with names, and no more than %d are kept", named, j.Most)
	}
	return about, err
}

func checkName(name string) error {
	fine := name != "" && len(name) <= 64 && name[0] != '.' && name[0] != '-'
	for _, letter := range []byte(name) {
		switch {
		case letter >= 'a' && letter <= 'z', letter >= 'A' && letter <= 'Z', letter >= '0' && letter <= '9':
		case letter == '.', letter == '-', letter == '_':
		default:
			fine = false
		}
	}
	if !fine {
		return fault.New(fault.InvalidInput, "%q is not a name for a snapshot", name)
	}
	return nil
}

func (j *job) lookTwice(s *store, hands []*worker) (*node, error) {
	workspace, err := openWorkspace(j.Workspace)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(workspace)
	tree, err := j.look(s, true).run(hands, workspace, s.index(), nil)
	if err != nil || !j.Pause {
		return tree, err
	}
	// Its own packs are read again.
	if err := s.finish(hands); err != nil {
		return nil, err
	}
	if err := j.emit(map[string]any{"event": "ready"}); err != nil {
		return nil, err
	}
	if err := j.wait(); err != nil {
		return nil, err
	}
	if tree, err = j.look(s, true).run(hands, workspace, tree, nil); err != nil {
		return nil, err
	}
	return tree, j.emit(map[string]any{"event": "seen"})
}

func (j *job) look(s *store, keep bool) *look {
	return &look{crew: crew{stop: j.stop}, store: s, keep: keep}
}

func openWorkspace(path string) (int, error) {
	fd, err := syscall.Open(path, at.AsFolder|at.NeverFollow, 0)
	return fd, fault.At(path, err)
}

func (j *job) list() error {
	// Needs no lock: a manifest is there or not, and never half.
	s := &store{folder: j.Store}
	all, err := s.list()
	if os.IsNotExist(err) {
		return j.emit(map[string]any{"snapshots": []summary{}, "diskBytes": 0})
	}
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b summary) int { return int(a.Sequence) - int(b.Sequence) })
	disk := int64(0)
	packs, err := s.packs()
	for _, id := range packs {
		var raw syscall.Stat_t
		if syscall.Lstat(s.packPath(id), &raw) == nil {
			disk += raw.Blocks * 512
		}
	}
	if err != nil {
		return err
	}
	return j.emit(map[string]any{"snapshots": append([]summary{}, all...), "diskBytes": disk})
}

func (j *job) remove() error {
	s, err := openStore(j.Store, true)
	if err != nil {
		return err
	}
	defer s.close()
	if err := checkName(j.Name); err != nil {
		return err
	}
	about, _ := readSummary(s.path(j.Kind, j.Name))
	err = os.Remove(s.path(j.Kind, j.Name))
	if os.IsNotExist(err) {
		return fault.New(fault.SnapshotNotFound, "there is no snapshot %q", j.Name)
	}
	if err == nil && (j.Kind == kept || about.leavesMuch()) {
		err = s.collect()
	}
	if err != nil {
		return err
	}
	return j.emit(map[string]any{"removed": true})
}
