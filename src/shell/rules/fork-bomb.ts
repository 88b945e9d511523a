import { type ArithmeticFor, forEachChild, type Statement, type SyntaxNode, type While } from 'unbash';
import { type Frame, refuse } from '../frame.ts';
import type { ShellFunction } from '../scope.ts';

/** A function that starts itself again as further processes, directly or by way of others. */
export function checkFunction(name: string, body: ShellFunction['body'], frame: Frame): void {
  const { spawns } = frame.inspection;
  spawns.set(name, new Set([...(spawns.get(name) ?? []), ...spawnedIn(body, frame)]));
  const reached = new Set<string>();
  const open = [...(spawns.get(name) ?? [])];
  for (let other = open.pop(); other !== undefined; other = open.pop()) {
    if (other === name) refuse(frame, 'fork-bomb', `The function ${name} starts itself again and again.`);
    if (reached.has(other)) continue;
    reached.add(other);
    open.push(...(spawns.get(other) ?? []));
  }
}

/** Commands that a body starts in the background, or more than once in one pipeline. */
function spawnedIn(body: SyntaxNode, frame: Frame): Set<string> {
  const spawned = new Set<string>();
  visit(body, frame, (node) => {
    if (node.type === 'Statement' && node.background) {
      for (const name of commandNames(node, frame)) spawned.add(name);
    } else if (node.type === 'Pipeline') {
      const seen = new Set<string>();
      for (const name of node.commands.flatMap((command) => commandNames(command, frame))) {
        if (seen.has(name)) spawned.add(name);
        seen.add(name);
      }
    }
    return true;
  });
  return spawned;
}

const pausing = new Set(['wait', 'sleep', 'read', 'break', 'exit', 'return', 'usleep', 'inotifywait']);
const always = /^(?:true|:|\[\s+1\s+\]|\[\[\s+1\s+\]\]|\(\(\s*1\s*\)\)|test\s+1)$/;
const never = /^(?:false|!\s+true|\(\(\s*0\s*\)\))$/;

/** A loop without end that starts processes and never waits. */
export function checkLoop(node: While | ArithmeticFor, frame: Frame): void {
  if (!isEndless(node, frame)) return;
  let starts = false;
  let pauses = false;
  visit(node.body, frame, (inner) => {
    if (inner.type === 'Statement' && inner.background) {
      starts = true;
      return false;
    }
    if (inner.type === 'Command' && pausing.has(inner.name?.value ?? '')) pauses = true;
    return inner.type !== 'Script';
  });
  if (starts && !pauses)
    refuse(frame, 'fork-bomb', 'An endless loop starts processes and never waits for them.');
}

function isEndless(node: While | ArithmeticFor, frame: Frame): boolean {
  if (node.type === 'ArithmeticFor') return node.test === undefined;
  const clause = frame.source.slice(node.clause.pos, node.clause.end).replace(/[;\s]+$/, '');
  return (node.kind === 'while' ? always : never).test(clause);
}

/** A script that starts itself in the background more than once. */
export function checkSelfStart(statements: readonly Statement[], frame: Frame): void {
  const selves = statements.filter(
    ({ background, command }) =>
      background && command.type === 'Command' && /^["']?\$\{?0\}?["']?$/.test(command.name?.text ?? ''),
  );
  if (selves.length > 1) refuse(frame, 'fork-bomb', 'The script starts itself again and again.');
}

function commandNames(root: SyntaxNode, frame: Frame): string[] {
  const names: string[] = [];
  visit(root, frame, (node) => {
    if (node.type === 'Command' && node.name !== undefined) names.push(node.name.value);
    return true;
  });
  return names;
}

/** Goes over a tree as long as `look` says so; words are left out, as substitutions wait for their commands. */
function visit(root: SyntaxNode, frame: Frame, look: (node: SyntaxNode) => boolean): void {
  const open: SyntaxNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    frame.inspection.budget.spend(1, frame.at);
    if (!look(node)) continue;
    forEachChild(node, (child) => {
      if (child.type !== 'Word' && child.type !== 'Assignment') open.push(child);
    });
  }
}
