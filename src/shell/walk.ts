import type {
  AndOr,
  Case,
  CommandNode,
  CompoundCommand,
  CompoundList,
  For,
  If,
  Pipeline,
  Script,
  Select,
  Statement,
  While,
} from 'unbash';
import { Choices } from './choices.ts';
import { commandOutputs, runCommand } from './command.ts';
import { expandParts, expandText, expandWord, expandWords } from './expand.ts';
import { type Frame, refuse, type Shell } from './frame.ts';
import { invoke } from './invoke.ts';
import { limits } from './limits.ts';
import { lookInside } from './look-inside.ts';
import { namedFiles } from './named-files.ts';
import { parameterItems } from './parameter.ts';
import { type Reading, readings } from './parse.ts';
import { runRedirected } from './redirect.ts';
import { checkFunction, checkLoop, checkSelfStart } from './rules/fork-bomb.ts';

/**
 * The walk over a script: every command is looked at once for each way it may come to run, in the order of
 * the script, with what is known of variables, folder, files and input at that point. Each step returns what
 * is known of the output, because output becomes words, scripts and files.
 */
export const shell: Shell = {
  runScript,
  outputsOf,
  runBody: runAny,
  runText,
  invoke,
  expandWord,
  expandText,
  expandParts,
};

function runText(text: string, frame: Frame, guessed = false): string {
  frame.inspection.budget.read(text, frame.at);
  const inner = deeper(frame);
  const all = readings(text, frame.dialect, guessed);
  return all.map((reading, index) => runReading(reading, inner, index === 0)).join('');
}

/** The first reading is the one that goes on; what another sets or writes must not be mistaken for it. */
function runReading({ script, source }: Reading, frame: Frame, first: boolean): string {
  if (first) return runScript(script, { ...frame, source });
  const inspection = { ...frame.inspection, files: new Map(frame.inspection.files) };
  runScript(script, { ...frame, source, inspection, scope: frame.scope.fork() });
  return '';
}

function runScript(script: Script, frame: Frame): string {
  const source = script.source ?? frame.source;
  return runStatements(script.commands, { ...deeper(frame), source });
}

function outputsOf(script: Script, frame: Frame): string[] {
  const [only, ...others] = script.commands;
  if (only?.command.type !== 'Command' || others.length > 0) return [runScript(script, frame)];
  return commandOutputs(only.command, { ...deeper(frame), source: script.source ?? frame.source });
}

function deeper(frame: Frame): Frame {
  if (frame.depth >= limits.depth) refuse(frame, 'too-complex', 'The command is nested too deeply.');
  return { ...frame, depth: frame.depth + 1, choices: new Choices() };
}

function runList(list: CompoundList, frame: Frame): string {
  return runStatements(list.commands, frame);
}

const leaving = new Set(['break', 'continue', 'return', 'exit']);

function runStatements(statements: readonly Statement[], frame: Frame): string {
  checkSelfStart(statements, frame);
  let output = '';
  let { scope } = frame;
  for (const statement of statements) {
    const { command } = statement;
    const inner = { ...frame, at: frame.source.slice(statement.pos, statement.end) };
    output += runAny(command, { ...inner, scope: statement.background ? scope.fork() : scope });
    // What follows may never run, so it can add to what is known but not replace it.
    if (command.type === 'Command' && leaving.has(command.name?.text ?? '')) scope = scope.fork();
  }
  if (scope !== frame.scope) frame.scope.join([scope], false);
  return output;
}

function runAny(node: CommandNode | Pipeline | AndOr | CompoundList, frame: Frame): string {
  frame.inspection.budget.spend(1, frame.at);
  switch (node.type) {
    case 'AndOr':
      return runAndOr(node, deeper(frame));
    case 'Pipeline':
      return runPipeline(node, deeper(frame));
    case 'Command':
      return runCommand(node, frame);
    case 'CompoundList':
      return runList(node, deeper(frame));
    case 'Redirected':
      return runRedirected(node.redirects, frame, (inner) => runCompound(node.command, deeper(inner)));
    case 'Coproc':
      return runAny(node.body, { ...deeper(frame), scope: frame.scope.fork() });
    case 'Function': {
      const name = node.name.value;
      checkFunction(name, node.body, frame);
      frame.scope.define(name, { body: node.body, source: frame.source });
      const scope = frame.scope.fork();
      scope.arguments = undefined;
      runAny(node.body, { ...deeper(frame), scope });
      return '';
    }
    default:
      return runCompound(node, deeper(frame));
  }
}

function runCompound(node: CompoundCommand, frame: Frame): string {
  switch (node.type) {
    case 'Subshell':
      return runList(node.body, { ...frame, scope: frame.scope.fork() });
    case 'BraceGroup':
      return runList(node.body, frame);
    case 'If':
      return runIf(node, frame);
    case 'For':
    case 'Select':
      return runFor(node, frame);
    case 'While':
      return runWhile(node, frame);
    case 'Case':
      return runCase(node, frame);
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) if (part) lookInside(part, frame);
      checkLoop(node, frame);
      return runBranches([(inner) => runList(node.body, inner)], false, frame);
    case 'TestCommand':
      lookInside(node, frame);
      return '';
    case 'ArithmeticCommand':
      if (node.expression) lookInside(node.expression, frame);
      return '';
  }
}

/** `a && b || c`: what follows the first may not run; what follows `&&` runs after what stands before it. */
function runAndOr(node: AndOr, frame: Frame): string {
  const [first, ...rest] = node.commands;
  let output = first === undefined ? '' : runAny(first, frame);
  const branch = frame.scope.fork();
  rest.forEach((command, index) => {
    const scope = node.operators[index] === '||' ? branch.fork() : branch;
    output += runAny(command, { ...frame, scope });
    if (scope !== branch) branch.join([scope], false);
  });
  frame.scope.join([branch], false);
  return output;
}

function runPipeline(node: Pipeline, frame: Frame): string {
  const [only] = node.commands;
  if (node.commands.length === 1 && only !== undefined) return runAny(only, frame);
  let { stdin } = frame;
  for (const command of node.commands) {
    stdin = runAny(command, { ...frame, stdin, scope: frame.scope.fork() });
  }
  return stdin;
}

function runIf(node: If, frame: Frame): string {
  const clauses = [node.clause, ...node.elif.map((branch) => branch.clause)];
  const bodies = [node.then, ...node.elif.map((branch) => branch.then), ...(node.else ? [node.else] : [])];
  const tested = clauses.map((clause) => runList(clause, frame)).join('');
  return (
    tested +
    runBranches(
      bodies.map((body) => (inner) => runList(body, inner)),
      node.else !== undefined,
      frame,
    )
  );
}

function runCase(node: Case, frame: Frame): string {
  expandText(node.word, frame);
  for (const item of node.items) for (const pattern of item.pattern) expandText(pattern, frame);
  const complete = node.items.some((item) => item.pattern.some((pattern) => pattern.text === '*'));
  return runBranches(
    node.items.map((item) => (inner) => runList(item.body, inner)),
    complete,
    frame,
  );
}

/** Runs each branch on a fork of the scope and joins what they set. `complete` when one of them surely runs. */
function runBranches(
  branches: readonly ((frame: Frame) => string)[],
  complete: boolean,
  frame: Frame,
): string {
  const forks = branches.map(() => frame.scope.fork());
  const outputs = branches.map((branch, index) => branch({ ...frame, scope: forks[index] ?? frame.scope }));
  frame.scope.join(forks, complete);
  return outputs.join('');
}

function runFor(node: For | Select, frame: Frame): string {
  const name = node.name.value;
  const items =
    node.wordlist === undefined
      ? (parameterItems('@', frame) ?? [])
      : expandWords(node.wordlist, frame).flatMap((field) => namedFiles(field, frame));
  let output = '';
  for (const item of items) {
    frame.inspection.budget.spend(1, frame.at);
    frame.scope.set(name, [item]);
    output += runList(node.body, { ...frame, choices: new Choices() });
  }
  if (items.length === 0) runList(node.body, { ...frame, scope: frame.scope.fork() });
  return output;
}

/** The body may run any number of times; a second look sees what the first one set. */
function runWhile(node: While, frame: Frame): string {
  checkLoop(node, frame);
  let output = '';
  for (let look = 0; look < 2; look++) {
    const tested = runList(node.clause, { ...frame, choices: new Choices() });
    const fork = frame.scope.fork();
    output = tested + runList(node.body, { ...frame, scope: fork, choices: new Choices() });
    frame.scope.join([fork], false);
    if (!fork.changed) break;
  }
  return output;
}
