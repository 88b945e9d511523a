import { useRef, useState } from 'react';
import { isGeodeError, type RemoteRunEvent } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { Code } from '../code.tsx';
import { Drawn } from '../contexts/rich-result.tsx';
import { saveAs } from '../save-as.ts';
import { durationText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Card, Empty } from '../ui/card.tsx';
import { Choice, TextArea, TextField } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { pictureType, withFigures } from './figures.ts';
import { PastRun, RunHistory } from './history.tsx';
import { type OutputPiece, OutputPieces } from './output-pieces.tsx';

const languages = ['python', 'javascript', 'typescript', 'shell', 'rust', 'go'] as const;
const mostShown = 200_000;

interface Shown {
  readonly state: 'none' | 'running' | 'done';
  readonly pieces: readonly OutputPiece[];
  readonly notes: readonly string[];
  readonly artifacts: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly error?: unknown;
}

const nothing: Shown = { state: 'none', pieces: [], notes: [], artifacts: [] };

/** Code that runs once, in a fresh sandbox, and what ran before. */
export function RunOnce({ past }: { readonly past: string | undefined }) {
  const [code, setCode] = useState('print(6 * 7)\n');
  const [language, setLanguage] = useState<string>('python');
  const [stdin, setStdin] = useState('');
  const [timeout, setTimeout] = useState('60');
  const [memory, setMemory] = useState('');
  const [files, setFiles] = useState<readonly File[]>([]);
  const [artifacts, setArtifacts] = useState('');
  const [shown, setShown] = useState(nothing);
  const stop = useRef<AbortController>(undefined);

  const run = async () => {
    const left = new AbortController();
    stop.current = left;
    setShown({ ...nothing, state: 'running' });
    try {
      const figures = language === 'python' ? withFigures : undefined;
      const options = {
        stdin,
        timeoutMs: Number(timeout) * 1000,
        ...(memory !== '' && { limits: { memoryBytes: Number(memory) * 1024 ** 2 } }),
        env: figures?.env ?? {},
        files: { ...figures?.files, ...(await contentsOf(files)) },
        artifacts: [...(figures?.artifacts ?? []), ...artifacts.split(/[\s,]+/).filter(Boolean)],
        signal: left.signal,
      };
      for await (const event of client.runs.stream(code, language, options))
        setShown((before) => withEvent(before, event));
      setShown((before) => ({ ...before, state: 'done' }));
    } catch (error) {
      const isStopped = isGeodeError(error, 'cancelled');
      setShown((before) => ({ ...before, state: 'done', ...(!isStopped && { error }) }));
    }
  };
  const isRunning = shown.state === 'running';
  return (
    <>
      <div className="grid gap-4 lg:grid-cols-2">
        <Card title={text.runs.code}>
          <div className="flex flex-col gap-3">
            <Code
              label={text.runs.code}
              name={language}
              value={code}
              onChange={setCode}
              onRun={() => {
                if (!isRunning) void run();
              }}
            />
            <div className="flex flex-wrap items-end gap-3">
              <Choice
                label={text.runs.language}
                options={languages}
                value={language}
                onChange={({ target }) => setLanguage(target.value)}
              />
              <div className="w-32">
                <TextField
                  label={text.runs.timeout}
                  type="number"
                  min={1}
                  value={timeout}
                  onChange={({ target }) => setTimeout(target.value)}
                />
              </div>
              <button
                type="button"
                className="button button-main"
                onClick={() => (isRunning ? stop.current?.abort() : void run())}
              >
                {isRunning ? text.runs.stop : text.runs.run}
              </button>
            </div>
            <details>
              <summary className="text-faint">{text.runs.more}</summary>
              <div className="mt-2 flex flex-wrap items-end gap-3">
                <TextField
                  label={text.runs.memory}
                  type="number"
                  min={16}
                  value={memory}
                  onChange={({ target }) => setMemory(target.value)}
                />
                <TextField
                  label={text.runs.artifacts}
                  value={artifacts}
                  onChange={({ target }) => setArtifacts(target.value)}
                />
                <TextField
                  label={text.runs.inputs}
                  type="file"
                  multiple
                  onChange={({ target }) => setFiles([...(target.files ?? [])])}
                />
              </div>
            </details>
            <TextArea
              label={text.runs.stdin}
              rows={2}
              value={stdin}
              onChange={({ target }) => setStdin(target.value)}
            />
          </div>
        </Card>
        <Card title={text.runs.output}>
          {shown.state === 'none' && <Empty>{text.runs.empty}</Empty>}
          {shown.error !== undefined && <Problem error={shown.error} />}
          <OutputPieces pieces={shown.pieces} />
          <ul>
            {shown.artifacts.map(({ path, bytes }) => (
              <li key={path}>
                {text.runs.files}:{' '}
                <button
                  type="button"
                  className="break-all text-accent underline"
                  onClick={() => saveAs(path, [new Uint8Array(bytes)], 'application/octet-stream')}
                >
                  {nameText(path)}
                </button>
                <Picture path={path} bytes={bytes} />
              </li>
            ))}
          </ul>
          <div role="status">
            <ul className="mt-2 text-faint">
              {shown.notes.map((note) => (
                <li key={note} className="break-words">
                  {note}
                </li>
              ))}
            </ul>
          </div>
        </Card>
      </div>
      <RunHistory />
      {past !== undefined && (
        <PastRun
          key={past}
          id={past}
          onAgain={(again, name) => {
            setCode(again);
            setLanguage(name);
          }}
        />
      )}
    </>
  );
}

function Picture({ path, bytes }: Shown['artifacts'][number]) {
  const type = pictureType(path);
  return type === undefined ? null : <Drawn content={new Uint8Array(bytes)} type={type} name={path} />;
}

async function contentsOf(files: readonly File[]): Promise<Readonly<Record<string, Uint8Array>>> {
  const read = files.map(async (file) => [file.name, new Uint8Array(await file.arrayBuffer())] as const);
  return Object.fromEntries(await Promise.all(read));
}

function withEvent(shown: Shown, event: RemoteRunEvent): Shown {
  const noted = (note: string) => ({ ...shown, notes: [...shown.notes, note] });
  switch (event.type) {
    case 'stdout':
    case 'stderr':
      return withPiece(shown, event.type, event.bytes);
    case 'compile-output':
      return withPiece(shown, event.stream, event.bytes);
    case 'queue-place':
      return { ...shown, notes: [`${text.runs.queued} ${event.place}`] };
    case 'sandbox-ready':
      return noted(`${event.sandbox.runtime}, ${text.runs.grade} ${event.sandbox.grade}`);
    case 'exit':
      return noted(
        `${event.signal ? `${text.processes.signal} ${event.signal}` : `${text.processes.exit} ${event.exitCode}`} (${durationText(event.durationMs)})`,
      );
    case 'artifact':
      return { ...shown, artifacts: [...shown.artifacts, event] };
    case 'egress-denied':
      return noted(
        `${text.runs.denied} ${event.denied.map(({ host, port }) => nameText(`${host}:${port}`)).join(', ')}`,
      );
    default:
      return shown;
  }
}

/** A run may write without end; the page shows its beginning. */
function withPiece(shown: Shown, stream: OutputPiece['stream'], bytes: Uint8Array): Shown {
  const length = shown.pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  if (length > mostShown) return shown;
  return {
    ...shown,
    pieces: [...shown.pieces, { stream, text: new TextDecoder().decode(bytes) }],
  };
}
