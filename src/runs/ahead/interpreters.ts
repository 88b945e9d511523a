import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Ahead, Places } from '../languages/language.ts';

const folder = '.geode-gate';

export const nodeAhead: Ahead = {
  async start(places) {
    const gate = 'gate.cjs';
    return {
      argv: ['node', '--require', `${gateFolder(places)}/${gate}`, places.source],
      files: await gateFile(gate),
    };
  },
  readsAtStart: /^(NODE|UV|V8|SSL|OPENSSL|ICU)_|^(TZ|NO_COLOR|FORCE_COLOR)$/,
};

export const pythonAhead: Ahead = {
  async start(places) {
    return {
      argv: ['python3', '-u', places.source],
      env: { PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: gateFolder(places) },
      files: await gateFile('sitecustomize.py'),
    };
  },
  readsAtStart: /^PYTHON|^TZ$/,
};

function gateFolder({ source }: Places): string {
  return posix.join(posix.dirname(source), folder);
}

async function gateFile(name: string): Promise<Readonly<Record<string, Uint8Array>>> {
  return { [`${folder}/${name}`]: await readFile(new URL(name, import.meta.url)) };
}
