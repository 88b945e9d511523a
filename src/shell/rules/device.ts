import type { Argument } from '../frame.ts';
import { given, readOptions } from '../options.ts';
import { resolvePath } from '../paths.ts';
import { isDevice } from '../places.ts';
import { excerpt } from '../verdict.ts';
import type { ProgramCall, Rule } from './rule.ts';

/** Programs that write to every device in their arguments. */
const writers = new Set(
  (
    'mke2fs mkswap wipefs blkdiscard sgdisk gdisk cfdisk sfdisk fdisk parted cryptsetup badblocks pvcreate mkdosfs mkntfs ' +
    'mdadm shred tee cp mv install truncate sponge wipe srm zpool rm hdparm nvme mkfs'
  ).split(' '),
);

/** Writing to a block device, to memory, or to the kernel's command file. */
export const device: Rule = {
  name: 'device',
  check: (call) => {
    const target = targetsOf(call).find(({ pattern }) => isDevice(resolvePath(pattern, call.frame)));
    return target && `It would overwrite the device ${excerpt(target.text)}.`;
  },
};

function targetsOf({ name, args }: ProgramCall): readonly Argument[] {
  if (name === 'dd') return operandValues(args, 'of');
  if (!writers.has(name) && !name.startsWith('mkfs.')) return [];
  const options = readOptions(args, {});
  if (/^(?:s?fdisk|parted)$/.test(name) && given(options, 'l', 'list')) return [];
  if (name === 'hdparm' && ![...options.flags].some((flag) => flag.startsWith('security-'))) return [];
  if (name === 'nvme' && !/^(?:format|sanitize)$/.test(args[0]?.text ?? '')) return [];
  return /^(?:cp|mv|install)$/.test(name) ? options.operands.slice(-1) : options.operands;
}

/** The values of `name=value` operands, in the style of `dd`. */
export function operandValues(args: readonly Argument[], name: string): Argument[] {
  return args
    .filter(({ text }) => text.startsWith(`${name}=`))
    .map((argument) => ({ ...argument, pattern: argument.pattern.slice(name.length + 1) }));
}
