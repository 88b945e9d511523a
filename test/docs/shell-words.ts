/** Splits shell text into its commands, as far as the examples of the docs need it. */
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface ShellCommand {
  /** `GEODE_PORT=4431` before the program. */
  readonly variables: readonly string[];
  /** The program and its arguments, without quotes and redirections. */
  readonly words: readonly string[];
}

/** Commands of a text, those inside `$(…)` included. Comments, here-documents and redirections are left out. */
export function shellCommands(script: string): readonly ShellCommand[] {
  const inner: ShellCommand[] = [];
  const text = script
    .replace(/<<'?(\w+)'?(.*)\n[\s\S]*?\n\1$/gm, '$2')
    .replace(/\$\(([^()]*)\)/g, (_, command: string) => {
      inner.push(...shellCommands(command));
      return 'RESULT';
    });
  return [...commandsOf(tokensOf(text)), ...inner];
}

type Token = { readonly word: string } | 'end';

/** A quoted piece, an escaped line end, a comment, a redirection, an operator, or a plain piece of a word. */
const piece =
  /'([^']*)'|"((?:\\.|[^"\\])*)"|(\\\n)|(?<=^|[\s;])(#[^\n]*)|(\d?(?:>>?|<(?!\())(?:&\d)?)|(<\(|\n|;|&&|\|\||[|&(){}])|(\\.|[^\s'"\\;&|<>(){}]+)|([ \t]+)/g;

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let word: string | undefined;
  let isTarget = false;
  const finish = () => {
    if (word !== undefined && !isTarget) tokens.push({ word });
    if (word !== undefined) isTarget = false;
    word = undefined;
  };
  for (const [, single, double, continued, comment, redirection, operator, plain] of text.matchAll(piece)) {
    const part = single ?? double ?? plain;
    if (part !== undefined) word = `${word ?? ''}${part}`;
    else finish();
    if (redirection !== undefined) isTarget = !redirection.includes('&');
    else if (operator !== undefined && continued === undefined && comment === undefined) tokens.push('end');
  }
  finish();
  return tokens;
}

function commandsOf(tokens: readonly Token[]): readonly ShellCommand[] {
  const commands: { variables: string[]; words: string[] }[] = [{ variables: [], words: [] }];
  for (const token of tokens) {
    const last = commands.at(-1);
    if (last === undefined || token === 'end') commands.push({ variables: [], words: [] });
    else if (last.words.length === 0 && /^[A-Z_a-z]\w*=/.test(token.word)) last.variables.push(token.word);
    else last.words.push(token.word);
  }
  return commands.filter(({ variables, words }) => variables.length + words.length > 0);
}
