import { promises as files } from 'node:fs';
import { posix } from 'node:path';
import type { Prestart, WaitingInterpreter } from '../languages/language.ts';

export const nodePrestart: Prestart = {
  async start({ source }, { scratch }) {
    const gate = await gateIn(scratch, 'gate.cjs');
    // Node looks for a package.json in its start folder once and caches a missing one.
    const cwd = posix.dirname(gate.path);
    return { argv: ['node', '--require', gate.path, source], env: { GEODE_GATE: '1' }, cwd, gate };
  },
  readsAtStart: /^(NODE|UV|V8|SSL|OPENSSL|ICU)_|^(NO|FORCE)_COLOR$|^(HTTPS?|NO)_PROXY$/i,
};

export const pythonPrestart: Prestart = {
  async start({ source }, { scratch, env: { PYTHONPATH: others } }) {
    const gate = await gateIn(scratch, 'sitecustomize.py');
    const path = posix.dirname(gate.path);
    return {
      argv: ['python3', '-u', source],
      env: { PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: others ? `${path}:${others}` : path },
      gate,
    };
  },
  readsAtStart: /^PYTHON/,
};

async function gateIn(scratch: string, name: string): Promise<WaitingInterpreter['gate']> {
  return {
    path: `${scratch}/.geode-gate/${name}`,
    content: await files.readFile(new URL(name, import.meta.url)),
  };
}
