/** CodeMirror: an editor, and a view of what differs between two texts. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { python } from '@codemirror/lang-python';
import {
  bracketMatching,
  defaultHighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { nonce } from '../nonce.ts';

interface Shown {
  readonly label: string;
  readonly value: string;
  readonly onChange?: (value: string) => void;
  /** A file name or a language: how it is coloured. */
  readonly name: string;
  /** Shows what differs from this text. */
  readonly before?: string | undefined;
}

/** A value from outside replaces the text; one that was typed here is there already. */
export default function CodeEditor({ label, value, onChange, name, before }: Shown) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const latest = useRef({ value, onChange });
  latest.current = { value, onChange };
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const view = new EditorView({
      parent: current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          history(),
          drawSelection(),
          highlightSpecialChars({ addSpecialChars: /[\u202a-\u202e\u2066-\u2069]/g }),
          indentOnInput(),
          bracketMatching(),
          highlightSelectionMatches(),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            const text = docChanged ? state.doc.toString() : latest.current.value;
            if (text !== latest.current.value) latest.current.onChange?.(text);
          }),
          looks,
          ...languageOf(name),
          ...(before === undefined ? [] : [unifiedMergeView({ original: before, mergeControls: false })]),
          ...(latest.current.onChange === undefined
            ? [EditorState.readOnly.of(true), EditorView.editable.of(false)]
            : []),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, [label, name, before]);
  useEffect(() => {
    const view = editor.current;
    if (view === undefined || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={place} className="min-w-0 overflow-hidden rounded-md border border-line" />;
}

const looks = EditorView.theme({
  '&': {
    backgroundColor: '#ffffff',
    color: '#1f2328',
    fontSize: '13px',
    maxHeight: '60vh',
    minHeight: '8rem',
  },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', overflow: 'auto', minHeight: '8rem' },
  '.cm-gutters': { backgroundColor: '#f5f6f8', color: '#59636e' },
  '.cm-content': { caretColor: '#1f2328' },
});

function languageOf(name: string): readonly Extension[] {
  if (/(^|\.)py$|^python$/.test(name)) return [python()];
  if (/(^|\.)[cm]?[jt]sx?$|^(java|type)script$/.test(name))
    return [javascript({ typescript: /ts/.test(name), jsx: /x$/.test(name) })];
  return [];
}
