package workspace

import (
	"sync"
	"sync/atomic"
	"syscall"
)

const workers = 2

// A crew works through folders, two at a time. The last folder found is the next one taken, so that only the
// folders on the way to where the crew is are open.
type crew struct {
	mutex sync.Mutex
	more  sync.Cond
	tasks []task
	busy  int
	err   error
	stop  *atomic.Bool
}

type task func(w *worker) error

// A worker has the buffers that one thread of work needs.
type worker struct {
	names, left, right []byte
	raw                syscall.Stat_t
	pack               *pack
}

func (c *crew) add(t task) {
	c.mutex.Lock()
	c.tasks = append(c.tasks, t)
	c.mutex.Unlock()
	c.more.Signal()
}

// work returns when every task and all that came of them is done, or with the first error.
func (c *crew) work(hands []*worker, first task) error {
	c.more.L = &c.mutex
	c.tasks = append(c.tasks, first)
	var group sync.WaitGroup
	for _, w := range hands {
		group.Go(func() { c.loop(w) })
	}
	group.Wait()
	return c.err
}

func (c *crew) loop(w *worker) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		for len(c.tasks) == 0 && c.busy > 0 && c.err == nil {
			c.more.Wait()
		}
		if len(c.tasks) == 0 || c.err != nil {
			c.more.Broadcast()
			return
		}
		next := c.tasks[len(c.tasks)-1]
		c.tasks = c.tasks[:len(c.tasks)-1]
		c.busy++
		c.mutex.Unlock()
		err := next(w)
		if err == nil && c.stop.Load() {
			err = errStopped
		}
		c.mutex.Lock()
		c.busy--
		if c.err == nil {
			c.err = err
		}
	}
}

func newWorkers() []*worker {
	hands := make([]*worker, workers)
	for i := range hands {
		hands[i] = &worker{names: make([]byte, readBufBytes)}
	}
	return hands
}

// compareBuffers are made when they are first needed: most calls never do.
func (w *worker) compareBuffers() ([]byte, []byte) {
	if w.left == nil {
		w.left, w.right = make([]byte, copyBytes), make([]byte, copyBytes)
	}
	return w.left, w.right
}

// An openFolder stays open until everything below it is done.
type openFolder struct {
	fd     int
	depth  int
	parent *openFolder
	left   atomic.Int32
	finish func() error
}

func newOpenFolder(fd int, parent *openFolder) *openFolder {
	f := &openFolder{fd: fd, parent: parent}
	f.left.Store(1)
	if parent != nil {
		f.depth = parent.depth + 1
		parent.left.Add(1)
	}
	return f
}

// hold is for work to come that needs the folder; each hold needs its own done.
func (f *openFolder) hold() { f.left.Add(1) }

func (f *openFolder) done() error {
	if f.left.Add(-1) > 0 {
		return nil
	}
	var err error
	if f.finish != nil {
		err = f.finish()
	}
	_ = syscall.Close(f.fd)
	if f.parent == nil {
		return err
	}
	if above := f.parent.done(); err == nil {
		err = above
	}
	return err
}
