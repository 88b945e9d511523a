/** Code as coloured elements of React. The highlighter builds a tree, never HTML. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import { Fragment, type ReactNode, useMemo } from 'react';

hljs.registerLanguage('bash', bash);
hljs.registerLanguage('css', css);
hljs.registerLanguage('diff', diff);
hljs.registerLanguage('json', json);
hljs.registerLanguage('python', python);
hljs.registerLanguage('typescript', typescript);

const aliases: Readonly<Record<string, string>> = {
  py: 'python',
  js: 'typescript',
  javascript: 'typescript',
  jsx: 'typescript',
  ts: 'typescript',
  tsx: 'typescript',
  mjs: 'typescript',
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  console: 'bash',
  patch: 'diff',
};

/** Beyond this, colours are not worth their time. */
const mostCharacters = 50_000;

export default function HighlightedCode({
  code,
  language,
}: {
  readonly code: string;
  readonly language: string;
}) {
  const nodes = useMemo(() => treeOf(code, language.toLowerCase()), [code, language]);
  return <code>{nodes === undefined ? code : drawn(nodes)}</code>;
}

interface Node {
  readonly scope?: string | undefined;
  readonly children: readonly (Node | string)[];
}

function treeOf(code: string, language: string): readonly (Node | string)[] | undefined {
  const name = aliases[language] ?? language;
  if (code.length > mostCharacters || hljs.getLanguage(name) === undefined) return undefined;
  // The emitter's tree is public API of custom emitters; HTML is never asked for.
  const result = hljs.highlight(code, { language: name, ignoreIllegals: true });
  const emitter: object & { readonly rootNode?: Node } = result._emitter;
  return emitter.rootNode?.children;
}

function drawn(nodes: readonly (Node | string)[]): ReactNode {
  return nodes.map((node, at) =>
    typeof node === 'string' ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
      <Fragment key={at}>{node}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text do not move.
      <span key={at} className={classOf(node.scope ?? '')}>
        {drawn(node.children)}
      </span>
    ),
  );
}

function classOf(scope: string): string {
  if (/^(keyword|literal|built_in|selector-tag)/.test(scope)) return 'code-key';
  if (/^(string|regexp|attr|addition)/.test(scope)) return 'code-str';
  if (/^(number|symbol|deletion)/.test(scope)) return 'code-num';
  if (/^(title|function|property|selector)/.test(scope)) return 'code-fn';
  return /^(comment|quote|meta)/.test(scope) ? 'code-note' : '';
}
