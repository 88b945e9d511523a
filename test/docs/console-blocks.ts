/** The console examples of a page: commands with the output that the page shows. */

export interface ConsoleCommand {
  /** All lines of the command as typed. */
  readonly text: string;
  /** The lines below it. `…` stands for any text in a line, and alone for any lines. */
  readonly output: readonly string[];
  readonly line: number;
}

/** Commands that this page's test does not run. Their words are checked. */
interface ShownCommands {
  readonly text: string;
  readonly line: number;
}

export interface Examples {
  /** Commands in the order of the page. One shell runs all of them. */
  readonly commands: readonly ConsoleCommand[];
  /** Blocks that the named test runs: `<!-- not run here: test/… -->` above the block. */
  readonly notRun: readonly (ShownCommands & { readonly reason: string })[];
  /** Blocks of `sh`: commands for another machine. Their first line says what they need: `# Needs …`. */
  readonly templates: readonly ShownCommands[];
  /** Commands of Geode in a sentence. */
  readonly inline: readonly ShownCommands[];
  /** Lines of other blocks that look like a command. No page should have one. */
  readonly stray: readonly ShownCommands[];
}

const mark = /^<!-- not run here: (.+) -->$/;
const hidden = /^<!-- first:$/;
const fence = /^ *(`{3,})(.*)$/;
const programs =
  'geode|npm|npx|node|docker|kubectl|helm|curl|wget|pip3?|python3?|git|sudo|systemctl|apt-get|claude';
const command = new RegExp(`^\\s*(?:\\$ |(?:export |[A-Z_]+=\\S+ )*(?:${programs}) )`);

/** A comment `<!-- first:` holds commands that the page does not show, such as files that it takes for granted. */
export function examplesIn(page: string): Examples {
  const examples = {
    commands: [] as ConsoleCommand[],
    notRun: [] as (ShownCommands & { reason: string })[],
    templates: [] as ShownCommands[],
    inline: [] as ShownCommands[],
    stray: [] as ShownCommands[],
  };
  const lines = page.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const [, ticks, language] = fence.exec(lines[at] ?? '') ?? [];
    if (hidden.test(lines[at] ?? '')) {
      const end = lines.indexOf('-->', at);
      examples.commands.push({ text: lines.slice(at + 1, end).join('\n'), output: ['…'], line: at + 1 });
      at = end;
    } else if (ticks !== undefined) {
      const end = lines.findIndex((line, index) => index > at && line.trim() === ticks);
      if (end === -1) throw new Error(`The block of line ${at + 1} has no end.`);
      const inside = lines.slice(at + 1, end);
      const line = at + 2;
      const reason = mark.exec(lines[at - 1] ?? '')?.[1];
      if (language === 'sh') examples.templates.push({ text: inside.join('\n'), line });
      else if (language !== 'console') examples.stray.push(...strayIn(inside, line, language ?? ''));
      else if (reason === undefined) examples.commands.push(...commandsOf(inside, line));
      else {
        const text = commandsOf(inside, line).map((each) => each.text);
        examples.notRun.push({ reason, text: text.join('\n'), line });
      }
      at = end;
    } else {
      const spans = (lines[at] ?? '').matchAll(/`(geode [^`]+)`/g);
      examples.inline.push(...spans.map(([, text = '']) => ({ text, line: at + 1 })));
    }
  }
  return examples;
}

function strayIn(lines: readonly string[], first: number, language: string): readonly ShownCommands[] {
  if (!['', 'text', 'bash', 'shell', 'zsh'].includes(language)) return [];
  return lines.flatMap((text, index) => (command.test(text) ? [{ text, line: first + index }] : []));
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
