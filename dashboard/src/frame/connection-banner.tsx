import { LoaderCircle } from 'lucide-react';
import { useEffect, useState } from 'react';
import { live, useLive } from '../live.ts';
import { text } from '../text.ts';

const patienceMs = 2000;

/** After two seconds without the host: when it is tried again. */
export function ConnectionBanner() {
  const { state, retryAt } = useLive();
  const [now, setNow] = useState(Date.now);
  const [lostAt, setLostAt] = useState<number>();
  const isLost = state === 'reconnecting';
  useEffect(() => {
    if (!isLost) return setLostAt(undefined);
    setLostAt(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isLost]);
  const isShown = lostAt !== undefined && now - lostAt >= patienceMs;
  const seconds = Math.max(0, Math.ceil(((retryAt ?? now) - now) / 1000));
  return (
    <div
      role="status"
      className={
        isShown
          ? 'flex shrink-0 flex-wrap items-center gap-3 border-b border-line bg-warn-soft px-4 py-1.5 text-warn'
          : 'sr-only'
      }
    >
      {isLost && (
        <>
          <LoaderCircle aria-hidden size={14} className="spin" />
          <span className="flex-1">{isShown ? text.lost.message(seconds) : text.live.reconnecting}</span>
          <button type="button" className="button button-small button-quiet" onClick={() => live.hurry()}>
            {text.lost.now}
          </button>
        </>
      )}
    </div>
  );
}
