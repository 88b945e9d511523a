import {
  Check,
  ChevronRight,
  CircleSlash,
  CircleX,
  FileDiff,
  Lightbulb,
  ListChecks,
  LoaderCircle,
} from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { DiffText } from '../sandbox/diff-text.tsx';
import { durationText, linesText, lineText, nameText, plainText } from '../shown.ts';
import { text } from '../text.ts';
import type { Item, Step } from './conversation.ts';
import { inputDiff } from './input-diff.ts';

type Thinking = Extract<Item, { type: 'thinking' }>;
type Files = Extract<Item, { type: 'files' }>;

/** One line of work that opens. */
function Line({
  icon,
  side,
  isBad = false,
  children,
  inside,
}: {
  readonly icon: ReactNode;
  readonly side?: ReactNode;
  readonly isBad?: boolean;
  readonly children: ReactNode;
  readonly inside: () => ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="min-w-0">
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex min-h-7 w-full min-w-0 cursor-pointer items-center gap-2 rounded-control text-left hover:bg-hover pointer-coarse:min-h-10"
        onClick={() => setOpen(!isOpen)}
      >
        <span className={`flex w-5 shrink-0 justify-center ${isBad ? 'text-bad' : 'text-muted'}`}>
          {icon}
        </span>
        <span className="min-w-0 flex-1 truncate text-muted">{children}</span>
        <span className="figures flex shrink-0 items-center gap-2 text-sm text-faint">
          {side}
          <ChevronRight aria-hidden size={14} className={isOpen ? 'rotate-90' : ''} />
        </span>
      </button>
      {isOpen && <div className="flex flex-col gap-2 py-1 pl-7">{inside()}</div>}
    </div>
  );
}

export function StepLine({ step }: { readonly step: Step }) {
  const { call, result, isStopped } = step;
  const { verb, subject, isCommand } = wordsOfStep(step);
  const isFailed = result?.failed === true;
  const change = inputDiff(call.input);
  return (
    <Line
      icon={<StepIcon step={step} />}
      isBad={isFailed}
      side={
        <>
          {isFailed && <span className="text-bad">{text.chat.failed}</span>}
          {isStopped && text.chat.stopped}
          {change !== undefined && !isFailed && (
            <>
              <span className="text-good">{text.talk.added(change.added)}</span>
              {change.removed > 0 && <span className="text-bad">{text.talk.removed(change.removed)}</span>}
            </>
          )}
          {result !== undefined && durationText(Math.max(0, result.at - call.at))}
        </>
      }
      inside={() => (
        <>
          <section aria-label={text.chat.input}>
            {change === undefined ? (
              <Output>{isCommand ? commandOf(call.input) : inputText(call.input)}</Output>
            ) : (
              <DiffText diff={change.diff} />
            )}
          </section>
          {result !== undefined && result.output !== '' && (
            <section aria-label={text.chat.output}>
              <Output>{result.output}</Output>
            </section>
          )}
        </>
      )}
    >
      {verb} <code className="text-ink">{subject}</code>
    </Line>
  );
}

function Output({ children }: { readonly children: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard.
    <pre className="output" tabIndex={0}>
      {plainText(children)}
    </pre>
  );
}

function StepIcon({ step: { result, isStopped } }: { readonly step: Step }) {
  if (isStopped) return <CircleSlash aria-label={text.chat.stopped} size={16} strokeWidth={1.75} />;
  if (result === undefined)
    return <LoaderCircle aria-label={text.chat.running} size={16} className="spin text-accent-text" />;
  return result.failed ? (
    <CircleX aria-label={text.chat.failed} size={16} strokeWidth={1.75} />
  ) : (
    <Check aria-hidden size={16} strokeWidth={1.75} />
  );
}

export function StepsLine({ steps }: { readonly steps: readonly Step[] }) {
  const failed = steps.filter(({ result }) => result?.failed).length;
  const first = steps[0]?.call.at ?? 0;
  const last = steps.at(-1)?.result?.at ?? first;
  return (
    <Line
      icon={<ListChecks aria-hidden size={16} strokeWidth={1.75} />}
      side={
        <>
          {failed > 0 && (
            <span className="text-bad">
              {failed} {text.chat.failed}
            </span>
          )}
          {durationText(Math.max(0, last - first))}
        </>
      }
      inside={() => steps.map((step) => <StepLine key={step.key} step={step} />)}
    >
      {text.chat.steps(steps.length)}
    </Line>
  );
}

export function ThinkingLine({ item }: { readonly item: Thinking }) {
  return (
    <Line
      icon={<Lightbulb aria-hidden size={16} strokeWidth={1.75} />}
      inside={() => <p className="break-words whitespace-pre-wrap text-muted">{linesText(item.text)}</p>}
    >
      {item.isGrowing ? text.chat.thinking : text.chat.thought}
    </Line>
  );
}

export function FilesLine({
  item: { changes },
  onOpen,
}: {
  readonly item: Files;
  readonly onOpen: (path: string) => void;
}) {
  const [first] = changes;
  if (first === undefined) return null;
  const verb =
    { added: text.chat.added, removed: text.chat.removed }[String(first.change)] ?? text.chat.changed;
  return (
    <Line
      icon={<FileDiff aria-hidden size={16} strokeWidth={1.75} />}
      inside={() => (
        <ul>
          {changes.map(({ seq, path, change }) => (
            <li key={seq} className="flex items-center gap-2">
              <span className="w-20 shrink-0 text-sm text-faint">{text.files.changes[change]}</span>
              <button
                type="button"
                className="min-w-0 truncate text-left font-mono text-code text-accent-text"
                onClick={() => onOpen(path)}
              >
                {nameText(path)}
              </button>
            </li>
          ))}
        </ul>
      )}
    >
      {verb} <code className="text-ink">{nameText(first.path)}</code>
      {changes.length > 1 && ` ${text.chat.moreFiles(changes.length - 1)}`}
    </Line>
  );
}

/** A tool as what it does: a command ran, a file was read; others by their name. */
function wordsOfStep({ call: { tool, input }, result, isStopped }: Step) {
  const isRunning = result === undefined && !isStopped;
  const command = commandOf(input);
  if (command !== '')
    return {
      verb: isRunning ? text.chat.running : text.chat.ran,
      subject: lineText(command),
      isCommand: true,
    };
  const path = fieldOf(input, ['path', 'file_path', 'file']);
  const verb = isRunning ? text.chat.using : text.chat.used;
  return {
    verb: `${verb} ${nameText(tool)}`,
    subject: path === '' ? '' : nameText(path),
    isCommand: false,
  };
}

function commandOf(input: unknown): string {
  return fieldOf(input, ['command', 'cmd', 'script']);
}

function fieldOf(input: unknown, names: readonly string[]): string {
  if (typeof input !== 'object' || input === null) return '';
  for (const [name, value] of Object.entries(input)) {
    if (names.includes(name) && typeof value === 'string') return value;
    if (names.includes(name) && Array.isArray(value)) return value.map(String).join(' ');
  }
  return '';
}

/** The fields of a tool's input, one a line: what a person reads, not how it was sent. */
function inputText(input: unknown): string {
  if (typeof input !== 'object' || input === null) return String(input ?? '');
  return Object.entries(input)
    .map(([name, value]) => {
      const shown = typeof value === 'string' ? value : JSON.stringify(value);
      return `${name}: ${shown?.includes('\n') ? `\n${shown}` : shown}`;
    })
    .join('\n');
}
