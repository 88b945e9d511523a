import { type ArithmeticExpression, forEachChild, type SyntaxNode } from 'unbash';
import { FieldBuilder } from './field.ts';
import type { Frame } from './frame.ts';
import { parameterItems } from './parameter.ts';

/** The number an expression gives, where it can be told. The commands substituted in it are looked at in any case. */
export function arithmeticValue(
  expression: ArithmeticExpression | undefined,
  frame: Frame,
): string | undefined {
  if (expression === undefined) return '0';
  lookInside(expression, frame);
  const value = evaluate(expression, frame);
  return value === undefined || !Number.isSafeInteger(value) ? undefined : String(value);
}

/** Looks at every command that is substituted somewhere below a node. */
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

function evaluate(node: ArithmeticExpression, frame: Frame): number | undefined {
  switch (node.type) {
    case 'ArithmeticGroup':
      return evaluate(node.expression, frame);
    case 'ArithmeticWord':
      return numberOf(node.value.trim(), frame);
    case 'ArithmeticUnary': {
      const operand = evaluate(node.operand, frame);
      return operand !== undefined && node.operator === '-' ? -operand : undefined;
    }
    case 'ArithmeticBinary':
      return combine(node.operator, evaluate(node.left, frame), evaluate(node.right, frame));
    default:
      return undefined;
  }
}

function numberOf(text: string, frame: Frame): number | undefined {
  if (/^(?:0x[\da-f]+|[1-9]\d*|0)$/i.test(text)) return Number(text);
  if (/^0[0-7]+$/.test(text)) return Number.parseInt(text, 8);
  const name = /^\$?\{?([A-Za-z_]\w*)\}?$/.exec(text)?.[1];
  const value = name === undefined ? undefined : parameterItems(name, frame)?.[0];
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function combine(operator: string, left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return undefined;
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0 ? undefined : Math.trunc(left / right);
    case '%':
      return right === 0 ? undefined : left % right;
    default:
      return undefined;
  }
}
