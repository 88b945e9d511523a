import { useRef, useState } from 'react';
import { isGeodeError, type RemoteRunEvent } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { withFigures } from '../runs/figures.ts';
import type { OutputPiece } from '../runs/output-pieces.tsx';
import { hostText } from '../shown.ts';
import { text } from '../text.ts';

const mostShown = 200_000;

export interface RunShown {
  readonly state: 'none' | 'running' | 'done';
  readonly pieces: readonly OutputPiece[];
  /** For a person, while the run waits. */
  readonly note?: string;
  readonly exit?: {
    readonly exitCode: number | null;
    readonly signal: string | null;
    readonly durationMs: number;
  };
  readonly sealedBy?: string;
  readonly denied: readonly string[];
  readonly artifacts: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly error?: unknown;
}

export interface RunSettings {
  readonly stdin?: string;
  readonly timeoutMs?: number;
  readonly memoryBytes?: number;
  readonly files?: readonly File[];
  readonly artifacts?: readonly string[];
}

const nothing: RunShown = { state: 'none', pieces: [], denied: [], artifacts: [] };

/** Runs code once, and shows what it does as it happens. */
export function useRun() {
  const [shown, setShown] = useState(nothing);
  const left = useRef<AbortController>(undefined);
  const run = async (code: string, language: string, settings: RunSettings) => {
    const stop = new AbortController();
    left.current = stop;
    setShown({ ...nothing, state: 'running' });
    try {
      const figures = language === 'python' ? withFigures : undefined;
      const { stdin = '', timeoutMs, memoryBytes, files = [], artifacts = [] } = settings;
      const options = {
        stdin,
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(memoryBytes !== undefined && { limits: { memoryBytes } }),
        env: figures?.env ?? {},
        files: { ...figures?.files, ...(await contentsOf(files)) },
        artifacts: [...(figures?.artifacts ?? []), ...artifacts],
        signal: stop.signal,
      };
      for await (const event of client.runs.stream(code, language, options))
        setShown((before) => withEvent(before, event));
      setShown((before) => ({ ...before, state: 'done' }));
    } catch (error) {
      const isStopped = isGeodeError(error, 'cancelled');
      setShown((before) => ({ ...before, state: 'done', ...(!isStopped && { error }) }));
    }
  };
  return { shown, run, stop: () => left.current?.abort() };
}

async function contentsOf(files: readonly File[]): Promise<Readonly<Record<string, Uint8Array>>> {
  const read = files.map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())] as const);
  return Object.fromEntries(await Promise.all(read));
}

function withEvent(shown: RunShown, event: RemoteRunEvent): RunShown {
  switch (event.type) {
    case 'stdout':
    case 'stderr':
      return withPiece(shown, event.type, event.bytes);
    case 'compile-output':
      return withPiece(shown, event.stream, event.bytes);
    case 'queue-place':
      return { ...shown, note: `${text.runs.queued} ${event.place}` };
    case 'sandbox-ready': {
      const { note: _, ...rest } = shown;
      return { ...rest, sealedBy: text.sandboxes.grades[event.sandbox.grade] };
    }
    case 'exit':
      return { ...shown, exit: event };
    case 'artifact':
      return { ...shown, artifacts: [...shown.artifacts, event] };
    case 'egress-denied':
      return {
        ...shown,
        denied: [
          ...new Set([...shown.denied, ...event.denied.map(({ host, port }) => hostText(host, port))]),
        ],
      };
    default:
      return shown;
  }
}

/** A run may write without end; the page shows its beginning. */
function withPiece(shown: RunShown, stream: OutputPiece['stream'], bytes: Uint8Array): RunShown {
  const length = shown.pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  if (length > mostShown) return shown;
  return { ...shown, pieces: [...shown.pieces, { stream, text: new TextDecoder().decode(bytes) }] };
}
