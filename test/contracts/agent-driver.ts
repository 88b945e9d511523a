import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentEvent, PermissionAnswer } from '../../src/seams/agent.ts';
import { all, Stage, type StageOptions, shapesOf, textOf } from '../agents/stage.ts';
import type { ModelServer, Reply } from '../fixtures/model-server/model-server.ts';
import type { ScriptedCall } from '../fixtures/model-server/wires.ts';
import { eventually } from './harness.ts';

type Call = Omit<ScriptedCall, 'id'>;

export interface DriverScene extends StageOptions {
  readonly name: string;
  /** The promises that the first test proves on it. */
  readonly proves: string;
  readonly unavailable: string | undefined;
  /** How its model writes a file, runs a command and remembers something. */
  write(path: string, content: string): Call;
  run(command: string): Call;
  remember(content: string): Call;
  /** Why it never asks a person; undefined: it asks for commands. */
  readonly asksNobody?: string;
  /** A host that the program asks besides its model, in vain. */
  readonly asksInVain?: string;
  /** Why it needs no program in the sandbox; undefined: it does. */
  readonly needsNoProgram?: string;
}

const patience = { timeout: 300_000 };
const wait = 'python3 -c "import time; print(1, flush=True); time.sleep(600)"';

/** Tests for every driver: turns with tools that continue, end and are interrupted, without access to the host. */
export function agentTurns(scene: DriverScene, more: (stage: () => Stage) => void = () => {}): void {
  const skipped = scene.unavailable === undefined ? '' : ` (skipped: ${scene.unavailable})`;
  describe.skipIf(scene.unavailable !== undefined)(`${scene.name}${skipped}`, patience, () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await Stage.open(scene);
    }, 300_000);
    afterAll(() => stage?.[Symbol.asyncDispose](), 120_000);

    it(`${scene.proves}: two chats at once each write and run a program, use a tool of the host, and are resumed`, async () => {
      const { steps, client, server } = stage;
      for (const word of ['fizz', 'buzz']) {
        steps[`write ${word}, please`] = [
          { text: 'I write it. ', calls: [scene.write(`${word}.py`, `print("${word}" * 2)\n`)] },
          { text: 'I run it. ', calls: [scene.run(`python3 ${word}.py`)] },
          { text: 'I remember it. ', calls: [scene.remember(`${word} was written`)] },
          { text: `It prints ${word}${word}.`, pieceLength: 4 },
        ];
        steps[`what does ${word} print`] = [{ text: `Twice ${word}.` }];
      }
      const hostile = `'; $(touch pwned) \`id\` "EOF"\nEOF\n`;
      const attachments = [{ name: "a'; touch pwned;.txt", bytes: Buffer.from('EOF\n$(id)\n') }];
      const [fizz, buzz] = await Promise.all([
        stage.send('fizz', `write fizz, please${hostile}`, { attachments }),
        stage.send('buzz', 'write buzz, please'),
      ]);
      expectWhole(fizz, 'fizz');
      expectWhole(buzz, 'buzz');
      // The words of a person are data: they arrived as they were, and no shell has read them.
      const { files, exec } = client.sandboxes.of('fizz');
      expect(await files.exists('pwned')).toBe(false);
      expect(await files.readText("attachments/a'; touch pwned;.txt")).toBe('EOF\n$(id)\n');
      expect(promptsWith(server, 'write fizz, please')).toContainEqual(expect.stringContaining(hostile));
      // A program in the sandbox writes the memory of its chat, the agent on the host that of the user.
      const where = scene.needsNoProgram === undefined ? { chat: 'fizz' } : {};
      expect((await client.search('fizz was written', where)).results[0]).toMatchObject({
        content: 'fizz was written',
      });
      // The key was added outside; inside there is neither it nor a network.
      const inside = await exec({
        argv: ['/bin/sh', '-c', 'env; cat /proc/*/environ | tr "\\0" "\\n"; cat /proc/net/dev'],
      });
      expect(inside.stdout).not.toContain(stage.key);
      expect(inside.stdout.match(/^ *\w+:(?= *\d)/gm)).toEqual([expect.stringContaining('lo:')]);
      const denied = await client.egress.log({ verdict: 'denied' });
      expect(denied.filter(({ host }) => host !== scene.asksInVain)).toEqual([]);

      const again = await stage.send('fizz', 'what does fizz print');
      expect(again.at(-1)).toMatchObject({ type: 'result', outcome: 'done', text: 'Twice fizz.' });
      const asked = promptsWith(server, 'what does fizz print');
      const whole = /write fizz, please[\s\S]*It prints fizzfizz[\s\S]*what does fizz print/;
      expect(asked).toContainEqual(expect.stringMatching(whole));
      expect(asked.join()).not.toContain('buzz');
    });

    it('AGT-3: an interrupt ends every process of the turn, and the conversation continues', async () => {
      stage.steps['wait for long'] = [{ text: '', calls: [scene.run(wait)] }];
      stage.steps['are you there'] = [{ text: 'Yes.' }];
      const turn = stage.send('waits', 'wait for long');
      const isWaiting = async () => (await stage.running('waits')).includes('time.sleep');
      await eventually(() => isWaiting().catch(() => undefined), 'the command', 120_000);
      // A program may report its command a moment after it began.
      const isReported = async () => {
        for await (const { type } of stage.client.agents.events('waits', { follow: false }))
          if (type === 'tool-call') return true;
        return false;
      };
      await eventually(isReported, 'the report of the command', 120_000);
      await expect(stage.send('waits', 'are you there')).rejects.toMatchObject({ code: 'agent_busy' });
      expect(await stage.client.agents.interrupt('waits')).toBe(true);
      const interrupted = await turn;
      expect(interrupted.at(-1)).toMatchObject({ type: 'result', outcome: 'interrupted' });
      const ids = (type: string) =>
        interrupted.flatMap((event) => (event.type === type && 'id' in event ? [event.id] : []));
      expect(ids('tool-call')).toHaveLength(1);
      expect(ids('tool-result')).toEqual(ids('tool-call'));
      expect(await stage.running('waits')).toBe('[[],[]]');
      expect(await stage.client.agents.interrupt('waits')).toBe(false);
      expect((await stage.send('waits', 'are you there')).at(-1)).toMatchObject({ text: 'Yes.' });
      const asked = promptsWith(stage.server, 'are you there');
      expect(asked).toContainEqual(expect.stringContaining('wait for long'));
    });

    more(() => stage);
  });
}

/** A test for every driver about the copy of a conversation; part of a suite of `agentTurns`. */
export function agentForks(scene: DriverScene, stage: () => Stage): void {
  let tries = 0;
  it('a fork has the conversation and the files before a turn, or all of them, and goes its own way', async () => {
    const { steps, client, server } = stage();
    // A second try has other names and words than the first.
    tries += 1;
    const [forked, early, late] = [`forked${tries}`, `early${tries}`, `late${tries}`];
    const which = `which files do you know, try ${tries}`;
    for (const word of ['first', 'second'])
      steps[`write the ${word} file`] = [
        { text: '', calls: [scene.write(`${word}.txt`, `${word}\n`)] },
        { text: `The ${word} file is there.` },
      ];
    steps[which] = [{ text: 'I look back.' }];
    const first = await stage().send(forked, 'write the first file');
    const [second] = await stage().send(forked, 'write the second file');
    const facts = await client.agents.fork(forked, early, { before: second?.turn });
    expect(facts).toMatchObject({ chat: early, driver: scene.driver, state: 'idle', turns: 1, cost: 0 });
    const filesOf = async (chat: string) =>
      (await client.sandboxes.of(chat).files.list('.')).entries
        .map(({ name }) => name)
        .filter((name) => name.endsWith('.txt'));
    expect(await filesOf(early)).toEqual(['first.txt']);
    const copied = await all(client.agents.events(early));
    expect(shapesOf(copied)).toEqual(shapesOf(first));
    expect(copied[0]).toMatchObject({ message: 'write the first file' });
    expect((await client.agents.fork(forked, late)).turns).toBe(2);
    expect((await filesOf(late)).sort()).toEqual(['first.txt', 'second.txt']);
    expect((await stage().send(early, which)).at(-1)).toMatchObject({
      outcome: 'done',
    });
    const ofEarly = promptsWith(server, which);
    expect(ofEarly).toContainEqual(expect.stringContaining('The first file is there.'));
    expect(ofEarly.join()).not.toContain('second file');
    expect((await stage().send(late, which)).at(-1)).toMatchObject({ outcome: 'done' });
    expect(promptsWith(server, which).join()).toContain('The second file is there.');
    // The original knows nothing of its copies.
    expect(await client.agents.get(forked)).toMatchObject({ turns: 2 });
    expect(await filesOf(forked)).toHaveLength(2);
    const refused = (chat: string, to: string, before?: string) =>
      client.agents.fork(chat, to, { before }).catch((error) => error.code);
    expect(await refused(forked, early)).toBe('sandbox_exists');
    expect(await refused(forked, 'new', 'no-such-turn')).toBe('turn_not_found');
    expect(await refused('nobody', 'new')).toBe('agent_not_found');
    // The files before a copied turn belong to the original.
    expect(await refused(late, 'new', (await all(client.agents.events(late)))[0]?.turn)).toBe(
      'snapshot_not_found',
    );
    expect((await client.sandboxes.list()).map(({ chat }) => chat)).not.toContain('new');
  });
}

/** Tests for every driver about refusals and failures; part of a suite of `agentTurns`. */
export function agentFailures(scene: DriverScene, stage: () => Stage): void {
  const { asksNobody, needsNoProgram } = scene;
  it.skipIf(asksNobody !== undefined)(
    `asks a person when no policy allows a command: the person allows it once, for the session, or denies it${because(asksNobody)}`,
    async () => {
      const { steps, client } = stage();
      const touch = ['a', 'b', 'c', 'd'].map((name) => ({
        text: '',
        calls: [scene.run(`touch ${name}.txt`)],
      }));
      const tests = { text: '', calls: [scene.run('python3 -m unittest --help')] };
      steps['touch four files'] = [tests, ...touch, { text: 'Touched what I could.' }];
      const answers: PermissionAnswer[] = ['deny', 'once', 'session'];
      const asked: string[] = [];
      const events = await stage().send('asks', 'touch four files', {
        permit(event) {
          asked.push(JSON.stringify(event.input));
          return answers.shift() ?? 'deny';
        },
      });
      // Tests are allowed ahead, and the last of the commands by the answer for the session.
      expect(asked).toEqual(['a', 'b', 'c'].map((name) => expect.stringContaining(`touch ${name}.txt`)));
      const failed = events.flatMap((event) => (event.type === 'tool-result' ? [event.failed] : []));
      expect(failed).toEqual([false, true, false, false, false]);
      const changed = events.flatMap((event) => (event.type === 'file-change' ? [event.path] : []));
      expect(changed).toEqual(['b.txt', 'c.txt', 'd.txt']);
      const [request] = events.flatMap((event) => (event.type === 'permission-request' ? [event] : []));
      expect((await client.approvals.get(request?.id ?? '')).detail).toContain('touch a.txt');
    },
  );

  it('reports a failing model with its reason, or recovers, and continues the conversation', async () => {
    const answer = { text: 'Got over it.' };
    const passing: Readonly<Record<string, Reply>> = {
      'too many requests': { status: 429, headers: { 'retry-after': '0' } },
      'broken inside': { status: 500 },
      'too much load': { status: 529 },
      'cut in the middle': { text: 'never the whole of it', pieceLength: 3, cutAfter: 2 },
      'garbage in the stream': {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: '{not\n\n',
      },
    };
    for (const [words, reply] of Object.entries(passing)) {
      stage().steps[words] = [[reply, answer]];
      const last = (await stage().send('fails', words)).at(-1);
      expect(last, words).toSatisfy(
        (event: AgentEvent) =>
          (event.type === 'result' && event.text === answer.text) ||
          (event.type === 'error' && /^(agent|provider|model)_/.test(event.code) && event.message !== ''),
      );
    }
    for (const status of [400, 402, 403]) {
      stage().steps[`refused with ${status}`] = [{ status }];
      const last = (await stage().send('fails', `refused with ${status}`)).at(-1);
      expect(last, String(status)).toMatchObject({ type: 'error', message: expect.stringMatching(/\S/) });
    }
    stage().steps['is it better now'] = [{ text: 'Yes, better.' }];
    const better = await stage().send('fails', 'is it better now');
    expect(better.at(-1)).toMatchObject({ type: 'result', text: 'Yes, better.' });
  });

  it('refuses an unknown driver and an attachment that is too large, before the turn starts', async () => {
    const { agents } = stage().client;
    const send = async (driver: never, bytes: number) => {
      const attachments = [{ name: 'large', bytes: new Uint8Array(bytes) }];
      for await (const _ of agents.send('refused', { text: 'hello', attachments }, { driver }));
    };
    await expect(send('nobody' as never, 1)).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(send('acp:nobody' as never, 1)).rejects.toMatchObject({
      code: 'agent_unavailable',
      message: expect.stringContaining('acp:nobody'),
    });
    await expect(send(scene.driver as never, 33 * 1024 ** 2)).rejects.toMatchObject({ code: 'too_large' });
    await expect(agents.get('refused')).rejects.toMatchObject({ code: 'agent_not_found' });
  });

  it.skipIf(needsNoProgram !== undefined)(
    `reports a sandbox without the program, with the next step${because(needsNoProgram)}`,
    async () => {
      // A sandbox that was made for something else shows no folder with the program.
      await stage().client.sandboxes.getOrCreate('bare');
      expect((await stage().send('bare', 'hello')).at(-1)).toMatchObject({
        type: 'error',
        code: 'agent_unavailable',
        hint: expect.stringContaining('folder'),
      });
    },
  );
}

/** Some programs also ask the model for a name of the conversation, with the same words, at any moment. */
function promptsWith({ calls }: Pick<ModelServer, 'calls'>, words: string): readonly string[] {
  return calls.map(({ prompt }) => prompt).filter((prompt) => prompt.includes(words));
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (skipped: ${reason})`;
}

function expectWhole(events: readonly AgentEvent[], word: string): void {
  const types = events.map(({ type }) => type);
  expect([types[0], types.at(-1)]).toEqual(['turn-start', 'result']);
  expect(textOf(events)).toBe(`I write it. I run it. I remember it. It prints ${word}${word}.`);
  const seqs = events.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  const calls = events.flatMap((event) => (event.type === 'tool-call' ? [event.id] : []));
  const results = events.flatMap((event) => (event.type === 'tool-result' ? [event] : []));
  expect(results.map(({ id }) => id)).toEqual(calls);
  expect(results.map(({ failed }) => failed)).toEqual([false, false, false]);
  expect(results[1]?.output).toContain(`${word}${word}`);
  const changes = events.flatMap((event) =>
    event.type === 'file-change' ? [[event.path, event.change]] : [],
  );
  expect(changes).toEqual([[`${word}.py`, 'added']]);
  expect(events.at(-1)).toMatchObject({ outcome: 'done', text: `It prints ${word}${word}.` });
}
