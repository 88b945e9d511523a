import { Play, Square } from 'lucide-react';
import { text } from '../text.ts';

export function RunButton({
  isRunning,
  onRun,
  onStop,
}: {
  readonly isRunning: boolean;
  readonly onRun: () => void;
  readonly onStop: () => void;
}) {
  const Icon = isRunning ? Square : Play;
  return (
    <button type="button" className="button button-main" onClick={isRunning ? onStop : onRun}>
      <Icon aria-hidden size={14} strokeWidth={1.75} />
      {isRunning ? text.runs.stop : text.runs.run}
      <kbd aria-hidden className="key max-md:hidden">
        {isRunning ? '' : 'Ctrl ⏎'}
      </kbd>
    </button>
  );
}
