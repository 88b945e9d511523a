import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { AuditRecord } from '../../src/seams/egress.ts';
import { client } from './api.ts';
import { nameText, timeText } from './shown.ts';
import { text } from './text.ts';
import { Badge, stateTone } from './ui/badge.tsx';
import { ActionButton } from './ui/button.tsx';
import { Card, Empty } from './ui/card.tsx';
import { Choice, TextField } from './ui/field.tsx';
import { Modal } from './ui/modal.tsx';
import { Answer } from './ui/query.tsx';
import { Scrolled } from './ui/scrolled.tsx';

const verdicts = ['allowed', 'denied', 'failed'] as const;
const minuteMs = 60_000;
const hourMs = 3_600_000;

/** What tried to get out, newest first; a refused target can be allowed from its row. */
export function EgressLog({ sandbox }: { readonly sandbox?: string }) {
  const [words, setWords] = useState('');
  const [asked, setAsked] = useState<string>(text.egress.all);
  const [allowed, setAllowed] = useState<AuditRecord>();
  const verdict = verdicts.find((each) => each === asked);
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
    <Card title={text.egress.log}>
      <div className="mb-2 flex flex-wrap gap-3">
        <TextField
          label={text.egress.filter}
          type="search"
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
        <Choice
          label={text.egress.verdicts}
          options={[text.egress.all, ...verdicts]}
          value={asked}
          onChange={({ target }) => setAsked(target.value)}
        />
      </div>
      <Answer of={log}>
        {(records) =>
          records.length === 0 ? (
            <Empty>{text.egress.none}</Empty>
          ) : (
            <Scrolled className="scroll" label={text.egress.log}>
              <table className="list">
                <thead>
                  <tr>
                    <th>{text.egress.time}</th>
                    <th>{text.egress.who}</th>
                    <th>{text.egress.target}</th>
                    <th>{text.egress.verdict}</th>
                    <th>{text.egress.rule}</th>
                    <th>
                      <span className="sr-only">{text.egress.allow}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {records.map((record) => (
                    <tr key={`${record.at} ${record.sandboxId} ${record.host} ${record.port} ${record.via}`}>
                      <td className="whitespace-nowrap">{timeText(record.at)}</td>
                      <td>{nameText(chats.get(record.sandboxId) ?? text.egress.aRun)}</td>
                      <td className="break-all">
                        {record.method} {nameText(record.host)}:{record.port}
                        {record.path && nameText(record.path)}
                      </td>
                      <td>
                        <Badge tone={stateTone(record.verdict)}>{record.verdict}</Badge>
                      </td>
                      <td>{nameText(record.rule)}</td>
                      <td>
                        {record.verdict === 'denied' && chats.has(record.sandboxId) && (
                          <button type="button" className="button" onClick={() => setAllowed(record)}>
                            {text.egress.allow}
                          </button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scrolled>
          )
        }
      </Answer>
      {allowed !== undefined && (
        <Allow
          record={allowed}
          chat={chats.get(allowed.sandboxId) ?? ''}
          onClose={() => setAllowed(undefined)}
        />
      )}
    </Card>
  );
}

function Allow({
  record: { host, port },
  chat,
  onClose,
}: {
  readonly record: AuditRecord;
  readonly chat: string;
  readonly onClose: () => void;
}) {
  const { egress } = client.sandboxes.of(chat);
  const allow = async (options: { readonly forMs?: number }) => {
    await egress.allow([{ host, ports: [port] }], options);
    onClose();
  };
  return (
    <Modal title={text.egress.allowTitle} onClose={onClose}>
      <p className="break-words">
        <code>
          {nameText(host)}:{port}
        </code>{' '}
        ({nameText(chat)})
      </p>
      <div className="mt-3 flex flex-wrap gap-2">
        <ActionButton act={() => allow({ forMs: minuteMs })}>{text.egress.allowMinute}</ActionButton>
        <ActionButton act={() => allow({ forMs: hourMs })}>{text.egress.allowHour}</ActionButton>
        <ActionButton act={() => allow({})}>{text.egress.allowGood}</ActionButton>
      </div>
      <p className="mt-2 text-faint">{text.egress.allowHow}</p>
    </Modal>
  );
}
