/**
 * System calls that programs of a sandbox may make. The profile for engines and the filter for bubblewrap are both
 * made from this list. Every other call is refused. The list contains no call that Docker's default profile refuses
 * to a container without capabilities, except Landlock, with which a program can only give up its own rights.
 */
import { namesIn } from './numbers.ts';

export const allowedCalls: readonly string[] = [
  // Files and folders.
  ...namesIn(`
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
    fallocate fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr
    fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr ioctl lchown lgetxattr
    link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open
    openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
    removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync
    sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev`),
  // Waiting for files, and change notifications.
  ...namesIn(`
    epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 inotify_add_watch
    inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit
    pipe pipe2 poll ppoll pselect6 select signalfd signalfd4`),
  // Memory.
  ...namesIn(`
    brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall
    munmap pkey_alloc pkey_free pkey_mprotect remap_file_pages`),
  // Processes, threads and signals. The sandbox's own processes may debug each other.
  ...namesIn(`
    alarm arch_prctl capget capset execve execveat exit exit_group fork futex get_robust_list getcpu getpgid getpgrp
    getpid getppid getpriority getrlimit getrusage getsid gettid ioprio_get ioprio_set kill pause pidfd_open
    pidfd_send_signal prctl prlimit64 process_vm_readv process_vm_writev ptrace restart_syscall rseq rt_sigaction
    rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
    sched_yield set_robust_list set_tid_address setpgid setpriority setrlimit setsid sigaltstack tgkill tkill vfork
    wait4 waitid`),
  // Users and groups: without a capability these only give up rights.
  ...namesIn(`
    getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid setgid setgroups setregid
    setresgid setresuid setreuid setuid`),
  // Sandboxes that a program makes for itself.
  ...namesIn('landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp'),
  // Calls on existing sockets.
  ...namesIn(`
    accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg
    sendmsg sendto setsockopt shutdown`),
  // Communication between processes, in the sandbox's own IPC namespace.
  ...namesIn(`
    mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget
    semop semtimedop shmat shmctl shmdt shmget`),
  // Time, random numbers and facts about the machine.
  ...namesIn(`
    adjtimex clock_adjtime clock_getres clock_gettime clock_nanosleep getitimer getrandom gettimeofday nanosleep
    setitimer sysinfo time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
    timerfd_gettime timerfd_settime times uname`),
];

/** The allowed first argument of a system call, of which the kernel reads 32 bits. */
export type ArgumentRule =
  | { readonly call: string; readonly oneOf: readonly number[] }
  | { readonly call: string; readonly noneOfBits: number };

/**
 * AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. AF_VSOCK is not limited by network namespaces; the others have no use
 * here.
 */
const socketFamilies = [1, 2, 10, 16];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e020000;
/** Allowed values of `personality`: the default and the query. Others disable protections or change calls. */
const personalities = [0, 0xffffffff];

export const argumentRules: readonly ArgumentRule[] = [
  { call: 'clone', noneOfBits: newNamespaces },
  { call: 'personality', oneOf: personalities },
  { call: 'socket', oneOf: socketFamilies },
  { call: 'socketpair', oneOf: socketFamilies },
];

/**
 * Calls that fail with ENOSYS, so that libraries fall back to an older call: `clone3`, whose flags a filter cannot
 * see, and calls newer than this list.
 */
export const hiddenCalls: readonly string[] = namesIn(`
  clone3 memfd_secret process_mrelease futex_waitv cachestat fchmodat2 map_shadow_stack futex_wake futex_wait
  futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal`);
