import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ReplayOptions } from '../../src/seams/replay.ts';
import { replayed } from './replayed.ts';
import { builtinScene } from './scenes.ts';
import { Stage } from './stage.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const scene = builtinScene(inject('engines'), 'bubblewrap');

describe.skipIf(!bubblewrap.available)(
  `a replay of the built-in agent${skipped}`,
  { timeout: 180_000 },
  () => {
    let stage: Stage;
    const run = (command: string) => ({ tool: 'shell', input: { command } });

    beforeAll(async () => {
      stage = await Stage.open({ ...scene, settings: (server) => scene.settings(server) });
    }, 120_000);
    afterAll(() => stage?.[Symbol.asyncDispose](), 120_000);

    const replay = (chat: string, turn: string, options: ReplayOptions = {}) =>
      replayed(stage.client, chat, turn, options);

    it('AGT-7: executes the commands again with the recorded answers, and finds the first difference', async () => {
      const { steps, client, server } = stage;
      steps['prepare the folder'] = [
        { text: '', calls: [run('echo 1 > count.txt; echo secret-of-the-machine > /tmp/left-over')] },
        { text: 'Prepared.' },
      ];
      const remember = { tool: 'memory_store', input: { content: 'The count is in count.txt.' } };
      steps['count one further'] = [
        { text: 'First I count.', calls: [run('cat count.txt; echo 2 > count.txt')] },
        { text: '', calls: [remember] },
        { text: '', calls: [run('cat /tmp/left-over')] },
        { text: '', calls: [run('ls')] },
        { text: 'Counted.' },
      ];
      await stage.send('counts', 'prepare the folder');
      await stage.send('counts', 'count one further');
      await client.sandboxes.of('counts').files.write('count.txt', 'changed by a person\n');
      const calls = server.calls.length;

      const whole = await replay('counts', (await client.turns.list('counts')).at(-1)?.turn ?? '');
      expect(whole.end).toMatchObject({ verdict: 'same', first: null, differences: 0, notes: [] });
      expect(whole.end.files).toEqual([
        {
          path: 'count.txt',
          same: true,
          recorded: expect.any(String),
          replayed: expect.stringContaining('+1'),
        },
      ]);

      const { events, results, end } = await replay('counts', 'last');
      expect(events[0]).toMatchObject({
        type: 'replay-start',
        message: 'count one further',
        model: null,
        from: 'files',
      });
      // The file is as it was before the turn, whatever happened since.
      expect(results).toEqual(['same', 'served', 'different', 'same']);
      expect(end.first).toMatchObject({ step: 3, kind: 'result', what: 'shell' });
      expect(end.first?.recorded).toContain('secret-of-the-machine');
      expect(end.first?.replayed).toContain('No such file');
      expect(end).toMatchObject({
        verdict: 'different',
        differences: 1,
        kept: null,
        replayed: { outcome: 'done', text: 'Counted.', cost: 0 },
      });
      expect(end.files).toMatchObject([{ path: 'count.txt', same: true }]);
      // No model was asked, nothing was stored again, no copy stays, and the files of the chat are as they were.
      expect(server.calls).toHaveLength(calls);
      expect((await client.search('count.txt', {})).results).toHaveLength(1);
      expect((await client.sandboxes.list()).map(({ chat }) => chat)).toEqual(['counts']);
      expect(await client.sandboxes.of('counts').files.readText('count.txt')).toBe('changed by a person\n');
    });

    it('AGT-7: serves the recorded answers of the network, reaches no server, and names what was recorded in part', async () => {
      const { steps, client } = stage;
      let requests = 0;
      await using server = createHttpServer((_, response) => response.end(`answer ${++requests}`));
      await using raw = createTcpServer((socket) => socket.once('data', () => socket.end('raw answer')));
      const [port, rawPort] = [await listening(server), await listening(raw)];
      await client.secrets.set('notes', 'the-key-of-notes');
      await client.sandboxes.getOrCreate('reaches', {
        egress: {
          policy: {
            mode: 'allow-list',
            allow: [port, rawPort].map((each) => ({ host: '127.0.0.1', ports: [each], private: true })),
            deny: [],
          },
          bindings: [{ name: 'notes', upstream: `http://127.0.0.1:${port}/v1`, add: 'bearer' }],
        },
      });
      const ask = [
        'import http.client, os, urllib.parse, urllib.request',
        'print(urllib.request.urlopen(os.environ["NOTES_URL"] + "/list").read())',
        'proxy = urllib.parse.urlparse(os.environ["http_proxy"]).netloc',
        'through = http.client.HTTPConnection(proxy)',
        `through.request("GET", "http://127.0.0.1:${port}/plain")`,
        'print(through.getresponse().read())',
      ];
      const tunnel = [
        'import http.client, os, urllib.parse',
        'through = http.client.HTTPConnection(urllib.parse.urlparse(os.environ["http_proxy"]).netloc)',
        `through.set_tunnel("127.0.0.1", ${rawPort})`,
        'through.connect()',
        'through.sock.sendall(b"\\x00hello")',
        'print(through.sock.recv(100))',
      ];
      const python = (lines: readonly string[]) => run(`python3 - <<'END'\n${lines.join('\n')}\nEND`);
      steps['ask the servers'] = [
        { text: '', calls: [python(ask)] },
        { text: '', calls: [python(tunnel)] },
        { text: 'Asked.' },
      ];
      const recorded = JSON.stringify(await stage.send('reaches', 'ask the servers'));
      for (const answer of ['answer 1', 'answer 2', 'raw answer']) expect(recorded).toContain(answer);
      await client.secrets.remove('notes');
      const { results, end } = await replay('reaches', 'last');
      expect(results).toEqual(['same', 'different']);
      expect(requests).toBe(2);
      expect(end.notes).toEqual([expect.stringContaining(`127.0.0.1:${rawPort}`)]);
      expect(end.first).toMatchObject({ step: 2, recorded: expect.stringContaining('raw answer') });
    });

    it('AGT-7: asks another model about the same task and files in a copy without network, and compares the outcomes', async () => {
      const { steps, client, server } = stage;
      const model = 'scripted/other-model';
      steps['make a greeting'] = [{ text: '', calls: [run('echo hello > greeting.txt')] }, { text: 'Made.' }];
      await stage.send('greets', 'make a greeting');
      await client.sandboxes.of('greets').egress.allow([{ host: 'example.com' }]);
      const before = server.calls.length;
      steps['make a greeting'] = [
        {
          text: '',
          calls: [run('echo good day > greeting.txt; env | grep -ic proxy; cat /proc/net/dev; ls')],
        },
        { text: 'Made another one.' },
      ];
      const { end } = await replay('greets', 'last', { model, keep: true });
      expect(server.calls.slice(before).map(({ body }) => (body as { model: string }).model)).toEqual([
        'other-model',
        'other-model',
      ]);
      expect(end).toMatchObject({
        verdict: 'different',
        recorded: { outcome: 'done', calls: 1 },
        replayed: { outcome: 'done', calls: 1, text: 'Made another one.' },
      });
      expect(end.first).toMatchObject({ step: 1, kind: 'call' });
      expect(end.files).toMatchObject([
        {
          path: 'greeting.txt',
          same: false,
          recorded: expect.stringContaining('+hello'),
          replayed: expect.stringContaining('+good day'),
        },
      ]);
      const copy = end.kept ?? '';
      expect(await client.sandboxes.of(copy).files.readText('greeting.txt')).toBe('good day\n');
      expect(await client.sandboxes.of('greets').files.readText('greeting.txt')).toBe('hello\n');
      const inside = await client.sandboxes.of(copy).exec({ argv: ['cat', '/proc/net/dev'] });
      expect(inside.stdout.match(/^ *\w+:(?= *\d)/gm)).toEqual([expect.stringContaining('lo:')]);
      const policy = await client.sandboxes.of(copy).egress.get();
      expect(policy).toMatchObject({ policy: { mode: 'deny-all', allow: [] }, bindings: [] });
      await client.sandboxes.remove(copy);
    });

    it('refuses a turn that is unknown, of another version, without files, or without its conversation', async () => {
      const { steps, client } = stage;
      steps['say yes'] = [{ text: 'Yes.' }];
      await stage.send('limits', 'say yes');
      const [only] = await client.turns.list('limits');
      expect(only).toMatchObject({ message: 'say yes', outcome: 'done', problem: null, driver: 'builtin' });
      await expect(replay('limits', 'ffff')).rejects.toMatchObject({ code: 'turn_not_found' });
      await expect(replay('limits', '%')).rejects.toMatchObject({ code: 'turn_not_found' });
      await expect(replay('limits', 'last', { model: 'nobody/nothing' })).rejects.toMatchObject({
        code: 'no_provider',
      });
      await expect(client.turns.list('nowhere')).rejects.toMatchObject({ code: 'agent_not_found' });

      const ledger = join(stage.world.machine.stateDir, 'ledger.db');
      const store = (recording: string) => {
        using database = new DatabaseSync(ledger);
        database
          .prepare('UPDATE agent_transcript SET recording = ? WHERE turn = ?')
          .run(recording, only?.turn ?? '');
      };
      const read = () => {
        using database = new DatabaseSync(ledger, { readOnly: true });
        return String(
          database.prepare('SELECT recording FROM agent_transcript WHERE turn = ?').get(only?.turn ?? '')
            ?.recording,
        );
      };
      const kept = read();
      store(JSON.stringify({ ...JSON.parse(kept), format: 9 }));
      await expect(replay('limits', 'last')).rejects.toMatchObject({
        code: 'turn_not_recorded',
        message: expect.stringContaining('format 9'),
      });
      expect((await client.turns.list('limits'))[0]?.problem).toContain('format 9');
      store(kept);

      await client.agents.stop('limits');
      expect((await replay('limits', 'last')).end.verdict).toBe('same');
      await expect(replay('limits', 'last', { model: 'scripted/other-model' })).rejects.toMatchObject({
        code: 'turn_not_recorded',
        message: expect.stringContaining('conversation'),
      });
      store(JSON.stringify({ ...JSON.parse(kept), before: '9999' }));
      await expect(replay('limits', 'last')).rejects.toMatchObject({
        code: 'turn_not_recorded',
        message: expect.stringContaining('collected'),
      });
      store(kept);
      await client.sandboxes.remove('limits');
      await expect(replay('limits', 'last')).rejects.toMatchObject({
        code: 'turn_not_recorded',
        message: expect.stringContaining('removed'),
      });
      expect(
        (await client.sandboxes.list()).map(({ chat }) => chat).filter((chat) => chat.startsWith('replay-')),
      ).toEqual([]);
    });
  },
);

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
