/** Changes single settings in the text of a config file; all other text, comments included, stays as written. */
import { applyEdits, findNodeAtLocation, type ModificationOptions, modify, parseTree } from 'jsonc-parser';

export interface SettingChange {
  /** `['providers', 'default']`; longer for a part of a setting. */
  readonly path: readonly string[];
  /** Undefined removes the setting. */
  readonly value: unknown;
  /** Comment above a setting that is new in the file. */
  readonly meaning: string;
  /** Only if the file does not set it. */
  readonly unlessThere?: boolean;
}

const format: ModificationOptions = {
  formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' },
};

export function editConfig(text: string, changes: readonly SettingChange[]): string {
  return changes.reduce(change, text);
}

function change(text: string, { path, value, meaning, unlessThere = false }: SettingChange): string {
  const isNew = nodeAt(text, path) === undefined;
  if (isNew ? value === undefined : unlessThere) return text;
  const changed = applyEdits(text, modify(text, [...path], value, format));
  return isNew && meaning !== '' ? withComment(changed, path, meaning) : changed;
}

function nodeAt(text: string, path: readonly string[]) {
  const tree = parseTree(text);
  return tree === undefined ? undefined : findNodeAtLocation(tree, [...path]);
}

function withComment(text: string, path: readonly string[], meaning: string): string {
  const offset = nodeAt(text, path)?.parent?.offset;
  if (offset === undefined) return text;
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  const indent = text.slice(lineStart, offset);
  // In a file on one line, a comment would hide the rest.
  if (indent.trim() !== '') return text;
  return `${text.slice(0, offset)}// ${meaning}\n${indent}${text.slice(offset)}`;
}
