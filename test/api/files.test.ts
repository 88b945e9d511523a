import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryLimits } from '../../src/seams/memory.ts';
import { pdfOf } from './pdf.ts';
import { startTestServer, type TestServer } from './server-fixture.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const files = '/api/v1/context/files';

describe('CTX-2: files', () => {
  test('text, Markdown, code, HTML and PDF become entries under their names', async () => {
    const client = server.client('alice');
    const html =
      '<!doctype html><title>T</title><style>p{}</style><h1>Runbook</h1><script>x()</script><p>Restart &amp; wait</p>';
    const stored = await client.files(
      [
        new File(['plain words'], 'a.txt'),
        new File(['# Title\n\n- point'], 'docs/b.md'),
        new File(['export const answer = 42;\n'], 'c.ts'),
        new File([html], 'd.html'),
        new File([pdfOf('Quarterly figures', 'Second (page)')], 'e.pdf'),
        new File([new Uint8Array([0xff, 0xfe, 0x68, 0, 0x69, 0])], 'utf16.txt'),
      ],
      { category: 'project', tags: ['docs'], prefix: 'in/' },
    );
    expect(stored.map(({ id }) => id)).toEqual([
      'in/a.txt',
      'in/docs/b.md',
      'in/c.ts',
      'in/d.html',
      'in/e.pdf',
      'in/utf16.txt',
    ]);
    expect(await client.get('in/a.txt')).toMatchObject({
      content: 'plain words',
      tags: ['docs'],
      sources: ['in/a.txt'],
    });
    expect((await client.get('in/docs/b.md')).content).toBe('# Title\n\n- point');
    expect((await client.get('in/d.html')).content).toMatch(/^T\s+Runbook\s+Restart & wait$/);
    expect((await client.get('in/e.pdf')).content).toMatch(/Quarterly figures\s+Second \(page\)/);
    expect((await client.get('in/utf16.txt')).content).toBe('hi');
    const { results } = await client.search('quarterly figures');
    expect(results[0]?.id).toBe('in/e.pdf');
  });

  test('uploading a file again stores the next version', async () => {
    const client = server.client('again');
    await client.files([new File(['one'], 'note.md')], { category: 'core' });
    const [stored] = await client.files([new File(['two'], 'note.md')], { category: 'core' });
    expect(stored).toMatchObject({ id: 'note.md', outcome: 'updated', version: 2 });
  });

  test.each([
    [
      'a picture',
      new File([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff, 0xd8])], 'a.png'),
      422,
      'unreadable_file',
    ],
    ['text with NUL', new File(['a\0b'], 'a.txt'), 422, 'unreadable_file'],
    ['an empty file', new File([], 'a.txt'), 422, 'unreadable_file'],
    ['a broken PDF', new File(['%PDF-1.4 and nothing more'], 'a.pdf'), 422, 'unreadable_file'],
    ['a PDF without text', new File([pdfOf('')], 'a.pdf'), 422, 'unreadable_file'],
    ['HTML without text', new File(['<script>x()</script>'], 'a.html'), 422, 'unreadable_file'],
    [
      'more text than an entry holds',
      new File(['x'.repeat(memoryLimits.contentLength + 1)], 'a.txt'),
      413,
      'too_large',
    ],
    ['a name that is a path of its own', new File(['x'], 'categories'), 400, 'invalid_input'],
    [
      'a name that is too long',
      new File(['x'], 'x'.repeat(memoryLimits.keyLength + 1)),
      400,
      'invalid_input',
    ],
  ])('refuses %s, and stores nothing of that request', async (_name, file, status, code) => {
    const form = new FormData();
    form.append('category', 'core');
    form.append('file', new File(['a good one'], 'good.txt'));
    form.append('file', file);
    const refused = await server.caller('refused')(files, { body: form });
    expect(refused.body).toMatchObject({ code });
    expect(refused.status).toBe(status);
    expect((await server.client('refused').list()).total).toBe(0);
  });

  test('refuses a form without a file, a field that is not a file, and JSON', async () => {
    const call = server.caller('refused');
    const form = new FormData();
    form.append('category', 'core');
    expect(await call(files, { body: form })).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
    form.append('file', 'text');
    expect(await call(files, { body: form })).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
    expect(await call(files, { json: {} })).toMatchObject({
      status: 415,
      body: { code: 'unsupported_type' },
    });
    const broken = {
      body: 'no boundary here',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    };
    expect(await call(files, broken)).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
  });

  test('deeply nested HTML fails its own request, and the server continues', {
    timeout: 60_000,
  }, async () => {
    const form = new FormData();
    form.append('category', 'core');
    form.append('file', new File([`${'<div>'.repeat(50_000)}bottom`], 'deep.html'));
    const call = server.caller('hostile');
    const reading = call(files, { body: form });
    expect((await call('/health')).status).toBe(200);
    expect([201, 422]).toContain((await reading).status);
  });

  test('streams one event for each file', async () => {
    const form = new FormData();
    form.append('category', 'core');
    for (const name of ['a.txt', 'b.txt']) form.append('file', new File([`text of ${name}`], name));
    form.append('file', new File(['\0'], 'c.bin'));
    const { status, text } = await server.caller('events')(files, {
      body: form,
      headers: { accept: 'text/event-stream' },
    });
    expect(status).toBe(201);
    expect(text.match(/^event: .*$/gm)).toEqual(['event: progress', 'event: progress', 'event: problem']);
    expect(text).toContain('unreadable_file');
    expect((await server.client('events').list()).total).toBe(2);
  });
});
