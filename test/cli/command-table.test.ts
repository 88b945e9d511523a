import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { CliCommand } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/command-list.ts';
import { exitCodesHelp, groupHelp, overviewHelp } from '../../src/cli/help.ts';
import { perform } from '../../src/cli/perform.ts';
import { thisMachine } from '../../src/machine/machine.ts';
import { linesOfJson, withoutJson } from './without-json.ts';

const cli = fileURLToPath(new URL('../../src/cli/', import.meta.url));

async function typed(command: CliCommand, argv: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const streams = {
    stdin: new PassThrough(),
    inputKind: () => 'none' as const,
    closeInput: () => {},
    stdout,
    stderr,
    setRaw: () => {},
  };
  const signal = new AbortController().signal;
  const around = { streams, machine: thisMachine(), cwd: '/', colours: false, signal };
  const code = await perform(command, argv, around);
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

/** The text of a command and of the files of the CLI that it imports, their imports too. */
function sourceOf(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return '';
  seen.add(file);
  const source = readFileSync(file, 'utf8');
  const nearby = [...source.matchAll(/from '(\.[^']+)'/g)].map(([, from = '']) => join(dirname(file), from));
  const own = nearby.filter((each) => each.startsWith(cli) && !/\/(perform|command)\.ts$/.test(each));
  return source + own.map((each) => sourceOf(each, seen)).join('');
}

function fileOf(entry: (typeof commands)[number]): string {
  const list = readFileSync(join(cli, 'command-list.ts'), 'utf8');
  const from = list.slice(list.indexOf(`name: '${entry.name}'`)).match(/import\('\.\/([^']+)'\)/)?.[1];
  return join(cli, from ?? '');
}

describe('CLI-1: the table of commands', () => {
  it.each(commands.map((entry) => [entry.name, entry] as const))(
    '%s: help with examples, and --json',
    async (name, entry) => {
      const command = await entry.load();
      expect({ name: command.name, summary: command.summary }).toEqual({ name, summary: entry.summary });
      expect(command.examples.length).toBeGreaterThan(0);
      expect(command.examples.map(([line]) => line).join('\n')).toContain(`geode ${name}`);
      for (const [, meaning] of command.examples) expect(meaning).not.toBe('');
      const help = await typed(command, ['--help']);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toContain('Examples:');
      expect(help.stdout).toContain('--json');

      // A refusal is JSON for programs, and words for people.
      const wrong = ['--no-such-option'];
      expect(await typed(command, wrong)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('no-such-option'),
      });
      const refused = await typed(command, ['--json', ...wrong]);
      expect(refused).toMatchObject({ code: 2, stderr: '' });
      expect(JSON.parse(refused.stdout)).toMatchObject({ code: 'invalid_input' });
      if (withoutJson[name] === undefined) expect(sourceOf(fileOf(entry))).toMatch(/\bjson\b/);
    },
  );

  it('every command is on the overview, by itself or by its group, in about 25 lines', () => {
    const lines = overviewHelp(commands).split('\n');
    expect(lines.length).toBeLessThanOrEqual(30);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    const words = lines.flatMap((line) => line.trim().split(/[\s,]+/));
    for (const { name } of commands) {
      const [first = '', second] = name.split(' ');
      expect(words).toContain(first);
      if (second !== undefined) expect(groupHelp(first, commands)).toContain(`  ${name} `);
    }
  });

  it('documents exit codes, and every reason for a command without JSON is about a command that is there', () => {
    const overview = exitCodesHelp();
    for (const code of ['0 done', '1 refused', '2 wrong usage', '124', '125', '128+N', '130'])
      expect(overview).toContain(code);
    const names = commands.map(({ name }) => name);
    const reasons = [...Object.keys(withoutJson), ...Object.keys(linesOfJson)];
    expect(reasons.filter((name) => !names.includes(name))).toEqual([]);
  });
});
