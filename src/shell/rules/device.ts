import type { Field } from '../field.ts';
import type { Frame } from '../frame.ts';
import { given, readOptions } from '../options.ts';
import { resolvePath } from '../paths.ts';
import { isDevice } from '../places.ts';
import type { Call } from '../programs/call.ts';
import { operandValue } from '../programs/finders.ts';
import { excerpt } from '../verdict.ts';
import type { Rule } from './rule.ts';

/** Programs whose every device argument gets written to. */
const formatters =
  'mkfs mke2fs mkswap wipefs blkdiscard sgdisk gdisk cfdisk sfdisk parted cryptsetup badblocks pvcreate mkdosfs mkntfs mdadm shred tee cp mv install truncate sponge wipe srm zpool rm'.split(
    ' ',
  );

/** Writing to a block device, to memory, or to the kernel's command file. */
export const device: Rule = {
  name: 'device',
  programs: [...formatters, 'dd', 'fdisk', 'hdparm', 'nvme'],
  check: (call) => {
    const target = writtenDevice(call);
    return target && `It would overwrite the device ${excerpt(target.text)}.`;
  },
};

function writtenDevice({ name, args, frame }: Call): Field | undefined {
  if (name === 'dd') {
    const target = operandValue(args, 'of');
    return target !== undefined && onDevice(target, frame) ? target : undefined;
  }
  if (!writes(name, args)) return undefined;
  const { operands } = readOptions(args, {});
  const targets = /^(?:cp|mv|install)$/.test(name) ? operands.slice(-1) : operands;
  return targets.find((target) => onDevice(target, frame));
}

function writes(name: string, args: readonly Field[]): boolean {
  const options = readOptions(args, {});
  if (name === 'fdisk' || name === 'sfdisk' || name === 'parted') return !given(options, 'l', 'list');
  if (name === 'hdparm') return [...options.flags].some((flag) => flag.startsWith('security-'));
  if (name === 'nvme') return args[0]?.text === 'format' || args[0]?.text === 'sanitize';
  return formatters.includes(name) || name.startsWith('mkfs.');
}

function onDevice(target: Field, frame: Frame): boolean {
  return isDevice(resolvePath(target, frame));
}
