/** CodeMirror: an editor, and a view of what differs between two texts. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { python } from '@codemirror/lang-python';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
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
  /** Ctrl-Enter and Shift-Enter, which otherwise begin a line. */
  readonly onRun?: () => void;
}

/** A value from outside replaces the text; one that was typed here is there already. */
export default function CodeEditor({ label, value, onChange, name, before, onRun }: Shown) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(undefined);
  const latest = useRef({ value, onChange, onRun });
  latest.current = { value, onChange, onRun };
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const run = () => {
      latest.current.onRun?.();
      return latest.current.onRun !== undefined;
    };
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
          syntaxHighlighting(colours),
          keymap.of([
            ...runKeys.map((key) => ({ key, run })),
            ...defaultKeymap,
            ...searchKeymap,
            ...historyKeymap,
            indentWithTab,
          ]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            const text = docChanged ? state.doc.toString() : latest.current.value;
            if (text !== latest.current.value) latest.current.onChange?.(text);
          }),
          typedOverSelection,
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

const runKeys = ['Ctrl-Enter', 'Mod-Enter', 'Shift-Enter'];

/** The browser would give what replaces coloured text a style of its own, which the content policy refuses. */
const typedOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    const isTyped = event.inputType === 'insertText' && event.data !== null && !event.isComposing;
    if (!isTyped || state.selection.main.empty || state.readOnly) return false;
    event.preventDefault();
    view.dispatch({
      ...state.replaceSelection(event.data ?? ''),
      userEvent: 'input.type',
      scrollIntoView: true,
    });
    return true;
  },
});

const looks = EditorView.theme({
  '&': {
    backgroundColor: 'var(--color-surface)',
    color: 'var(--color-ink)',
    fontSize: '12.5px',
    maxHeight: '60vh',
    minHeight: '8rem',
  },
  '.cm-scroller': {
    fontFamily: 'var(--font-mono)',
    fontVariantLigatures: 'none',
    overflow: 'auto',
    minHeight: '8rem',
  },
  '.cm-gutters': {
    backgroundColor: 'var(--color-sunken)',
    borderColor: 'var(--color-line)',
    color: 'var(--color-faint)',
  },
  '.cm-content': { caretColor: 'var(--color-ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--color-ink)' },
  '.cm-changedLine': { backgroundColor: 'var(--color-good-soft) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--color-bad-soft) !important' },
});

/** Each colour reads on the light and on the dark page. */
const colours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--color-faint)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--color-code-key)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--color-code-str)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--color-code-num)' },
  { tag: [tags.function(tags.variableName), tags.className], color: 'var(--color-code-fn)' },
  { tag: [tags.typeName, tags.propertyName], color: 'var(--color-code-fn)' },
]);

function languageOf(name: string): readonly Extension[] {
  if (/(^|\.)py$|^python$/.test(name)) return [python()];
  if (/(^|\.)[cm]?[jt]sx?$|^(java|type)script$/.test(name))
    return [javascript({ typescript: /ts/.test(name), jsx: /x$/.test(name) })];
  return [];
}
