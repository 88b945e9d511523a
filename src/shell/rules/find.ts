import { type Argument, literal } from '../frame.ts';
import { isWideGlob } from '../glob.ts';

export interface FindSearch {
  readonly starts: readonly Argument[];
  /** False if the search matches everything, or everything of one type. */
  readonly selective: boolean;
  readonly deletes: boolean;
  readonly commands: readonly (readonly Argument[])[];
}

const selecting =
  /^-(?:i?name|i?path|i?wholename|i?regex|[amc](?:time|min)|newer\w*|size|empty|perm|user|uid|group|gid|links|inum|samefile|nouser|nogroup)$/;

/** Reads the arguments of `find`. */
export function readFind(args: readonly Argument[]): FindSearch {
  const expression = args.findIndex(({ text }) => /^[-(!]/.test(text) && !/^-[HLPDO]/.test(text));
  const end = expression < 0 ? args.length : expression;
  const starts = args.slice(0, end).filter(({ text }) => !text.startsWith('-'));
  const commands: Argument[][] = [];
  let selective = false;
  let deletes = false;
  for (let at = end; at < args.length; at++) {
    const text = args[at]?.text ?? '';
    if (/^-(?:exec|execdir|ok|okdir)$/.test(text)) {
      const stop = args.findIndex(({ text }, index) => index > at && (text === ';' || text === '+'));
      commands.push(args.slice(at + 1, stop < 0 ? args.length : stop));
      at = stop < 0 ? args.length : stop;
    } else if (text === '-delete') {
      deletes = true;
    } else if (selecting.test(text)) {
      // A search for everything except something matches nearly everything.
      const negated = /^(?:!|-not)$/.test(args[at - 1]?.text ?? '');
      selective ||= !negated && !isWideGlob(args[at + 1]?.text ?? '');
    }
  }
  return { starts: starts.length > 0 ? starts : [literal('.')], selective, deletes, commands };
}
