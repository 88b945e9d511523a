import { forEachChild, type SyntaxNode } from 'unbash';
import { FieldBuilder } from './field.ts';
import type { Frame } from './frame.ts';

/** Looks at every command that is substituted somewhere below a node. Numbers are not computed. */
export function lookInside(node: SyntaxNode, frame: Frame): void {
  if (node.type === 'Word') {
    frame.shell.expandText(node, frame);
    return;
  }
  if (node.type === 'ArithmeticWord') {
    if (node.parts !== undefined) frame.shell.expandParts(node.parts, frame, new FieldBuilder());
    return;
  }
  if (node.type === 'ArithmeticCommandExpansion') {
    if (node.script !== undefined)
      frame.shell.runScript(node.script, { ...frame, scope: frame.scope.fork() });
    return;
  }
  frame.inspection.budget.spend(1, frame.at);
  forEachChild(node, (child) => lookInside(child, frame));
}
