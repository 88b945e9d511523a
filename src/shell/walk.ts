import type { Command, Redirection, Statement, SyntaxNode } from 'unbash';
import { type CommandFrame, nested, refuse, type Stream } from './frame.ts';
import { invoke } from './invoke.ts';
import { parseScript } from './parse.ts';
import { checkFunction, checkLoop } from './rules/fork-bomb.ts';
import { checkRedirect } from './rules/redirects.ts';
import { checkAssignment } from './rules/variables.ts';
import { readText, readWord, runSubstitutions } from './words.ts';

/** Checks a script inside the command: the text of `sh -c`, of a here-document, of `eval`. */
export function runText(script: string, frame: CommandFrame): Stream {
  frame.budget.spend(script);
  return runStatements(parseScript(script).commands, nested(frame, { script }));
}

/** Checks a list of commands. Returns the output of the last command whose output is known. */
export function runStatements(statements: readonly Statement[], frame: CommandFrame): Stream {
  let output: Stream = {};
  for (const { command } of statements) {
    const next = run(command, frame);
    output = { source: next.source ?? output.source, text: statements.length === 1 ? next.text : undefined };
  }
  return output;
}

/** Checks one node of the syntax tree and everything below it. */
function run(node: SyntaxNode, frame: CommandFrame): Stream {
  frame.budget.spend('');
  switch (node.type) {
    case 'Command':
      return runCommand(node, frame);
    case 'Pipeline':
      return node.commands.reduce<Stream>(
        (input, command) =>
          run(command, node.commands.length > 1 ? { ...frame, input, place: { ...frame.place } } : frame),
        frame.input,
      );
    case 'AndOr':
      return node.commands.map((command) => run(command, frame)).at(-1) ?? {};
    case 'Redirected':
      return redirected(node.redirects, frame, (inner) => run(node.command, inner));
    case 'Subshell':
      return runStatements(node.body.commands, nested(frame));
    case 'BraceGroup':
      return runStatements(node.body.commands, frame);
    case 'CompoundList':
      return runStatements(node.commands, frame);
    case 'Function':
      checkFunction(node, frame);
      frame.functions.add(node.name.value);
      run(node.body, nested(frame, { input: {} }));
      return {};
    case 'While':
    case 'ArithmeticFor':
      checkLoop(node, frame);
      return runChildren(node, frame);
    case 'Word':
    case 'Assignment':
      runSubstitutions(node, frame);
      return {};
    case 'ArithmeticCommand':
    case 'TestCommand':
      return { source: runSubstitutions(node, frame) };
    default:
      return runChildren(node, frame);
  }
}

function runChildren(node: SyntaxNode, frame: CommandFrame): Stream {
  const children: SyntaxNode[] = 'word' in node ? [node.word] : [];
  for (const key of ['wordlist', 'clause', 'then', 'elif', 'else', 'items', 'body'] as const) {
    const value: unknown = Reflect.get(node, key);
    if (Array.isArray(value)) children.push(...value);
    else if (isNode(value)) children.push(value);
  }
  let output: Stream = {};
  for (const child of children) {
    const { source } = run(child, frame);
    output = { source: source ?? output.source };
  }
  return output;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function runCommand(command: Command, frame: CommandFrame): Stream {
  const inner = { ...frame, at: frame.script.slice(command.pos, command.end) };
  for (const item of command.prefix) if (item.type === 'Assignment') checkAssignment(item, inner);
  return redirected(command.redirects, inner, (ready) => {
    const words = command.name === undefined ? [] : [command.name, ...command.args];
    const read = words.flatMap((word) => {
      if (word.type === 'Word') return readWord(word, ready);
      checkAssignment(word, ready);
      return [];
    });
    return read.length === 0 ? {} : invoke(read, ready);
  });
}

/** Runs a command with its redirects checked, and with its standard input if the script contains it literally. */
function redirected(
  redirects: readonly Redirection[],
  frame: CommandFrame,
  work: (inner: CommandFrame) => Stream,
): Stream {
  let { input } = frame;
  let isWritten = false;
  for (const redirect of redirects) {
    const descriptor = redirect.descriptor?.type === 'FileDescriptor' ? redirect.descriptor.value : undefined;
    if (redirect.type === 'HereDoc') {
      for (const part of redirect.body.parts ?? []) runSubstitutions(part, frame);
      if ((descriptor ?? 0) === 0) {
        const { text } = redirect.body;
        input = { text: redirect.operator === '<<-' ? text.replace(/^\t+/gm, '') : text };
      }
    } else if (redirect.target !== undefined) {
      const target = readText(redirect.target, frame);
      if (redirect.type === 'HereString') input = { text: target.text, source: target.source };
      else {
        checkRedirect(redirect.operator, target, frame);
        if (redirect.operator === '<') input = { source: target.source };
        else if (redirect.operator !== '<&' && (descriptor ?? 1) === 1 && !/^\d|-$/.test(target.text))
          isWritten = true;
      }
    }
  }
  const output = work({ ...frame, input });
  return isWritten ? {} : output;
}

/** Refuses a script in strict mode if it contains an expansion. */
export function runArgument(
  script: { readonly text: string; readonly dynamic: boolean },
  frame: CommandFrame,
): Stream {
  if (frame.policy.mode === 'strict' && script.dynamic) {
    refuse(frame, 'dynamic', 'The script is not written out.');
  }
  return runText(script.text, frame);
}
