import { Ban, CircleCheck, CircleX, LoaderCircle } from 'lucide-react';
import { Drawn } from '../contexts/rich-result.tsx';
import { pictureType } from '../runs/figures.ts';
import { OutputPieces } from '../runs/output-pieces.tsx';
import { saveAs } from '../save-as.ts';
import { durationText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { CopyButton } from '../ui/copy.tsx';
import { Problem } from '../ui/problem.tsx';
import type { RunShown } from './use-run.ts';

/** How it ended, what it wrote, the files it made and the hosts it could not reach. */
export function RunResult({ shown }: { readonly shown: RunShown }) {
  const { state, pieces, error, denied, artifacts } = shown;
  if (state === 'none') return null;
  const output = pieces.map(({ text: piece }) => piece).join('');
  return (
    <section aria-label={text.runs.output} className="flex min-w-0 flex-col gap-2">
      <div role="status" className="flex min-h-7 flex-wrap items-center gap-2">
        <Outcome shown={shown} />
        <span className="flex-1" />
        {output !== '' && <CopyButton value={output} />}
      </div>
      {error !== undefined && <Problem error={error} />}
      <OutputPieces pieces={pieces} />
      {state === 'done' && error === undefined && output === '' && artifacts.length === 0 && (
        <p className="text-faint">{text.runs.silent}</p>
      )}
      <ul className="flex flex-col gap-2">
        {artifacts.map(({ path, bytes }) => (
          <li key={path} className="flex flex-col gap-1">
            <Picture path={path} bytes={bytes} />
            <button
              type="button"
              className="self-start break-all text-accent-text underline"
              onClick={() => saveAs(path, [new Uint8Array(bytes)], 'application/octet-stream')}
            >
              {nameText(path)}
            </button>
          </li>
        ))}
      </ul>
      {denied.length > 0 && (
        <p className="flex items-center gap-2 break-words">
          <Ban aria-hidden size={14} strokeWidth={1.75} className="shrink-0 text-bad" />
          <span>
            {text.log.blocked} <code>{denied.join(', ')}</code>
          </span>
        </p>
      )}
    </section>
  );
}

function Outcome({ shown: { state, exit, note, sealedBy } }: { readonly shown: RunShown }) {
  if (state === 'running' || exit === undefined)
    return (
      <span className="flex items-center gap-2 text-muted">
        {state === 'running' && <LoaderCircle aria-hidden size={14} className="spin" />}
        {state === 'running' ? (note ?? text.runs.running) : text.runs.stopped}
      </span>
    );
  const isGood = exit.exitCode === 0;
  const Icon = isGood ? CircleCheck : CircleX;
  const how =
    exit.signal === null ? `${text.processes.exit} ${exit.exitCode}` : text.runs.stoppedBy(exit.signal);
  return (
    <>
      <span className={`flex items-center gap-1.5 font-medium ${isGood ? 'text-good' : 'text-bad'}`}>
        <Icon aria-hidden size={14} strokeWidth={1.75} />
        {isGood
          ? text.runs.finishedIn(durationText(exit.durationMs))
          : text.runs.failedAfter(durationText(exit.durationMs))}
      </span>
      <span className="text-muted">
        {how}
        {sealedBy !== undefined && `. ${sealedBy}`}
      </span>
    </>
  );
}

function Picture({ path, bytes }: { readonly path: string; readonly bytes: Uint8Array }) {
  const type = pictureType(path);
  return type === undefined ? null : <Drawn content={new Uint8Array(bytes)} type={type} name={path} />;
}
