import { describe, expect, it } from 'vitest';
import { judge } from '../../src/shell/policy.ts';
import { quote, readCorpus } from './corpus.ts';

const hostile = readCorpus('hostile');
const harmless = readCorpus('harmless');
const left = readCorpus('left-to-the-sandbox');

describe('the corpus', () => {
  it('SH-6: refuses every hostile command by its rule, and allows every harmless one', () => {
    const wrong: string[] = [];
    let blocked = 0;
    let passed = 0;
    for (const { section, command } of hostile) {
      const verdict = judge(command);
      if (verdict.allowed) wrong.push(`passed: ${command}`);
      else blocked++;
      if (!verdict.allowed && verdict.rule !== section)
        wrong.push(`${verdict.rule}, not ${section}: ${command}`);
    }
    for (const { command } of harmless) {
      const verdict = judge(command);
      if (verdict.allowed) passed++;
      else wrong.push(`refused by ${verdict.rule}: ${command}`);
    }
    const all = hostile.length + left.length;
    console.log(
      `hostile blocked ${blocked}/${all}, left to the sandbox ${left.length}, harmless passed ${passed}/${harmless.length}`,
    );
    expect(wrong).toEqual([]);
  });

  it('SH-6: leaves to the sandbox only commands that the policy allows', () => {
    const refused = left.filter(({ command }) => !judge(command).allowed).map(({ command }) => command);
    expect(refused, 'move these into hostile.txt').toEqual([]);
  });

  it('SH-6: holds at least 150 different commands of each kind', () => {
    for (const entries of [hostile, harmless]) {
      const commands = new Set(entries.map((entry) => entry.command));
      expect(commands.size).toBe(entries.length);
      expect(commands.size).toBeGreaterThanOrEqual(150);
    }
  });
});

/** Places where a command may stand. What is judged one way alone is judged that way in each of them. */
const places: Record<string, (command: string) => string> = {
  'a list': (command) => `true && {\n${command}\n}`,
  'a subshell': (command) => `(\n${command}\n)`,
  'a branch': (command) => `if test -e x; then\n${command}\nfi`,
  'a loop': (command) => `for i in once; do\n${command}\ndone`,
  'a function': (command) => `work() {\n${command}\n}\nwork`,
  'a substitution': (command) => `echo "$(\n${command}\n)"`,
  'a pipeline': (command) => `{\n${command}\n} | cat`,
  eval: (command) => `eval ${quote(command)}`,
  'sh -c': (command) => `sh -c ${quote(command)}`,
  'env and timeout': (command) => `env A=b timeout 5 sh -c ${quote(command)}`,
  'a here-document': (command) => `sh <<'END OF SCRIPT'\n${command}\nEND OF SCRIPT`,
};

describe.each(Object.entries(places))('in %s', (_, place) => {
  it('SH-2: a hostile command is refused', () => {
    const passed = hostile
      .filter(({ section }) => section !== 'unparsable')
      .filter(({ command }) => judge(place(command)).allowed)
      .map(({ command }) => command);
    expect(passed).toEqual([]);
  });

  it('SH-2: a harmless command passes', () => {
    const refused = harmless
      .filter(({ command }) => !judge(place(command)).allowed)
      .map(({ command }) => command);
    expect(refused).toEqual([]);
  });
});
