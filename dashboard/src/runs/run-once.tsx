import { useState } from 'react';
import { RunButton } from '../code/run-button.tsx';
import { RunResult } from '../code/run-result.tsx';
import { useRun } from '../code/use-run.ts';
import { Code } from '../code.tsx';
import { text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { TextArea, TextField } from '../ui/field.tsx';
import { PastRun, RunHistory } from './history.tsx';

const languages = ['python', 'javascript', 'typescript', 'shell', 'rust', 'go'] as const;
const draftName = 'geode-code';

/** Code that runs once, in a fresh sandbox, and what ran before. */
export function RunOnce({ past }: { readonly past: string | undefined }) {
  const [code, setCode] = useState(() => sessionStorage.getItem(draftName) ?? 'print(6 * 7)\n');
  const [language, setLanguage] = useState<string>('python');
  const [stdin, setStdin] = useState('');
  const [timeout, setTimeout] = useState('60');
  const [memory, setMemory] = useState('');
  const [files, setFiles] = useState<readonly File[]>([]);
  const [artifacts, setArtifacts] = useState('');
  const { shown, run, stop } = useRun();
  const isRunning = shown.state === 'running';
  const change = (next: string) => {
    setCode(next);
    sessionStorage.setItem(draftName, next);
  };
  const start = () => {
    if (isRunning) return;
    void run(code, language, {
      stdin,
      timeoutMs: Number(timeout) * 1000,
      ...(memory !== '' && { memoryBytes: Number(memory) * 1024 ** 2 }),
      files,
      artifacts: artifacts.split(/[\s,]+/).filter(Boolean),
    });
  };
  return (
    <>
      <Bar title={text.runs.title} />
      <Content width="max-w-[860px]">
        <div className="overflow-hidden rounded-card border border-control bg-surface">
          <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
            <select
              aria-label={text.runs.language}
              className="input"
              value={language}
              onChange={({ target }) => setLanguage(target.value)}
            >
              {languages.map((each) => (
                <option key={each} value={each}>
                  {text.runs.languages[each]}
                </option>
              ))}
            </select>
            <span className="flex-1" />
            <RunButton isRunning={isRunning} onRun={start} onStop={stop} />
          </div>
          <Code label={text.runs.code} name={language} value={code} onChange={change} onRun={start} />
          <details className="border-t border-line px-3 py-2">
            <summary className="text-muted">{text.runs.more}</summary>
            <div className="mt-2 grid gap-3 md:grid-cols-2">
              <TextArea
                label={text.runs.stdin}
                rows={2}
                value={stdin}
                onChange={({ target }) => setStdin(target.value)}
              />
              <TextField
                label={text.runs.inputs}
                type="file"
                multiple
                onChange={({ target }) => setFiles([...(target.files ?? [])])}
              />
              <TextField
                label={text.runs.artifacts}
                value={artifacts}
                onChange={({ target }) => setArtifacts(target.value)}
              />
              <div className="grid grid-cols-2 gap-3">
                <TextField
                  label={text.runs.timeout}
                  type="number"
                  min={1}
                  value={timeout}
                  onChange={({ target }) => setTimeout(target.value)}
                />
                <TextField
                  label={text.runs.memory}
                  type="number"
                  min={16}
                  value={memory}
                  onChange={({ target }) => setMemory(target.value)}
                />
              </div>
            </div>
          </details>
        </div>
        {shown.state === 'none' ? (
          <p className="text-muted">{text.runs.empty}</p>
        ) : (
          <RunResult shown={shown} />
        )}
        <RunHistory />
      </Content>
      {past !== undefined && (
        <PastRun
          key={past}
          id={past}
          onAgain={(again, name) => {
            change(again);
            setLanguage(name);
          }}
        />
      )}
    </>
  );
}
