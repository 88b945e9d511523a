import { relative } from 'node:path';
import { expect, inject } from 'vitest';

/** Each test file's folders land in a folder of its own, so that a forgotten one names who left it. */
const file = relative(process.cwd(), expect.getState().testPath ?? '');
process.env.TMPDIR = inject('folders')[file] ?? process.env.TMPDIR;
