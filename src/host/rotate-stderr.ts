/**
 * Keeps the log of a host within its size where stderr is a file. The file stays open, so its content is copied and cut;
 * only one older file is kept. A pipe, a terminal, the journal of systemd and a file without append mode are left alone.
 */
import { copyFileSync, fstatSync, ftruncateSync, readFileSync, readlinkSync } from 'node:fs';
import { reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';

const stderr = 2;
const lookEveryMs = 60_000;
const appendFlag = 0o2000;

export function rotateStderr(mostBytes: number | null, log: Pick<Log, 'warn'>): Disposable {
  const path = mostBytes === null ? undefined : appendedFile();
  if (mostBytes === null || path === undefined) return { [Symbol.dispose]() {} };
  const look = () => {
    try {
      if (fstatSync(stderr).size <= mostBytes) return;
      // Nothing of this process writes between the copy and the cut.
      copyFileSync(path, `${path}.1`);
      ftruncateSync(stderr);
    } catch (error) {
      log.warn(`The log ${path} could not be moved to ${path}.1: ${reasonOf(error)}`);
    }
  };
  look();
  const timer = setInterval(look, lookEveryMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The path of the file behind stderr; undefined for anything else, and where the kernel does not say. */
function appendedFile(): string | undefined {
  try {
    if (!fstatSync(stderr).isFile()) return undefined;
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${stderr}`, 'utf8'))?.[1];
    const isAppended = (Number.parseInt(flags ?? '0', 8) & appendFlag) !== 0;
    const path = readlinkSync(`/proc/self/fd/${stderr}`);
    return isAppended && fstatSync(stderr).nlink > 0 ? path : undefined;
  } catch {
    return undefined;
  }
}
