import { useState } from 'react';
import { Code } from '../code.tsx';
import { text } from '../text.ts';
import { RunButton } from './run-button.tsx';
import { RunResult } from './run-result.tsx';
import { useRun } from './use-run.ts';

const sample = `import platform, urllib.request

print("Kernel:", platform.release())
try:
    urllib.request.urlopen("https://example.com", timeout=5)
except OSError as problem:
    print("Network:", problem)
`;

/** An editor and a button: the shortest way to see a sandbox work. */
export default function TryCode() {
  const [code, setCode] = useState(sample);
  const { shown, run, stop } = useRun();
  const isRunning = shown.state === 'running';
  const start = () => {
    if (!isRunning) void run(code, 'python', {});
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="overflow-hidden rounded-card border border-control">
        <div className="flex items-center justify-between border-b border-line px-3 py-1">
          <span className="font-medium">{text.runs.languages.python}</span>
          <RunButton isRunning={isRunning} onRun={start} onStop={stop} />
        </div>
        <Code label={text.runs.code} name="python" value={code} onChange={setCode} onRun={start} />
      </div>
      <RunResult shown={shown} />
    </div>
  );
}
