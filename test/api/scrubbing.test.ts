import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { MemoryStore } from '../../src/seams/memory.ts';
import { openTestMemory } from './memory-fixture.ts';
import { pdfOf } from './pdf.ts';
import { type Caller, startTestServer } from './server-fixture.ts';

const secret = `sk-ant-api03-${'a1B2'.repeat(10)}`;
const context = '/api/v1/context';
const body = {
  content: `Call it with ${secret}`,
  category: 'core',
  source: `https://bob:${secret}@x.test`,
  tags: [`with ${secret}`],
  identifiers: [secret],
};

function formOf(file: File): FormData {
  const form = new FormData();
  form.append('category', 'core');
  form.append('tag', `with ${secret}`);
  form.append('file', file);
  return form;
}

const paths: Readonly<Record<string, (call: Caller) => ReturnType<Caller>>> = {
  ingest: (call) => call(`${context}/ingest`, { json: { ...body, id: 'ingested' } }),
  'ingest again': (call) =>
    call(`${context}/ingest`, { json: { ...body, id: 'ingested', category: 'daily' } }),
  put: (call) => call(`${context}/written`, { method: 'PUT', json: body }),
  bulk: (call) => call(`${context}/bulk`, { json: { entries: [body, { ...body, id: 'in bulk' }] } }),
  'bulk in events': (call) =>
    call(`${context}/bulk`, {
      json: { entries: [{ ...body, id: 'by event' }] },
      headers: { accept: 'text/event-stream' },
    }),
  'a text file': (call) =>
    call(`${context}/files`, { body: formOf(new File([`The key is ${secret}`], 'notes.md')) }),
  'an HTML file': (call) =>
    call(`${context}/files`, {
      body: formOf(new File([`<p>The key is <b>${secret}</b></p>`], 'notes.html')),
    }),
  'a PDF file': (call) => call(`${context}/files`, { body: formOf(new File([pdfOf(secret)], 'notes.pdf')) }),
};

test('MEM-8: no write path over HTTP keeps a secret, in any field or version', {
  timeout: 120_000,
}, async () => {
  let file = '';
  const openMemory = (dir: string): Promise<MemoryStore> => {
    file = `${dir}/memory.db`;
    return openTestMemory(dir);
  };
  await using server = await startTestServer({ openMemory });
  const call = server.caller('alice');
  for (const [name, write] of Object.entries(paths)) {
    const { status, text } = await write(call);
    expect([200, 201], name).toContain(status);
    expect(text, name).toMatch(/"scrubbed":[1-9]/);
  }
  await server.memory.settled();
  const onDisk = Buffer.concat([readFileSync(file), readFileSync(`${file}-wal`)]);
  expect(onDisk.includes('key removed]')).toBe(true);
  expect(onDisk.includes(secret.slice(0, 24))).toBe(false);
  expect(JSON.stringify(server.log)).not.toContain(secret);
});
