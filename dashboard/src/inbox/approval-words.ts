import type { Approval } from '../../../src/seams/approval.ts';
import { clockText, durationText, lineText, nameText } from '../shown.ts';
import { text } from '../text.ts';

const shellTools = ['shell', 'Bash', 'bash', 'exec', 'command'];

export interface ApprovalWords {
  /** The asker and the act. */
  readonly title: string;
  /** The one line that matters: the command, the host, the file. */
  readonly subject: string;
  /** All of the request, where the subject is not all of it. */
  readonly more: string | undefined;
}

/** The request as a sentence. The detail stays complete: what is not in the subject is shown below it. */
export function wordsOf({ kind, title, detail }: Approval): ApprovalWords {
  if (kind === 'question')
    return { title: text.approvals.asksYou, subject: nameText(title), more: detail || undefined };
  if (kind === 'egress') {
    const [target = title, ...rest] = detail.split('\n');
    return {
      title: text.approvals.waitsForHost,
      subject: nameText(target.replace(/:443$/, '')),
      more: rest.join('\n') || undefined,
    };
  }
  const tool = /^An agent wants to use (.+)$/.exec(title)?.[1] ?? title;
  const input = parsed(detail);
  const { command, path, file_path: file } = input ?? {};
  if (typeof command === 'string' && Object.keys(input ?? {}).length === 1)
    return { title: text.approvals.runsCommand, subject: command, more: undefined };
  if (typeof command === 'string')
    return { title: text.approvals.runsCommand, subject: command, more: detail };
  const named = typeof path === 'string' ? path : typeof file === 'string' ? file : undefined;
  if (named !== undefined)
    return { title: text.approvals.usesTool(nameText(tool)), subject: nameText(named), more: detail };
  const isCommand = shellTools.includes(tool) && input === undefined;
  return {
    title: isCommand ? text.approvals.runsCommand : text.approvals.usesTool(nameText(tool)),
    subject: detail === '' ? nameText(tool) : detail,
    more: undefined,
  };
}

/** The decision and the person who decided. */
export function outcomeOf({ state, decision, decidedBy, askedAt, expiresAt }: Approval): string {
  if (state === 'expired') return text.approvals.expired(durationText(expiresAt - askedAt));
  if (state === 'withdrawn') return text.approvals.withdrawn;
  const by = decidedBy === null ? '' : ` ${text.approvals.by} ${deciderText(decidedBy)}`;
  return `${text.approvals.done[decision ?? 'deny']}${by}`;
}

export function subjectLine(approval: Approval): string {
  return lineText(wordsOf(approval).subject).slice(0, 200);
}

export function decidedTime({ decidedAt, askedAt }: Approval): string {
  return clockText(decidedAt ?? askedAt);
}

/** Keys and the socket act for their owner. */
function deciderText(by: string): string {
  if (by === 'socket') return text.approvals.deciders.socket;
  if (by.startsWith('key ')) return text.approvals.deciders.key;
  return by.startsWith('session ') || by === 'session' ? text.approvals.deciders.session : nameText(by);
}

function parsed(detail: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
