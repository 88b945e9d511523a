/** Clients of Open Terminal rely on this. The reference server passes it, and so does Geode. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eachOf } from '../each-of.ts';
import { echoServer } from '../fixtures/echo-server.ts';
import type { TerminalServer } from '../fixtures/open-terminal-server.ts';
import { freePort } from '../free-port.ts';
import { eventually } from './harness.ts';

export interface TerminalScene {
  readonly name: string;
  readonly unavailable: string | undefined;
  /** True for Geode, which is stricter than the reference in some tests. */
  readonly isOurs: boolean;
  start(): Promise<TerminalServer>;
}

interface Asked {
  readonly method?: string;
  readonly json?: unknown;
  readonly form?: FormData;
  readonly key?: string | null;
  readonly user?: string;
  readonly session?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function openTerminalContract(scene: TerminalScene): void {
  const skipped = scene.unavailable === undefined ? '' : ` (skipped: ${scene.unavailable})`;
  describe.skipIf(scene.unavailable !== undefined)(`${scene.name}${skipped}`, { timeout: 120_000 }, () => {
    let server: TerminalServer;
    beforeAll(async () => {
      server = await scene.start();
    }, 120_000);
    afterAll(() => server?.[Symbol.asyncDispose](), 120_000);

    const ask = async (path: string, asked: Asked = {}) => {
      const { json, form, key = server.key, user = 'ann', session = 'one' } = asked;
      const response = await fetch(server.url + path, {
        method: asked.method ?? (json === undefined && form === undefined ? 'GET' : 'POST'),
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          'x-user-id': user,
          'x-session-id': session,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...asked.headers,
        },
        body: json === undefined ? (form ?? null) : JSON.stringify(json),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return {
        status: response.status,
        headers: response.headers,
        bytes,
        body: isJson ? (JSON.parse(bytes.toString()) as unknown) : undefined,
      };
    };
    const at = (name: string) => `${server.home}/${name}`;
    const write = (path: string, content: string) => ask('/files/write', { json: { path, content } });
    const run = async (command: string, more: Asked & { query?: string; body?: object } = {}) => {
      const { query = 'wait=30', body, ...rest } = more;
      const { body: answer } = await ask(`/execute?${query}`, { ...rest, json: { command, ...body } });
      return answer as {
        id: string;
        status: string;
        exit_code: number | null;
        cwd: string;
        next_offset: number;
        truncated: boolean;
        output: { type: string; data: string }[];
      };
    };
    const said = ({ output }: { output: { data: string }[] }) => output.map(({ data }) => data).join('');

    it('DR-2: health, features and the tools need no key; everything else does', async () => {
      for (const path of ['/health', '/api/config', '/openapi.json'])
        expect((await ask(path, { key: null })).status, path).toBe(200);
      expect((await ask('/api/config')).body).toMatchObject({ features: { terminal: true, system: true } });
      for (const path of ['/system', '/files/list', '/execute', '/ports', '/skills', '/api/terminals'])
        for (const key of [null, 'wrong']) {
          const { status, body } = await ask(path, { key });
          expect({ status, body }, path).toMatchObject({ status: 401, body: expect.anything() });
        }
      expect((await ask('/system')).body).toEqual({ prompt: expect.stringMatching(/\w/) });
      expect((await ask('/api/v1/policies')).status).toBe(404);
    });

    it('DR-2: offers its sixteen operations as tools', async () => {
      const { body } = await ask('/openapi.json', { key: null });
      const { paths } = body as {
        paths: Record<string, Record<string, { operationId: string; summary: string }>>;
      };
      const tools = Object.values(paths).flatMap((methods) => Object.values(methods));
      expect(tools.map(({ operationId }) => operationId).toSorted()).toEqual([
        'display_file',
        'get_process_status',
        'glob_search',
        'grep_search',
        'kill_process',
        'list_files',
        'list_processes',
        'match_files',
        'read_file',
        'read_user_terminal',
        'replace_file_content',
        'run_command',
        'search_files',
        'send_process_input',
        'send_user_terminal_input',
        'write_file',
      ]);
      expect(eachOf(tools).every(({ summary }) => summary !== '')).toBe(true);
    });

    it('DR-2: each session has its own working folder', async () => {
      expect((await ask('/files/cwd')).body).toEqual({
        cwd: server.home,
        home: server.home,
        root: { path: server.home, label: 'Home' },
      });
      expect((await ask('/files/mkdir', { json: { path: 'project' } })).body).toEqual({
        path: at('project'),
      });
      expect((await ask('/files/cwd', { json: { path: at('project') } })).body).toEqual({
        cwd: at('project'),
      });
      expect((await ask('/files/cwd')).body).toMatchObject({ cwd: at('project') });
      expect((await ask('/files/cwd', { session: 'two' })).body).toMatchObject({ cwd: server.home });
      expect((await ask('/files/cwd', { json: { path: at('nowhere') } })).status).toBe(404);
      await write('here.txt', 'x');
      expect((await ask(`/files/read?path=${at('project/here.txt')}`)).status).toBe(200);
      expect((await run('pwd')).cwd).toBe(at('project'));
      expect(said(await run('pwd'))).toBe(`${at('project')}\r\n`);
      expect(said(await run('pwd', { body: { cwd: server.home } }))).toBe(`${server.home}\r\n`);
      await ask('/files/cwd', { json: { path: server.home } });
    });

    it('DR-2: writes, reads, lists and displays files', async () => {
      expect((await write('deep/er/a.txt', 'one\ntwo\nthree\n')).body).toEqual({
        path: at('deep/er/a.txt'),
        size: 14,
      });
      const read = async (query: string) => (await ask(`/files/read?path=deep/er/a.txt${query}`)).body;
      expect(await read('')).toEqual({
        path: at('deep/er/a.txt'),
        content: 'one\ntwo\nthree\n',
        total_lines: 3,
      });
      expect(await read('&start_line=2&end_line=2')).toMatchObject({ content: 'two\n', total_lines: 3 });
      expect(await read('&start_line=3')).toMatchObject({ content: 'three\n' });
      expect((await ask('/files/list?directory=deep')).body).toEqual({
        dir: at('deep'),
        writable: true,
        entries: [
          {
            name: 'er',
            type: 'directory',
            size: expect.any(Number),
            modified: expect.any(Number),
            writable: true,
          },
        ],
      });
      expect((await ask('/files/list?directory=deep/er')).body).toMatchObject({
        entries: [{ name: 'a.txt', type: 'file', size: 14, writable: true }],
      });
      expect((await ask('/files/display?path=deep/er/a.txt')).body).toEqual({
        path: at('deep/er/a.txt'),
        exists: true,
      });
      expect((await ask('/files/display?path=deep/no')).body).toEqual({ path: at('deep/no'), exists: false });
      for (const path of [
        '/files/read?path=no',
        '/files/list?directory=no',
        '/files/view?path=no',
        '/files/read?path=deep',
      ])
        expect(await ask(path), path).toMatchObject({ status: 404, body: { detail: expect.any(String) } });
      expect(await ask('/files/read')).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'missing', loc: ['query', 'path'] }] },
      });
      expect((await ask('/files/write', { json: { path: 'x' } })).body).toMatchObject({
        detail: [{ type: 'missing', loc: ['body', 'content'] }],
      });
    });

    it('DR-2: returns any file as bytes; shows images to the model, and refuses other binary files there', async () => {
      const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]);
      const form = new FormData();
      form.set('file', new File([bytes], 'dot.png', { type: 'image/png' }));
      expect((await ask(`/files/upload?directory=${at('up')}`, { form })).body).toEqual({
        path: at('up/dot.png'),
        size: 8,
      });
      for (const path of [
        `/files/view?path=${at('up/dot.png')}`,
        `/files/serve${at('up/dot.png')}`,
        '/files/read?path=up/dot.png',
      ]) {
        const { headers, bytes: given } = await ask(path);
        expect(headers.get('content-type'), path).toBe('image/png');
        expect(given.equals(bytes), path).toBe(true);
      }
      await run(`printf '\\000\\377' > ${at('some.bin')}`);
      expect(await ask('/files/read?path=some.bin')).toMatchObject({
        status: 415,
        body: { detail: expect.stringContaining('application/octet-stream') },
      });
      expect(await ask(`/files/upload?directory=${at('up')}`, { form: new FormData() })).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'missing', loc: ['body', 'file'] }] },
      });
      if (scene.isOurs) {
        const ranged = await ask(`/files/view?path=${at('up/dot.png')}`, { headers: { range: 'bytes=1-3' } });
        expect([ranged.status, ranged.bytes.toString()]).toEqual([206, 'PNG']);
      }
    });

    it('DR-2: replaces exact texts, and refuses a missing or ambiguous one', async () => {
      await write('r.txt', 'a\nb\na\n');
      const replace = (...replacements: object[]) =>
        ask('/files/replace', { json: { path: 'r.txt', replacements } });
      expect(await replace({ target: 'a', replacement: 'x' })).toMatchObject({ status: 400 });
      expect(await replace({ target: 'zzz', replacement: 'x' })).toMatchObject({ status: 400 });
      expect((await replace({ target: 'a', replacement: 'x', start_line: 3, end_line: 3 })).body).toEqual({
        path: at('r.txt'),
        size: 6,
      });
      expect((await ask('/files/read?path=r.txt')).body).toMatchObject({ content: 'a\nb\nx\n' });
      await replace(
        { target: 'a', replacement: '$&' },
        { target: 'b', replacement: 'bb', allow_multiple: true },
      );
      expect((await ask('/files/read?path=r.txt')).body).toMatchObject({ content: '$&\nbb\nx\n' });
      expect((await ask('/files/replace', { json: { path: 'none', replacements: [] } })).status).toBe(404);
      if (scene.isOurs) {
        await write('crlf.txt', 'a\r\nb\r\n');
        await ask('/files/replace', {
          json: { path: 'crlf.txt', replacements: [{ target: 'b', replacement: 'c' }] },
        });
        expect((await ask('/files/read?path=crlf.txt')).body).toMatchObject({ content: 'a\r\nc\r\n' });
      }
    });

    it('DR-2: moves and deletes', async () => {
      await write('m/a', 'x');
      const move = (source: string, destination: string) =>
        ask('/files/move', { json: { source, destination } });
      expect((await move('m/a', 'm/b')).body).toEqual({ source: at('m/a'), destination: at('m/b') });
      expect((await move('m/a', 'm/c')).status).toBe(404);
      expect((await move('m/b', 'no/b')).status).toBe(400);
      await write('m/c', 'y');
      expect((await move('m/b', 'm/c')).status).toBe(409);
      const remove = (path: string) => ask(`/files/delete?path=${path}`, { method: 'DELETE' });
      expect((await remove('m/b')).body).toEqual({ path: at('m/b'), type: 'file' });
      expect((await remove('m/b')).status).toBe(404);
      expect((await remove('m')).body).toEqual({ path: at('m'), type: 'directory' });
    });

    it('DR-2: packs files and folders, and compares two files', async () => {
      await write('z/a.txt', 'one two\nsame\n');
      await write('z/sub/b.txt', 'one 2\nsame\nmore\n');
      const packed = await ask('/files/archive', { json: { paths: ['z', 'z/a.txt'] } });
      expect(packed.headers.get('content-type')).toBe('application/zip');
      const form = new FormData();
      form.set('file', new File([packed.bytes], 'z.zip'));
      await ask(`/files/upload?directory=${server.home}`, { form });
      const unpacked = await run(
        'python3 -m zipfile -e z.zip out && cat out/a.txt out/z/a.txt out/z/sub/b.txt',
      );
      expect(said(unpacked)).toBe('one two\r\nsame\r\none two\r\nsame\r\none 2\r\nsame\r\nmore\r\n');
      expect((await ask('/files/archive', { json: { paths: ['none'] } })).status).toBe(404);
      expect((await ask('/files/archive', { json: { paths: [] } })).status).toBe(400);
      const compare = (json: object) => ask('/files/compare', { json });
      const [original, revised] = ['z/a.txt', 'z/sub/b.txt'];
      const line = { type: 'context', oldNumber: 2, newNumber: 2, content: 'same', revisedContent: 'same' };
      expect((await compare({ original, revised })).body).toMatchObject({
        original: { path: at('z/a.txt'), name: 'a.txt' },
        revised: { path: at('z/sub/b.txt'), name: 'b.txt' },
        additions: 2,
        deletions: 1,
        hunks: [
          {
            header: '@@ -1,2 +1,3 @@',
            lines: [
              { type: 'removed', oldNumber: 1, newNumber: null, content: 'one two' },
              {
                type: 'added',
                oldNumber: null,
                newNumber: 1,
                content: 'one 2',
                segments: expect.arrayContaining([{ text: '2', changed: true }]),
              },
              line,
              { type: 'added', newNumber: 3, content: 'more' },
            ],
          },
        ],
      });
      expect((await compare({ original, revised: 'none' })).status).toBe(404);
    });

    it('DR-2: searches by name and by content', async () => {
      await write('s/one.py', 'import os\nneedle = 1\n');
      await write('s/sub/needle.txt', 'nothing\n');
      await write('s/two.txt', 'a Needle\n');
      const matches = async (query: string) => (await ask(`/files/grep?path=s&${query}`)).body;
      expect(await matches('query=needle')).toEqual({
        query: 'needle',
        path: at('s'),
        matches: [{ file: at('s/one.py'), line: 2, content: 'needle = 1' }],
        truncated: false,
      });
      expect(
        await matches('query=needle&case_insensitive=true&match_per_line=false&include=*.txt'),
      ).toMatchObject({
        matches: [{ file: at('s/two.txt') }],
      });
      expect(await matches('query=e&max_results=1')).toMatchObject({ truncated: true });
      expect((await ask('/files/grep?path=s&query=(')).status).toBe(400);
      expect((await ask('/files/grep?path=no&query=x')).status).toBe(404);
      const globbed = async (query: string) => {
        const { body } = await ask(`/files/glob?path=s&${query}`);
        return (body as { matches: { path: string }[] }).matches.map(({ path }) => path).toSorted();
      };
      expect(await globbed('pattern=*.txt')).toEqual(['sub/needle.txt', 'two.txt']);
      expect(await globbed('pattern=sub/*')).toEqual(['sub/needle.txt']);
      expect(await globbed('pattern=*&type=directory')).toEqual(['sub']);
      expect(await globbed('pattern=*.txt&exclude=two*')).toEqual(['sub/needle.txt']);
      expect((await ask('/files/search?path=s&query=needle')).body).toMatchObject({
        results: [{ path: at('s/sub/needle.txt'), name: 'needle.txt', type: 'file', size: 8 }],
      });
      const { body } = await ask('/files/matches?path=s&query=needle');
      expect(body).toEqual({
        results: [
          {
            path: at('s/sub/needle.txt'),
            relative_path: 'sub/needle.txt',
            name: 'needle.txt',
            type: 'file',
            name_match: true,
            content_matches: [],
          },
          ...['one.py', 'two.txt'].map((name) => expect.objectContaining({ name, name_match: false })),
        ],
        next_offset: null,
      });
      expect((await ask('/files/matches?path=s&query=%20')).status).toBe(400);
    });

    it('DR-2: runs commands in a terminal, with their output from any point', async () => {
      const done = await run('echo out; echo err >&2; exit 3');
      expect(done).toMatchObject({ status: 'done', exit_code: 3, truncated: false });
      expect(said(done)).toBe('out\r\nerr\r\n');
      const status = async (id: string, query: string) => (await ask(`/execute/${id}/status?${query}`)).body;
      expect(await status(done.id, `offset=${done.next_offset}`)).toMatchObject({
        output: [],
        next_offset: done.next_offset,
      });
      const again = (await status(done.id, '')) as { output: { data: string }[] };
      expect(said(again)).toBe('out\r\nerr\r\n');
      expect(said(await run('tput cols 2>/dev/null || echo 80; test -t 1 && echo tty'))).toBe(
        '80\r\ntty\r\n',
      );
      expect(said(await run('echo $A-$B', { body: { env: { A: '1', B: 'x y' } } }))).toBe('1-x y\r\n');
      const waiting = await run('read line; echo "got $line"', { query: '' });
      expect(waiting).toMatchObject({ status: 'running', exit_code: null });
      expect((await ask(`/execute/${waiting.id}/input`, { json: { input: 'hello\\n' } })).body).toEqual({
        status: 'ok',
      });
      const answered = (await status(waiting.id, 'wait=30')) as {
        status: string;
        output: { data: string }[];
      };
      expect(answered.status).toBe('done');
      expect(said(answered)).toContain('got hello\r\n');
      expect((await ask(`/execute/${waiting.id}/input`, { json: { input: 'x' } })).status).toBe(400);
      expect((await ask('/execute/nothing/status')).status).toBe(404);
      const listed = (await ask('/execute')).body as { id: string }[];
      expect(listed.find(({ id }) => id === done.id)).toMatchObject({
        command: 'echo out; echo err >&2; exit 3',
        status: 'done',
        exit_code: 3,
      });
    });

    it('DR-2: stops commands with a signal', async () => {
      for (const [query, code] of [
        ['', -15],
        ['?force=true', -9],
      ] as const) {
        const { id } = await run('exec sleep 600', { query: '' });
        expect((await ask(`/execute/${id}${query}`, { method: 'DELETE' })).body).toEqual({
          status: 'killed',
        });
        expect((await ask(`/execute/${id}/status`)).body).toMatchObject({
          status: 'killed',
          exit_code: code,
        });
      }
      if (scene.isOurs) {
        const { id } = await run('trap "echo stopped; exit 1" INT; echo ready; while :; do sleep 0.1; done', {
          query: '',
        });
        await eventually(async () => {
          const { body } = await ask(`/execute/${id}/status`);
          return said(body as { output: { data: string }[] }).includes('ready');
        }, 'the trap');
        await ask(`/execute/${id}/input`, { json: { input: '\\x03' } });
        expect((await ask(`/execute/${id}/status?wait=30`)).body).toMatchObject({
          status: 'done',
          exit_code: 1,
        });
      }
    });

    it('DR-2: processes belong to a person and a chat', async () => {
      const { id } = await run('echo mine');
      for (const other of [{ session: 'two' }, { user: 'bob' }]) {
        expect((await ask(`/execute/${id}/status`, other)).status).toBe(404);
        expect((await ask('/execute', other)).body).toEqual([]);
      }
    });

    it('DR-2: lists and reads skills', async () => {
      await write(
        at('.claude/skills/tidy/SKILL.md'),
        '---\nname: Tidy\ndescription: Cleans up.\n---\n\nDo it.\n',
      );
      await write(at('.claude/skills/tidy/more/list.txt'), 'x');
      const tidy = {
        id: 'terminal:Tidy',
        name: 'Tidy',
        description: 'Cleans up.',
        location: at('.claude/skills/tidy/SKILL.md'),
        scope: 'global',
        source: 'terminal',
      };
      expect((await ask('/skills')).body).toEqual([tidy]);
      expect((await ask('/skills/read?name=Tidy')).body).toEqual({
        ...tidy,
        resources: ['more/list.txt'],
        content: 'Do it.',
      });
      expect((await ask('/skills/read?name=no')).status).toBe(404);
    });

    it('DR-2: lists listening ports, and shows a server by path', async () => {
      const port = await freePort();
      await write('web/page.txt', 'the page');
      const { id } = await run(`cd web && exec python3 -m http.server ${port}`, { query: '' });
      try {
        const listening = await eventually(async () => {
          const { ports } = (await ask('/ports')).body as {
            ports: { port: number; pid: number; process: string }[];
          };
          return ports.find((each) => each.port === port);
        }, 'the port');
        expect(listening).toEqual({
          port,
          pid: expect.any(Number),
          process: expect.stringContaining('python3'),
        });
        const page = await ask(`/proxy/${port}/page.txt`);
        expect([page.status, page.bytes.toString()]).toEqual([200, 'the page']);
        expect((await ask(`/proxy/${port}/no`)).status).toBe(404);
        expect((await ask('/proxy/1/x')).status).toBe(404);
      } finally {
        await ask(`/execute/${id}?force=true`, { method: 'DELETE' });
      }
    });

    // The reference server has no WebSockets here.
    it.skipIf(!scene.isOurs)('DR-2: passes WebSockets to a server by path', async () => {
      const port = await freePort();
      await write('echo.py', echoServer(port));
      const { id } = await run('exec python3 echo.py', { query: '' });
      try {
        await eventually(async () => (await ask(`/proxy/${port}/`)).status === 200, 'the server');
        const said = await new Promise<string>((resolve, reject) => {
          const headers = {
            authorization: `Bearer ${server.key}`,
            'x-user-id': 'ann',
            'x-session-id': 'one',
          };
          const url = `${server.url.replace('http', 'ws')}/proxy/${port}/socket`;
          const socket = new WebSocket(url, { headers });
          socket.on('open', () => socket.send('by path')).on('error', reject);
          socket.on('message', (data) => {
            resolve(String(data));
            socket.terminate();
          });
        });
        expect(said).toBe('by path');
      } finally {
        await ask(`/execute/${id}?force=true`, { method: 'DELETE' });
      }
    });

    describe('the terminal', () => {
      interface Joined {
        readonly socket: WebSocket;
        readonly closed: Promise<number>;
        text(): string;
      }
      const join = (id: string, first: object, headers: Record<string, string> = {}): Joined => {
        const url = `${server.url.replace('http', 'ws')}/api/terminals/${id}?user_id=ann`;
        const socket = new WebSocket(url, {
          headers: { 'x-user-id': 'ann', 'x-session-id': 'one', ...headers },
        });
        const { promise, resolve } = Promise.withResolvers<number>();
        let text = '';
        socket.on('open', () => socket.send(JSON.stringify(first)));
        socket.on('message', (data, isBinary) => {
          if (isBinary) text += data.toString();
        });
        socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode ?? 0));
        socket.on('close', (code) => resolve(code));
        socket.on('error', () => {});
        return { socket, closed: promise, text: () => text };
      };
      const opened = async () => (await ask('/api/terminals', { method: 'POST' })).body as { id: string };
      const auth = () => ({ type: 'auth', token: server.key });

      it('DR-2: reads the key from the first message, then passes bytes both ways, and resizes', async () => {
        const { id } = await opened();
        expect((await ask('/api/terminals')).body).toEqual([
          { id, created_at: expect.any(String), pid: expect.any(Number) },
        ]);
        expect((await ask('/api/terminals/user/output')).status).toBe(404);
        const shell = join(id, auth());
        await eventually(async () => shell.text().length > 0, 'a prompt');
        shell.socket.send(JSON.stringify({ type: 'resize', cols: 101, rows: 31 }));
        shell.socket.send('not json');
        shell.socket.send(Buffer.from('stty size; echo sum-$((40+2))\n'));
        await eventually(async () => /31 101[\s\S]*sum-42/.test(shell.text()), 'the sum');
        expect((await ask('/api/terminals/user/output')).body).toMatchObject({
          output: expect.stringContaining('sum-42'),
        });
        await ask('/api/terminals/user/input', { json: { input: 'echo typed-$((1+1))\n' } });
        await eventually(async () => shell.text().includes('typed-2'), 'what was typed');
        expect((await ask('/api/terminals', { session: 'two' })).body).toEqual([]);
        expect(await join(id, auth()).closed).toBe(4009);
        shell.socket.send(Buffer.from('exit\n'));
        expect(await shell.closed).toBe(1000);
        expect((await ask('/api/terminals')).body).toEqual([]);
      });

      it('DR-2: refuses a wrong key, and the shells of others', async () => {
        const { id } = await opened();
        expect(await join(id, { type: 'auth', token: 'wrong' }).closed).toBe(4001);
        expect(await join(id, { type: 'other' }).closed).toBe(4001);
        expect(await join(id, auth(), { 'x-user-id': 'bob' }).closed).toBe(4004);
        expect(await join(id, auth(), { 'x-session-id': 'two' }).closed).toBe(4004);
        // The reference refuses the handshake.
        expect([403, 4004]).toContain(await join('nothing', auth()).closed);
        expect((await ask(`/api/terminals/${id}`, { user: 'bob' })).body).toEqual({
          error: expect.any(String),
        });
        expect((await ask(`/api/terminals/${id}`, { method: 'DELETE' })).body).toEqual({ status: 'deleted' });
        expect((await ask(`/api/terminals/${id}`)).status).toBe(404);
      });

      it('DR-2: a client that leaves ends its shell', async () => {
        const { id } = await opened();
        const shell = join(id, auth());
        await eventually(async () => shell.text().length > 0, 'a prompt');
        shell.socket.close();
        await eventually(
          async () => ((await ask('/api/terminals')).body as []).length === 0,
          'the end of the shell',
        );
      });
    });
  });
}
