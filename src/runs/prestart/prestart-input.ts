import type { Prestart } from '../languages/language.ts';
import type { RunOptions } from '../options.ts';

/** Sent together with the command, next to it. */
const mostBytes = 16 * 1024;
/** Variables that the loader, the C library or an interpreter reads at its start, before it can receive a command. */
const readByAll = /^(PATH|HOME|TZ|TZDIR|LANG|LANGUAGE|LOCPATH|GCONV_PATH)$|^(LC|LD|MALLOC|GLIBC)_/;

/**
 * The input that turns a waiting interpreter into this run; undefined if the run needs other settings from the start
 * than the interpreter has.
 */
export function prestartInputOf(
  { readsAtStart }: Prestart,
  { cwd = '.', argv = [], env = {} }: RunOptions,
  startedWith: RunOptions['env'] = {},
): Uint8Array | undefined {
  const names = Object.keys(env).filter((name) => env[name] !== startedWith[name]);
  if (names.some((name) => readsAtStart.test(name) || readByAll.test(name))) return undefined;
  const text = [cwd, argv.length, ...argv, ...Object.entries(env).flat()].join('\0');
  const length = Buffer.byteLength(text);
  if (length > mostBytes) return undefined;
  const opening = Buffer.alloc(4 + length);
  opening.writeUInt32BE(length);
  opening.write(text, 4);
  return opening;
}
