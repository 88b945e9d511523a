import { CircleAlert, FileText, GitFork, Link, Pencil } from 'lucide-react';
import type { Approval } from '../../../src/seams/approval.ts';
import { client } from '../api.ts';
import { ApprovalCard } from '../inbox/approval-card.tsx';
import { Markdown } from '../markdown.tsx';
import { pathTo } from '../route.ts';
import { costText, durationText, linesText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import type { Item, Reply } from './conversation.ts';
import type { ForkPoint } from './fork-chat.tsx';
import { FilesLine, StepLine, StepsLine, ThinkingLine } from './step-line.tsx';

export interface ItemProps {
  readonly chat: string;
  readonly item: Item;
  readonly approvals: ReadonlyMap<string, Approval>;
  readonly onEdit: (words: string) => void;
  readonly onFork: (at: ForkPoint) => void;
  readonly onOpenFile: (path: string) => void;
}

export function ItemView({ chat, item, approvals, onEdit, onFork, onOpenFile }: ItemProps) {
  switch (item.type) {
    case 'own':
      return <OwnMessage chat={chat} item={item} onEdit={onEdit} onFork={onFork} />;
    case 'reply':
      return <ReplyView chat={chat} reply={item.reply} />;
    case 'text':
      return (
        <div className="text-chat">
          <Markdown source={item.text} isGrowing={item.isGrowing} />
        </div>
      );
    case 'thinking':
      return <ThinkingLine item={item} />;
    case 'step':
      return <StepLine step={item} />;
    case 'steps':
      return <StepsLine steps={item.steps} />;
    case 'files':
      return <FilesLine item={item} onOpen={onOpenFile} />;
    case 'approval': {
      const approval = approvals.get(item.id);
      return approval === undefined ? null : <ApprovalCard approval={approval} isInChat />;
    }
    case 'end':
      return <EndLine event={item.event} />;
  }
}

function OwnMessage({
  chat,
  item: { text: words, message, turn },
  onEdit,
  onFork,
}: {
  readonly chat: string;
  readonly item: Extract<Item, { type: 'own' }>;
  readonly onEdit: (words: string) => void;
  readonly onFork: (at: ForkPoint) => void;
}) {
  const files = message?.files ?? [];
  return (
    <div className="group flex items-end justify-end gap-1 pt-3">
      <span className="flex opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
        <CopyButton value={words} />
        {message !== undefined && (
          <a
            className="icon-button"
            href={`#${pathTo('chat', chat, 'at', String(message.seq))}`}
            aria-label={text.talk.linkTo}
            title={text.talk.linkTo}
          >
            <Link aria-hidden size={14} strokeWidth={1.75} />
          </a>
        )}
        <button
          type="button"
          className="icon-button"
          aria-label={text.chat.editAgain}
          title={text.chat.editAgain}
          onClick={() => onEdit(words)}
        >
          <Pencil aria-hidden size={14} strokeWidth={1.75} />
        </button>
        {turn !== undefined && (
          <button
            type="button"
            className="icon-button"
            aria-label={text.talk.forkHere}
            title={text.talk.forkHere}
            onClick={() => onFork({ turn, words })}
          >
            <GitFork aria-hidden size={14} strokeWidth={1.75} />
          </button>
        )}
      </span>
      <div
        className="max-w-[82%] min-w-0 rounded-dialog rounded-br-chip bg-hover px-3 py-2 text-chat"
        title={message === undefined ? undefined : `${nameText(message.sender)}, ${timeText(message.at)}`}
      >
        <span className="sr-only">{text.chat.you}: </span>
        <p className="break-words whitespace-pre-wrap">{linesText(words)}</p>
        {files.map((file) => (
          <FileLink key={file} chat={chat} path={file} />
        ))}
      </div>
    </div>
  );
}

function FileLink({ chat, path }: { readonly chat: string; readonly path: string }) {
  return (
    <a
      className="mt-1 flex items-center gap-1.5 text-base text-muted"
      href={`#${pathTo('chat', chat, 'files', path)}`}
    >
      <FileText aria-hidden size={14} strokeWidth={1.75} />
      {nameText(path)}
    </a>
  );
}

/** An answer of the gateway itself, such as that to a command, or one of a conversation that has ended. */
function ReplyView({ chat, reply }: { readonly chat: string; readonly reply: Reply }) {
  const { isFailure, buttons, file, state } = reply;
  return (
    <div className="flex min-w-0 flex-col gap-2 text-chat">
      {isFailure ? (
        <p className="flex items-start gap-2 break-words text-bad">
          <CircleAlert aria-hidden size={16} strokeWidth={1.75} className="mt-[3px] shrink-0" />
          {linesText(reply.text)}
        </p>
      ) : (
        <Markdown source={reply.text} />
      )}
      {file !== null && <FileLink chat={chat} path={file} />}
      {state === 'failed' && <p className="text-bad">{text.chat.notSent}</p>}
      {buttons.length > 0 && (
        <p className="flex flex-wrap gap-2">
          {buttons.map(({ label, value }) => (
            <ActionButton key={value} act={() => client.chats.post(chat, { text: value })}>
              {nameText(label)}
            </ActionButton>
          ))}
        </p>
      )}
    </div>
  );
}

function EndLine({ event }: { readonly event: Extract<Item, { type: 'end' }>['event'] }) {
  if (event.type === 'error')
    return (
      <p role="alert" className="break-words text-bad">
        {nameText(event.message)} <span className="text-muted">{nameText(event.hint)}</span>
      </p>
    );
  const { outcome, durationMs, cost } = event;
  return (
    <p className="figures text-sm text-faint">
      {outcome === 'interrupted' && `${text.chat.stoppedTurn} `}
      {outcome === 'limit' && `${text.chat.limitTurn} `}
      {durationText(durationMs)}
      {cost !== null && cost > 0 && `, ${costText(cost)}`}
    </p>
  );
}
