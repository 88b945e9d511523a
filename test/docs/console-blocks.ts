/** The console examples of a page: commands with the output that the page shows. */

export interface ConsoleCommand {
  /** All lines of the command as typed. */
  readonly text: string;
  /** The lines below it. `…` stands for any text in a line, and alone for any lines. */
  readonly output: readonly string[];
  readonly line: number;
}

export interface Examples {
  /** Commands in the order of the page. One shell runs all of them. */
  readonly commands: readonly ConsoleCommand[];
  /** Reasons of the blocks that another test runs, or none: `<!-- not run here: … -->` above a block. */
  readonly notRun: readonly string[];
}

const mark = /^<!-- not run here: (.+) -->$/;
const hidden = /^<!-- first:$/;

/** A comment `<!-- first:` holds commands that the page does not show, such as files that it takes for granted. */
export function examplesIn(page: string): Examples {
  const commands: ConsoleCommand[] = [];
  const notRun: string[] = [];
  const lines = page.split('\n');
  for (let at = 0; at < lines.length; at++) {
    if (hidden.test(lines[at] ?? '')) {
      const end = lines.indexOf('-->', at);
      commands.push({ text: lines.slice(at + 1, end).join('\n'), output: ['…'], line: at + 1 });
      at = end;
    } else if (lines[at] === '```console') {
      const end = lines.indexOf('```', at + 1);
      const reason = mark.exec(lines[at - 1] ?? '')?.[1];
      if (reason === undefined) commands.push(...commandsOf(lines.slice(at + 1, end), at + 2));
      else notRun.push(reason);
      at = end;
    }
  }
  return { commands, notRun };
}

function commandsOf(lines: readonly string[], first: number): readonly ConsoleCommand[] {
  const commands: { text: string; output: string[]; line: number }[] = [];
  for (const [index, line] of lines.entries()) {
    const last = commands.at(-1);
    if (line.startsWith('$ ')) commands.push({ text: line.slice(2), output: [], line: first + index });
    else if (last === undefined) throw new Error(`Line ${first + index} is output without a command.`);
    else if (last.output.length === 0 && last.text.endsWith('\\')) last.text += `\n${line}`;
    else last.output.push(line);
  }
  return commands;
}

/** Undefined when the output is as the page shows it, else the first line that differs. Blanks count as one. */
export function difference(shown: readonly string[], actual: string): string | undefined {
  const wanted = shown.map(plain).filter((line) => line !== '');
  const given = actual
    .split('\n')
    .map(plain)
    .filter((line) => line !== '');
  return differs(wanted, given);
}

function plain(line: string): string {
  return line.replace(/\s+/g, ' ').trim();
}

function differs(wanted: readonly string[], given: readonly string[]): string | undefined {
  const [line, ...rest] = wanted;
  if (line === undefined) return given.length === 0 ? undefined : `unexpected: ${given[0]}`;
  if (line === '…') {
    const after = given.keys().find((at) => differs(rest, given.slice(at)) === undefined);
    return after !== undefined || rest.length === 0 ? undefined : `missing: ${rest[0]}`;
  }
  if (given[0] !== undefined && patternOf(line).test(given[0])) return differs(rest, given.slice(1));
  return `expected: ${line}\ngiven:    ${given[0] ?? '(nothing)'}`;
}

function patternOf(line: string): RegExp {
  return new RegExp(`^${line.split('…').map(escaped).join('.*')}$`);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
