import { useQuery } from '@tanstack/react-query';
import { Ban, Check, CircleX, Globe, Unplug } from 'lucide-react';
import { useState } from 'react';
import type { AuditRecord } from '../../src/seams/egress.ts';
import { client } from './api.ts';
import { agoText, bytesText, hostText, nameText } from './shown.ts';
import { text } from './text.ts';
import { ActionButton } from './ui/button.tsx';
import { EmptyPlace } from './ui/card.tsx';
import { Answer } from './ui/query.tsx';

const verdicts = ['denied', 'allowed', 'failed'] as const;
const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Requests to other hosts, newest first; a blocked host can be allowed from its row. */
export function EgressLog({
  sandbox,
  isNarrow = false,
}: {
  readonly sandbox?: string;
  readonly isNarrow?: boolean;
}) {
  const [words, setWords] = useState('');
  const [verdict, setVerdict] = useState<(typeof verdicts)[number]>();
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const chats = new Map((sandboxes.data ?? []).map(({ id, chat }) => [id, chat]));
  const log = useQuery({
    queryKey: ['egress', 'log', sandbox, words, verdict],
    queryFn: ({ signal }) =>
      client.egress.log({
        ...(sandbox !== undefined && { sandbox }),
        ...(words !== '' && { words }),
        ...(verdict !== undefined && { verdict }),
        signal,
      }),
    placeholderData: (before) => before,
  });
  return (
    <div className="min-w-0">
      <div className="flex flex-wrap items-center gap-3 border-b border-line p-3">
        <fieldset className="segments" aria-label={text.egress.verdicts}>
          <button type="button" aria-pressed={verdict === undefined} onClick={() => setVerdict(undefined)}>
            {text.egress.all}
          </button>
          {verdicts.map((each) => (
            <button key={each} type="button" aria-pressed={each === verdict} onClick={() => setVerdict(each)}>
              {text.egress.verdictNames[each]}
            </button>
          ))}
        </fieldset>
        <input
          type="search"
          className="input min-w-40 flex-1"
          aria-label={text.egress.filter}
          placeholder={text.egress.filter}
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
      </div>
      <Answer of={log}>
        {(records) =>
          records.length === 0 ? (
            <EmptyPlace icon={Globe} title={text.egress.none} command="geode egress log">
              {text.egress.noneHow}
            </EmptyPlace>
          ) : (
            <ul>
              {gathered(records).map((row) => (
                <Row
                  key={row.key}
                  row={row}
                  chat={chats.get(row.last.sandboxId)}
                  isNamed={sandbox === undefined}
                  isNarrow={isNarrow}
                />
              ))}
            </ul>
          )
        }
      </Answer>
    </div>
  );
}

interface Gathered {
  readonly key: string;
  /** The newest of them. */
  readonly last: AuditRecord;
  readonly times: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** The same host with the same outcome in the same sandbox is one row. */
function gathered(records: readonly AuditRecord[]): readonly Gathered[] {
  const found = new Map<string, Gathered>();
  for (const record of records) {
    const { sandboxId, host, port, verdict, rule, bytesIn, bytesOut } = record;
    const key = [sandboxId, host, port, verdict, rule].join(' ');
    const known = found.get(key);
    found.set(key, {
      key,
      last: known?.last ?? record,
      times: (known?.times ?? 0) + 1,
      bytesIn: (known?.bytesIn ?? 0) + bytesIn,
      bytesOut: (known?.bytesOut ?? 0) + bytesOut,
    });
  }
  return [...found.values()];
}

const looks = {
  allowed: { icon: Check, tone: 'text-muted' },
  denied: { icon: Ban, tone: 'text-bad' },
  failed: { icon: Unplug, tone: 'text-bad' },
} as const;

interface Shown {
  readonly row: Gathered;
  readonly chat: string | undefined;
  readonly isNamed: boolean;
  readonly isNarrow: boolean;
}

function Row({ row: { last, times, bytesIn, bytesOut }, chat, isNamed, isNarrow }: Shown) {
  const { verdict, host, port, method, path, rule } = last;
  const isNever = verdict === 'denied' && /private|metadata|never|loopback|link-local/i.test(rule);
  const { icon, tone } = looks[verdict];
  const Icon = isNever ? CircleX : icon;
  const request = path === null ? '' : `${method ?? ''} ${path}`.trim();
  const below = [
    isNamed ? text.egress.askedIn(nameText(chat ?? text.egress.aRun)) : '',
    request === '' ? '' : nameText(request.slice(0, 120)),
    bytesIn + bytesOut > 0 ? text.egress.traffic(bytesText(bytesIn), bytesText(bytesOut)) : '',
    text.egress.rule(nameText(rule)),
  ].filter(Boolean);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2 last:border-b-0">
      <Icon aria-hidden size={16} strokeWidth={1.75} className={`shrink-0 ${tone}`} />
      <div className="min-w-0 flex-1 basis-52">
        <p className="break-words">
          <span className={`font-medium ${verdict === 'allowed' ? 'text-muted' : tone}`}>
            {text.egress.verdictNames[verdict]}
          </span>{' '}
          <code>{hostText(host, port)}</code>
        </p>
        <p className="text-sm break-words text-faint">{below.join(', ')}</p>
      </div>
      <span className={`figures text-sm text-muted ${isNarrow ? '' : 'md:w-16 md:text-right'}`}>
        {times > 1 && text.egress.times(times)}
      </span>
      <time dateTime={new Date(last.at).toISOString()} className="w-20 text-right text-sm text-faint">
        {agoText(last.at)}
      </time>
      {verdict === 'denied' && chat !== undefined && (
        <span className="flex gap-2">
          {isNever ? (
            <span className="text-sm text-faint">{text.egress.never}</span>
          ) : (
            <Allow chat={chat} host={host} port={port} />
          )}
        </span>
      )}
    </li>
  );
}

function Allow({
  chat,
  host,
  port,
}: {
  readonly chat: string;
  readonly host: string;
  readonly port: number;
}) {
  const { egress } = client.sandboxes.of(chat);
  const allow = (options: { readonly forMs?: number }) => egress.allow([{ host, ports: [port] }], options);
  const named = (name: string) => ({
    'aria-label': `${name}: ${text.egress.allowHost} ${hostText(host, port)}`,
  });
  return (
    <>
      <ActionButton {...named(text.egress.minute)} act={() => allow({ forMs: minuteMs })}>
        {text.egress.minute}
      </ActionButton>
      <ActionButton {...named(text.egress.hour)} act={() => allow({ forMs: hourMs })}>
        {text.egress.hour}
      </ActionButton>
      <ActionButton {...named(text.egress.always)} act={() => allow({})}>
        {text.egress.always}
      </ActionButton>
    </>
  );
}
