import { useQuery } from '@tanstack/react-query';
import { Maximize2, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { useTitle } from '../frame/title.ts';
import { pathTo } from '../route.ts';
import { SandboxEgress } from '../sandbox/egress.tsx';
import { Files } from '../sandbox/files.tsx';
import { Ports } from '../sandbox/ports.tsx';
import { Processes } from '../sandbox/processes.tsx';
import { Terminals } from '../sandbox/terminals.tsx';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Separator } from '../ui/separator.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { ChatCost } from './chat-cost.tsx';

const parts = ['files', 'terminal', 'processes', 'previews', 'egress', 'cost'] as const;

interface Shown {
  readonly chat: string;
  readonly part: string;
  readonly item: string | undefined;
  readonly isWide: boolean;
}

const widthName = 'geode-part-width';

/** The sandbox and the cost of a chat, beside it or alone. */
export function ChatPart({ chat, part: asked, item, isWide }: Shown) {
  const part = parts.find((each) => each === asked) ?? 'files';
  const [width, setWidth] = useState(() => Number(localStorage.getItem(widthName)) || 440);
  useTitle(`${nameText(chat)}, ${text.chat.parts[part]}`);
  const tabs = parts.map((id) => ({
    id,
    name: text.chat.parts[id],
    href: isWide ? `/wide${pathTo('chat', chat, id)}` : pathTo('chat', chat, id),
  }));
  const isBeside = !isWide;
  return (
    <>
      {isBeside && (
        <Separator
          label={text.chat.width}
          width={width}
          onChange={(next) => {
            setWidth(next);
            localStorage.setItem(widthName, String(next));
          }}
        />
      )}
      <section
        data-region
        aria-label={text.chat.ofChat(text.chat.parts[part])}
        className={`flex min-h-0 min-w-0 flex-col bg-canvas ${isBeside ? 'max-lg:flex-1 lg:w-(--part) lg:shrink-0 lg:border-l lg:border-line' : 'flex-1'}`}
        style={{ '--part': `${width}px` } as React.CSSProperties}
      >
        <h1 className={isWide ? 'sr-only' : 'sr-only lg:hidden'}>{nameText(chat)}</h1>
        <Tabs
          label={text.chat.belongs}
          tabs={tabs}
          current={part}
          side={
            <span className="flex items-center pr-2">
              {isBeside && (
                <a
                  className="icon-button max-lg:hidden"
                  href={`#/wide${pathTo('chat', chat, part, ...(item === undefined ? [] : [item]))}`}
                  aria-label={text.chat.wide}
                  title={text.chat.wide}
                >
                  <Maximize2 aria-hidden size={14} strokeWidth={1.75} />
                </a>
              )}
              <a className="icon-button" href={`#${pathTo('chat', chat)}`} aria-label={text.chat.hidePart}>
                <X aria-hidden size={16} strokeWidth={1.75} />
              </a>
            </span>
          }
        />
        <div className="min-h-0 flex-1 overflow-auto p-3">
          <PartOf
            chat={chat}
            part={part}
            item={item}
            base={isWide ? ['wide', 'chat', chat] : ['chat', chat]}
          />
        </div>
      </section>
    </>
  );
}

interface PartShown {
  readonly chat: string;
  readonly part: (typeof parts)[number];
  readonly item: string | undefined;
  readonly base: readonly string[];
}

function PartOf({ chat, part, item, base }: PartShown): ReactNode {
  const sandbox = useQuery({ queryKey: ['sandbox', chat], queryFn: () => client.sandboxes.inspect(chat) });
  if (part === 'cost') return <ChatCost chat={chat} />;
  if (isGeodeError(sandbox.error)) return <p className="text-muted">{text.chat.noSandbox}</p>;
  if (sandbox.data === undefined) return <p className="text-faint">{text.loading}</p>;
  const isRunning = sandbox.data.state === 'running';
  if (part === 'egress') return <SandboxEgress status={sandbox.data} isNarrow />;
  if (part === 'processes') return <Processes chat={chat} isRunning={isRunning} shown={item} base={base} />;
  if (!isRunning)
    return (
      <p className="text-muted">
        {text.chat.sandboxStopped} <a href={`#${pathTo('sandboxes', chat)}`}>{text.home.open}</a>
      </p>
    );
  if (part === 'terminal') return <Terminals chat={chat} shown={item} base={base} />;
  if (part === 'previews') return <Ports chat={chat} />;
  return <Files chat={chat} shown={item} base={base} isNarrow={base[0] !== 'wide'} />;
}
