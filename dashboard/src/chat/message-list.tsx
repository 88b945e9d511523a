import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { text } from '../text.ts';
import type { Item } from './conversation.ts';
import { type ItemProps, ItemView } from './item-view.tsx';

interface Shown extends Omit<ItemProps, 'item'> {
  readonly items: readonly Item[];
  /** There is a conversation, which has not arrived yet. */
  readonly isLoading: boolean;
  /** The number of the message to show instead of the newest. */
  readonly at: number | undefined;
}

const nearEnd = 120;

/** Only what is in sight is drawn, however long the chat; the newest stays in sight unless a person scrolls up. */
export function MessageList({ items, isLoading, at, ...props }: Shown) {
  const frame = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(at === undefined);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    getItemKey: (index) => items[index]?.key ?? index,
    estimateSize: () => 64,
    overscan: 8,
    gap: 10,
    anchorTo: 'end',
    followOnAppend: true,
    paddingStart: 16,
    paddingEnd: 16,
  });
  const hasItems = items.length > 0;
  const wanted = at === undefined ? -1 : items.findIndex((item) => numberOf(item) === at);
  useEffect(() => {
    if (hasItems && at === undefined) rows.scrollToEnd();
  }, [hasItems, at, rows]);
  useEffect(() => {
    if (wanted === -1) return;
    setAtEnd(false);
    rows.scrollToIndex(wanted, { align: 'center' });
  }, [wanted, rows]);
  // The last item grows while it is written.
  const size = rows.getTotalSize();
  const follows = useRef(true);
  follows.current = isAtEnd;
  useEffect(() => {
    if (size > 0 && follows.current) frame.current?.scrollTo({ top: size });
  }, [size]);
  return (
    <div className="relative min-h-0 flex-1">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls. */}
      <div
        ref={frame}
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard.
        tabIndex={0}
        aria-label={text.chat.messages}
        className="h-full overflow-y-auto px-4 [overflow-anchor:none]"
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setAtEnd(scrollHeight - scrollTop - clientHeight < nearEnd)
        }
      >
        {isLoading && <p className="py-8 text-center text-faint">{text.loading}</p>}
        <ol className="relative mx-auto max-w-[744px]" style={{ height: size }}>
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const item = items[index];
            return (
              item && (
                <li
                  key={key}
                  ref={rows.measureElement}
                  data-index={index}
                  aria-current={index === wanted ? 'location' : undefined}
                  className="absolute inset-x-0 top-0 min-w-0 rounded-card aria-[current=location]:bg-accent-soft aria-[current=location]:outline-4 aria-[current=location]:outline-accent-soft"
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <ItemView item={item} {...props} />
                </li>
              )
            );
          })}
        </ol>
      </div>
      {!isAtEnd && (
        <button
          type="button"
          className="button absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-float"
          onClick={() => rows.scrollToEnd()}
        >
          <ArrowDown aria-hidden size={14} strokeWidth={1.75} />
          {text.chat.toEnd}
        </button>
      )}
    </div>
  );
}

/** The number of a message in its chat; the work of the agent has numbers of its own. */
function numberOf(item: Item): number | undefined {
  if (item.type === 'own') return item.message?.seq;
  return item.type === 'reply' ? item.reply.seq : undefined;
}
