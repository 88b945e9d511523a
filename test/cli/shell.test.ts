import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ProcessFacts } from '../../src/seams/process.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap, docker } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const detach = '\x10\x11';

/** A full-screen program: redraws for each key and each size, and prints which. */
const fullScreen = `
import curses
def draw(screen):
    curses.curs_set(0)
    last = 'none'
    while True:
        rows, columns = screen.getmaxyx()
        screen.erase()
        screen.addstr(0, 0, f'FULL SCREEN {columns}x{rows}')
        screen.addstr(rows - 2, 4, f'last key: {last}')
        screen.refresh()
        key = screen.getch()
        if key == ord('q'): break
        last = 'resize' if key == curses.KEY_RESIZE else chr(key)
curses.wrapper(draw)
`;

describe.skipIf(!bubblewrap.available)(`CLI-1: geode shell${reason}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
  });
  afterEach(() => home.end());
  afterAll(() => home[Symbol.asyncDispose]());

  it('creates the sandbox, runs commands, applies a new terminal size, and returns the exit code', async () => {
    await using me = home.sit(['shell', 'work']);
    await me.sees('isolation grade os');
    me.type('echo six times $((6*7))\r');
    await me.sees('six times 42');
    me.type('stty size\r');
    await me.sees(/^24 80$/m);
    me.resize(100, 30);
    me.type('until [ "$(stty size)" = "30 100" ]; do sleep 0.1; done; echo resi$((42))zed\r');
    await me.sees('resi42zed');
    me.type('sh -c "echo slee$((6*7))ping; exec sleep 1000"\r');
    await me.sees('slee42ping');
    me.type('\x03');
    await me.sees(/\^C\n.*\$/);
    me.type('echo code $?\r');
    await me.sees('code 130');
    me.type('exit 7\r');
    expect(await me.over).toBe(7);
  });

  it('PROC-1: a detached shell continues, and joining it restores its screen', async () => {
    await using first = home.sit(['shell', 'left']);
    first.type('answer=42; echo before leaving\r');
    await first.sees(/^before leaving/m);
    first.type(detach);
    expect(await first.over).toBe(0);
    await using again = home.sit(['shell', 'left'], { columns: 100, rows: 30 });
    await again.sees(/^before leaving/m);
    again.type('echo the answer is $answer; stty size\r');
    await again.sees('the answer is 42');
    await again.sees(/^30 100$/m);
    again.type('exit\r');
    expect(await again.over).toBe(0);
  });

  it('PROC-1: after kill -9 a full-screen program is shown unchanged and accepts keys', async () => {
    await home.ok(['sandbox', 'create', 'killed']);
    await home.ok(['sandbox', 'exec', 'killed', '--', 'sh', '-c', 'cat > full.py'], fullScreen);
    await using first = home.sit(['shell', 'killed', '--', 'python3', 'full.py']);
    await first.sees('FULL SCREEN 80x24');
    first.type('x');
    await first.sees('last key: x');
    // The whole of the screen: both lines, and nothing else.
    await first.sees(/^FULL SCREEN 80x24\n+ {4}last key: x$/);
    const before = first.screen();
    first.signal('SIGKILL');
    await first.over;
    await using again = home.sit(['shell', 'killed']);
    await again.sees('last key: x');
    // Its parts may come one after the other.
    await patiently(async () => again.screen() === before, 'the same screen');
    expect(again.screen()).toBe(before);
    again.type('y');
    await again.sees('last key: y');
    again.resize(60, 20);
    await again.sees('FULL SCREEN 60x20');
    again.type('q');
    expect(await again.over).toBe(0);
  });

  it('lists terminals, starts another, joins a terminal by name, and takes it over from another window', async () => {
    await using first = home.sit(['shell', 'many']);
    first.type('echo I am the fir$((1))st\r');
    await first.sees('fir1st');
    await using second = home.sit(['shell', '--take-over', '--new', 'many', '--', 'sh']);
    expect(await first.over).toBe(143);
    expect(first.screen()).toContain('detached');
    second.type('echo I am the sec$((2))ond\r');
    await second.sees('sec2ond');
    second.type(detach);
    expect(await second.over).toBe(0);
    const { terminals } = await home.json<{ terminals: readonly ProcessFacts[] }>([
      'shell',
      '--list',
      'many',
    ]);
    expect(terminals.map(({ argv }) => argv.at(-1))).toEqual(['sh', expect.stringMatching(/bash$/)]);
    expect(await home.ok(['shell', '--list', 'many'])).toMatch(/^PROCESS +STARTED +SIZE +COMMAND\n/);
    await using again = home.sit(['shell', '--process', terminals[1]?.id ?? '', 'many']);
    await again.sees('fir1st');
    again.type('exit\r');
    expect(await again.over).toBe(0);
    await using unknown = home.sit(['shell', '--process', 'nobody', 'many']);
    await unknown.sees('There is no running terminal nobody');
    expect(await unknown.over).toBe(125);
  });

  it('a hang-up leaves the shell running, and hostile output does not reach beyond the screen', async () => {
    await using first = home.sit(['shell', 'hung']);
    first.type("printf 'a\\033]52;c;aGVsbG8=\\007b\\033]0;title\\007c\\n'\r");
    await first.sees(/^abc$/m);
    expect(first.written()).not.toContain('\x1b]52');
    expect(first.written()).toContain('\x1b]0;title');
    first.signal('SIGHUP');
    await first.over;
    await using again = home.sit(['shell', 'hung']);
    await again.sees(/^abc$/m);
    expect(again.written()).not.toContain('\x1b]');
    again.type('exit\r');
    expect(await again.over).toBe(0);
  });
});

describe.skipIf(!docker.available)('CLI-1: geode shell on docker', patience, () => {
  it('PROC-1: a shell can be left and rejoined', async () => {
    await using home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'docker',
      GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
      GEODE_DOCKER_IMAGE: 'geode-test/python:1',
    });
    await using first = home.sit(['shell', 'demo']);
    first.type('echo fir$((1))st; stty size\r');
    await first.sees(/^fir1st\n24 80$/m);
    first.signal('SIGKILL');
    await first.over;
    await using again = home.sit(['shell', 'demo'], { columns: 70, rows: 20 });
    await again.sees(/^fir1st/m);
    again.type('stty size; exit 3\r');
    await again.sees(/^20 70$/m);
    expect(await again.over).toBe(3);
  });
});
