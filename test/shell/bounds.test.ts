import { describe, expect, it } from 'vitest';
import { judge } from '../../src/shell/policy.ts';
import { ruleHints } from '../../src/shell/verdict.ts';
import { readCorpus } from './corpus.ts';

const seed = Number(process.env.GEODE_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** A small generator with a seed, so that a failure can be had again. */
function random(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function expectVerdict(command: string): void {
  const verdict = judge(command);
  if (verdict.allowed) return;
  expect(Object.keys(ruleHints), JSON.stringify(command)).toContain(verdict.rule);
  expect(verdict.reason, JSON.stringify(command)).not.toBe('');
  expect(verdict.at.length).toBeLessThan(210);
}

describe('random input', () => {
  it(`SH-2: random bytes are judged (seed ${seed})`, () => {
    const next = random(seed);
    for (let round = 0; round < 3000; round++) {
      const length = Math.floor(next() * 200);
      const bytes = Uint8Array.from({ length }, () => Math.floor(next() * 256));
      expectVerdict(Buffer.from(bytes).toString(round % 2 === 0 ? 'utf8' : 'latin1'));
    }
  });

  it(`SH-2: shell-like noise is judged (seed ${seed})`, () => {
    const next = random(seed + 1);
    const words =
      'rm -rf / ~ $X $( ) ` " \\ ; & | && || < > >> << <<- <<< <( >( ( ) { } [[ ]] (( )) if then fi for in do done while ' +
      'case esac ;; function f() ! # * ? [a] {a,b} {1..9} $" &> |& 2>&1 eval sh -c xargs env = += $@ $# EOF é 𝕏';
    const pieces = [...words.split(' '), "'", "$'", `\${X:-`, '\n', '\t', '\\\n', '\uE000'];
    for (let round = 0; round < 4000; round++) {
      const length = 1 + Math.floor(next() * 30);
      const noise = Array.from({ length }, () => pieces[Math.floor(next() * pieces.length)] ?? '');
      expectVerdict(noise.join(next() < 0.5 ? ' ' : ''));
    }
  });

  it(`SH-2: mutated commands are judged (seed ${seed})`, () => {
    const next = random(seed + 2);
    const commands = [...readCorpus('hostile'), ...readCorpus('harmless')].map((entry) => entry.command);
    const pick = () => commands[Math.floor(next() * commands.length)] ?? '';
    for (let round = 0; round < 4000; round++) {
      let command = pick();
      for (let change = 0; change < 3; change++) {
        const at = Math.floor(next() * (command.length + 1));
        const other = pick();
        const cut = Math.floor(next() * other.length);
        const kind = next();
        if (kind < 0.4) command = command.slice(0, at) + command.slice(at + 1 + Math.floor(next() * 4));
        else if (kind < 0.8) command = command.slice(0, at) + other.slice(cut, cut + 4) + command.slice(at);
        else command = command.slice(0, at) + other.slice(cut);
      }
      expectVerdict(command);
    }
  });
});

const kibibytes64 = 64 * 1024;

describe('commands that would take too long to judge', () => {
  it.each<[string, string]>([
    ['nested substitutions', `${'$('.repeat(30_000)}${')'.repeat(30_000)}`],
    ['nested commands', `${'echo $('.repeat(8_000)}${')'.repeat(8_000)}`],
    ['nested subshells', `${'('.repeat(32_000)}${')'.repeat(32_000)}`],
    ['nested groups', `${'{ '.repeat(20_000)}${';}'.repeat(10_000)}`],
    ['nested ifs', `${'if a; then '.repeat(3_000)}:${'; fi'.repeat(3_000)}`],
    ['nested defaults', `echo ${`\${a:-`.repeat(9_000)}${'}'.repeat(9_000)}`],
    ['nested arithmetic', `echo $((${'('.repeat(20_000)}1${')'.repeat(20_000)}))`],
    ['nested old arithmetic', '$['.repeat(30_000)],
    ['unclosed braces', `echo ${'{a,'.repeat(20_000)}`],
    ['multiplying braces', `echo ${'{a,b}'.repeat(12_000)}`],
    ['many commands', 'a|'.repeat(30_000)],
  ])('SH-2: refuses %s as too complex', (_, command) => {
    const verdict = judge(command.slice(0, kibibytes64));
    expect(verdict.allowed).toBe(false);
    if (!verdict.allowed) expect(['too-complex', 'unparsable']).toContain(verdict.rule);
  });

  it.each<[string, string]>([
    [
      'multiplying values',
      `${Array.from({ length: 40 }, (_, i) => `[ $a ] && x${i}=1;[ $a ] && x${i}=2`).join(';')};ls ${Array.from({ length: 40 }, (_, i) => `$x${i}`).join(' ')}`,
    ],
    ['nested sh -c', `${'sh -c '.repeat(9_000)}a`],
    ['multiplying loops', `${'for i in 1 2 3 4 5 6 7 8 9; do '.repeat(25)}:${'; done'.repeat(25)}`],
    ['a doubling variable', `x=aaaaaaaa;${'x=$x$x;'.repeat(8_000)}`],
    ['long argument lists', `set -- ${'b '.repeat(400)}; ${'rm "$@";'.repeat(5_000)}`],
    [
      'multiplying functions',
      `${Array.from({ length: 500 }, (_, i) => `f${i}(){ f${i + 1}; f${i + 1}; }`).join(';')};f0`,
    ],
    ['stars', `cat ${'*a'.repeat(30_000)}`],
    ['slashes', `ls ${'/'.repeat(60_000)}`],
    ['comments', '# a\n'.repeat(15_000)],
    ['blanks', ' '.repeat(kibibytes64)],
    ['one long word', `echo ${'a'.repeat(60_000)}`],
    ['one long here-document', `cat <<'E'\n${'text {\n'.repeat(200)}${'word '.repeat(9_000)}\nE`],
    ['strings in code', `python3 -c "${`'a'+`.repeat(12_000)}''"`],
  ])('SH-2: judges %s within its limits', (_, command) => {
    expect(judge(command.slice(0, kibibytes64))).toEqual({ allowed: true });
  });

  it('SH-2: a command is at most 64 KiB long, in bytes', () => {
    expect(judge(`#${'a'.repeat(kibibytes64 - 1)}`)).toEqual({ allowed: true });
    expect(judge(`#${'a'.repeat(kibibytes64)}`)).toMatchObject({ rule: 'too-long' });
    expect(judge(`#${'é'.repeat(kibibytes64 / 2)}`)).toMatchObject({ rule: 'too-long' });
  });

  it('SH-2: refuses commands that contain marks of the policy itself', () => {
    expect(judge('rm -rf /\uE000/..')).toMatchObject({ rule: 'destroy' });
    expect(judge("rm -rf $'/\\uE000/..'")).toMatchObject({ rule: 'destroy' });
    expect(judge('cat /etc/shadow # \uE000')).toMatchObject({ rule: 'key-files' });
  });
});
