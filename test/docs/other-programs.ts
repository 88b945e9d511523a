/** Checks the words of commands of other programs by their help, and the names of this repository's files and scripts. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { inTurn } from '../engine/in-turn.ts';
import { claudeCode } from '../fixtures/agent-programs.ts';
import { root } from './shell-words.ts';

/** Words of the shell, whose options are not checked. */
const builtins = ['cd', 'do', 'done', 'echo', 'export', 'set', 'source', 'true', 'unset', 'until', 'while'];
/** Programs whose commands have a help of their own. */
const withCommands = ['claude', 'conformance', 'docker', 'docker-compose', 'git', 'npm', 'pip', 'vitest'];

export async function wrongInOtherPrograms(words: readonly string[]): Promise<readonly string[]> {
  const [program, ...rest] = withoutWrappers(words);
  if (program === undefined || builtins.includes(program)) return [];
  const wrong = rest.filter(isMissing).map((file) => `there is no file ${file}`);
  const [, script] = rest;
  if (program === 'npm' && rest[0] === 'run' && script !== undefined && !(script in scripts))
    wrong.push(`there is no script ${script}`);
  const help = await helpOf(program, rest);
  if (help === '') return [...wrong, `${program} gives no help`];
  const has = (option: string) => new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(help);
  const unknown = optionsIn(rest).filter((option) => !has(option));
  return [...wrong, ...unknown.map((option) => `${words.join(' ')}: its help has no ${option}`)];
}

function withoutWrappers(words: readonly string[]): readonly string[] {
  const [first, second, ...rest] = words;
  if (first === 'sudo' || first === 'npx') return words.slice(1);
  // Version 1 of Compose is another program with the same options.
  return first === 'docker' && second === 'compose' ? ['docker-compose', ...rest] : words;
}

/** `-xzf` is three options; `--name=value` is one. Words after `--` belong to another program. */
function optionsIn(words: readonly string[]): readonly string[] {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? undefined : end).flatMap((word) => {
    if (/^--\w/.test(word)) return [word.replace(/=.*/s, '')];
    return /^-[a-zA-Z]+$/.test(word) ? [...word.slice(1)].map((letter) => `-${letter}`) : [];
  });
}

function isMissing(word: string): boolean {
  return /^(?:deploy|docs|examples|images|test)\/[\w./-]+$/.test(word) && !existsSync(join(root, word));
}

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

const asked = new Map<string, Promise<string>>();

/** The help of a program, and of the commands that the words may name. */
async function helpOf(program: string, words: readonly string[]): Promise<string> {
  const plain = words.filter((word) => /^[a-z-]*[a-z]$/.test(word) && !word.startsWith('-')).slice(0, 3);
  const subjects = withCommands.includes(program)
    ? [[], ...plain.map((word) => [word]), plain.slice(0, 2)]
    : [program === 'curl' ? ['all'] : []];
  const texts = subjects.map((subject) => {
    const args = program === 'curl' ? ['--help', ...subject] : [...subject, '--help'];
    const key = [program, ...args].join(' ');
    const text = asked.get(key) ?? helpInTurn(program, args);
    asked.set(key, text);
    return text.then((said) => {
      if (said === '') asked.delete(key);
      return said;
    });
  });
  return (await Promise.all(texts)).join('\n').trim();
}

/** One program at a time: some of them need much memory. */
const helpInTurn = inTurn(output);

async function output(program: string, args: readonly string[]): Promise<string> {
  const claude = program === 'claude' ? await claudeCode() : undefined;
  const here = claude?.available ? join(claude.folder, program) : program;
  const PATH = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
  return new Promise((done) => {
    const options = { env: { ...process.env, PATH }, timeout: 300_000, maxBuffer: 10e6 };
    execFile(here, args, options, (_, stdout, stderr) => done(`${stdout}${stderr}`));
  });
}
