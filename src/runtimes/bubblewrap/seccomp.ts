/**
 * A seccomp filter for bubblewrap, which has none of its own: what code in a sandbox has no honest use for
 * and what kernel bugs like best. Refused calls fail with EPERM; `clone3`, whose flags a filter cannot see,
 * with ENOSYS, so that libraries take `clone`. In the kernel's own form: eight bytes an instruction.
 */
export function seccompFilter(arch: string): Buffer | undefined {
  const machine = machines[arch];
  if (machine === undefined) return undefined;
  const refused = Object.values(machine.refused);
  const program = [
    load(offsets.arch),
    // Another architecture's numbers mean other calls.
    jumpIfEqual(machine.audit, 1, 0),
    answer(kill),
    load(offsets.number),
    ...refused.flatMap((number) => [jumpIfEqual(number, 0, 1), answer(errno.EPERM)]),
    jumpIfEqual(machine.clone3, 0, 1),
    answer(errno.ENOSYS),
    jumpIfEqual(machine.clone, 0, 3),
    load(offsets.firstArgument),
    jumpIfAnyBit(newNamespaces, 0, 1),
    answer(errno.EPERM),
    answer(allow),
  ];
  return Buffer.concat(program);
}

const offsets = { number: 0, arch: 4, firstArgument: 16 };
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e020000;
const allow = 0x7fff0000;
const kill = 0x80000000;
const errno = { EPERM: 0x00050001, ENOSYS: 0x00050026 };

const load = (offset: number) => instruction(0x20, 0, 0, offset);
const jumpIfEqual = (value: number, ifTrue: number, ifFalse: number) =>
  instruction(0x15, ifTrue, ifFalse, value);
const jumpIfAnyBit = (mask: number, ifTrue: number, ifFalse: number) =>
  instruction(0x45, ifTrue, ifFalse, mask);
const answer = (value: number) => instruction(0x06, 0, 0, value);

function instruction(code: number, ifTrue: number, ifFalse: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}

interface Machine {
  readonly audit: number;
  readonly clone: number;
  readonly clone3: number;
  readonly refused: Readonly<Record<string, number>>;
}

const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    refused: {
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      chroot: 161,
      unshare: 272,
      setns: 308,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      open_by_handle_at: 304,
      fsopen: 430,
      fsmount: 432,
      move_mount: 429,
      open_tree: 428,
      kexec_load: 246,
      init_module: 175,
      finit_module: 313,
      delete_module: 176,
      swapon: 167,
      reboot: 169,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    refused: {
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      chroot: 51,
      unshare: 97,
      setns: 268,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      open_by_handle_at: 265,
      fsopen: 430,
      fsmount: 432,
      move_mount: 429,
      open_tree: 428,
      kexec_load: 104,
      init_module: 105,
      finit_module: 273,
      delete_module: 106,
      swapon: 224,
      reboot: 142,
    },
  },
};
