package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"geode/guest/internal/cgroup"
	"geode/guest/internal/footprint"
	"geode/guest/internal/link"
	"geode/guest/internal/processes"
	"geode/guest/internal/spawn"
)

const (
	defaultLeaseMs = 60_000
	defaultUmask   = 0o022

	setDumpable       = 4
	setChildSubreaper = 36
)

type initOptions struct {
	dial, listen, cgroup string
	// user is whom the guest becomes before anything else: walls built by root need not be lived in as root.
	user    string
	leaseMs int64
	soft    processes.SoftLimits
}

// runInit is the guest proper. It returns after a stop request or the end of its lease, and then nothing
// that it started runs any more.
func runInit(options initOptions) error {
	if err := spawn.Become(options.user); err != nil {
		return err
	}
	if err := settle(); err != nil {
		return err
	}
	table, err := processes.NewTable(cgroup.Open(options.cgroup))
	if err != nil {
		return err
	}
	spawn.LimitTasks(options.soft.PIDs)
	table.HoldSoftly(options.soft)
	table.Reap()

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	leaseOver := make(chan struct{})
	lease := time.Duration(options.leaseMs) * time.Millisecond
	guest := link.New(version, table, lease, func() { close(leaseOver) })

	door := link.NewDoor()
	if options.listen != "" {
		if err := link.Listen(door, options.listen); err != nil {
			return err
		}
	} else {
		go link.Dial(door, options.dial)
	}
	saved := make(chan os.Signal, 1)
	signal.Notify(saved, syscall.SIGUSR1)
	go func() {
		for range saved {
			guest.DropDead()
		}
	}()
	served := make(chan error, 1)
	go func() { served <- guest.Serve(door) }()

	select {
	case <-stop:
	case <-leaseOver:
	case err = <-served:
	}
	table.Stop()
	return err
}

// settle prepares the process itself.
func settle() error {
	footprint.Limit()
	spawn.CloseOnExec()
	syscall.Umask(defaultUmask)
	spawn.Protect()
	// Nobody inside may read the secret out of the guest's memory, not even its own user.
	if err := prctl(setDumpable, 0); err != nil {
		return err
	}
	if os.Getpid() != 1 {
		if err := prctl(setChildSubreaper, 1); err != nil {
			return err
		}
	}
	// Caught and dropped instead of ignored: commands would inherit the latter.
	nothing := make(chan os.Signal, 1)
	signal.Notify(nothing, syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR2)
	return nil
}

func prctl(option, value uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}
