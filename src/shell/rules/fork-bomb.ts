import {
  type ArithmeticFor,
  type Function as FunctionNode,
  forEachChild,
  type SyntaxNode,
  type While,
} from 'unbash';
import { type CommandFrame, refuse } from '../frame.ts';

/** Refuses a function that starts itself in the background, or more than once in a pipeline. */
export function checkFunction({ name, body }: FunctionNode, frame: CommandFrame): void {
  visit(body, frame, (node) => {
    const isRepeated = node.type === 'Statement' ? node.background : node.type === 'Pipeline';
    const own = isRepeated ? commandNames(node, frame).filter((each) => each === name.value).length : 0;
    if (own > (node.type === 'Pipeline' ? 1 : 0)) {
      refuse(frame, 'fork-bomb', `The function ${name.value} starts itself endlessly.`);
    }
    return true;
  });
}

const pausing = new Set(['wait', 'sleep', 'read', 'break', 'exit', 'return', 'usleep', 'inotifywait']);
const always = /^(?:true|:|\[\s+1\s+\]|\[\[\s+1\s+\]\]|\(\(\s*1\s*\)\)|test\s+1)$/;
const never = /^(?:false|!\s+true|\(\(\s*0\s*\)\))$/;

/** Refuses an endless loop that starts processes and never waits. */
export function checkLoop(node: While | ArithmeticFor, frame: CommandFrame): void {
  if (!isEndless(node, frame)) return;
  let starts = false;
  let pauses = false;
  visit(node.body, frame, (inner) => {
    starts ||= inner.type === 'Statement' && inner.background === true;
    pauses ||= inner.type === 'Command' && pausing.has(inner.name?.value ?? '');
    return !(inner.type === 'Statement' && inner.background);
  });
  if (starts && !pauses)
    refuse(frame, 'fork-bomb', 'An endless loop starts processes and never waits for them.');
}

function isEndless(node: While | ArithmeticFor, frame: CommandFrame): boolean {
  if (node.type === 'ArithmeticFor') return node.test === undefined;
  const clause = frame.script.slice(node.clause.pos, node.clause.end).replace(/[;\s]+$/, '');
  return (node.kind === 'while' ? always : never).test(clause);
}

function commandNames(root: SyntaxNode, frame: CommandFrame): string[] {
  const names: string[] = [];
  visit(root, frame, (node) => {
    if (node.type === 'Command' && node.name !== undefined) names.push(node.name.value);
    return true;
  });
  return names;
}

/** Visits a tree, and descends below a node while `look` returns true. */
function visit(root: SyntaxNode, frame: CommandFrame, look: (node: SyntaxNode) => boolean): void {
  const open: SyntaxNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    frame.budget.spend('');
    if (look(node)) forEachChild(node, (child) => open.push(child));
  }
}
