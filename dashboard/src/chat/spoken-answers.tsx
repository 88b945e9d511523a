import { useEffect, useRef, useState } from 'react';
import { linesText } from '../shown.ts';
import { text } from '../text.ts';
import type { Item } from './conversation.ts';

const mostSpoken = 600;

/** For screen readers: an answer once, when it is finished, and never while it grows. */
export function SpokenAnswers({
  items,
  isWorking,
}: {
  readonly items: readonly Item[];
  readonly isWorking: boolean;
}) {
  const [spoken, setSpoken] = useState('');
  const wasWorking = useRef(isWorking);
  useEffect(() => {
    const isFinished = wasWorking.current && !isWorking;
    wasWorking.current = isWorking;
    if (!isFinished) return;
    const last = items.findLast((each) => each.type === 'text');
    if (last?.type === 'text')
      setSpoken(`${text.chat.agentSays}: ${linesText(last.text).slice(0, mostSpoken)}`);
  }, [items, isWorking]);
  return (
    <p role="status" className="sr-only">
      {isWorking ? text.chat.states.working : spoken}
    </p>
  );
}
