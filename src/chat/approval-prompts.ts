import { randomInt } from 'node:crypto';
import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Approval, ApprovalDecision, Approvals } from '../seams/approval.ts';
import type { Bus } from '../seams/bus.ts';
import { type Events, everyone, type HostEvent } from '../seams/events.ts';
import { newReply, replyBody } from './bodies.ts';
import type { ChatTable, KnownChat } from './chat-table.ts';
import type { CommandAnswer, CommandScene } from './commands.ts';
import { plainTitle, shownCode } from './plain-text.ts';
import { splitText } from './split-text.ts';

export interface ApprovalPromptParts {
  readonly ledger: Ledger;
  readonly bus: Bus;
  readonly chats: ChatTable;
  readonly approvals: Approvals;
  readonly events: Events;
  readonly log: Log;
  /** Maximum characters in a message of the channel. */
  readonly longestText: (channel: string) => number;
  /** Whether a sent message can be edited there. */
  readonly canEdit: (channel: string, address: string) => boolean;
}

const labels: Readonly<Record<ApprovalDecision, string>> = {
  'allow-once': 'Allow once',
  'allow-session': 'Allow this session',
  'allow-always': 'Always allow',
  deny: 'Deny',
};

const labelsAfter: Readonly<Record<ApprovalDecision, string>> = {
  'allow-once': 'Allowed once',
  'allow-session': 'Allowed for this session',
  'allow-always': 'Allowed permanently',
  deny: 'Denied',
};

type Decided = Extract<HostEvent, { readonly type: 'approval-decided' }>;

/**
 * Approvals that concern a chat, asked in the chat. The person sees exactly what will happen; only a person who acts as
 * the chat's user can answer. Buttons carry a short code, because platforms give them little room.
 */
export class ApprovalPrompts implements AsyncDisposable {
  readonly #parts: ApprovalPromptParts;
  readonly #closing = new AbortController();
  readonly #watching: Promise<void>;

  constructor(parts: ApprovalPromptParts) {
    this.#parts = parts;
    this.#watching = this.#watch(parts.events.latest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#watching;
  }

  /** The answer of a person who acts as the user of the chat. */
  async answer({ chat, words, by }: CommandScene, usual: ApprovalDecision): Promise<CommandAnswer> {
    const [given = '', how] = words.split(/\s+/);
    const code = given.toUpperCase();
    const id = this.#approvalOf(chat.lane, code);
    if (id === undefined) return { text: `No open question has the code ${code || '?'}.` };
    const decision = usual === 'deny' ? 'deny' : (decisions[how ?? ''] ?? usual);
    try {
      this.#parts.approvals.decide(chat.user, id, { decision, by });
    } catch (error) {
      if (isGeodeError(error, 'approval_decided') || isGeodeError(error, 'approval_not_found'))
        return { text: `${code}: already answered or expired.` };
      throw error;
    }
    return { text: decision === 'deny' ? `${code}: denied.` : `${code}: allowed.` };
  }

  /** Asks approvals that were opened while no host ran, or just before the host was killed. */
  async #watch(after: number): Promise<void> {
    const { chats, events, approvals, log } = this.#parts;
    const { signal } = this.#closing;
    try {
      for (const user of chats.users())
        for (const approval of approvals.list(user)) await this.#ask(approval);
      for await (const event of events.read(everyone, { after, signal })) {
        if (event.type === 'approval-asked') await this.#ask(approvals.get(event.user, event.approval));
        if (event.type === 'approval-decided') await this.#close(event);
      }
    } catch (err) {
      if (!signal.aborted) log.error({ err }, `Approvals are no longer asked in chats: ${reasonOf(err)}`);
    }
  }

  /** Asks once for each approval, even if several events report it. */
  async #ask(approval: Approval): Promise<void> {
    const { bus, chats, longestText } = this.#parts;
    const chat = approval.chat === null ? undefined : chats.named(approval.user, approval.chat);
    if (chat === undefined || approval.state !== 'open') return;
    const code = this.#codeFor(chat, approval.id);
    const detail = approval.detail === '' ? '' : `\n${shownCode(approval.detail)}`;
    const parts = splitText(`${plainTitle(approval.title)}${detail}`, longestText(chat.channel));
    for (const [index, text] of parts.entries()) {
      const isLast = index === parts.length - 1;
      const body = isLast ? { text, buttons: buttonsOf(approval, code) } : { text };
      await bus.storeReply(newReply(chat, `ask:${approval.id}:${index}`, body));
    }
  }

  /** Where messages can be edited, the question loses its buttons and shows the decision. */
  async #close({ approval, user, state, decision }: Decided): Promise<void> {
    const { bus, chats, canEdit, approvals } = this.#parts;
    const { chat: name } = approvals.get(user, approval);
    const chat = name === null ? undefined : chats.named(user, name);
    if (chat === undefined || !canEdit(chat.channel, chat.address)) return;
    const asked = await bus.lastOf(`ask:${approval}:`);
    if (asked?.platformId === null || asked === undefined) return;
    const outcome = state === 'decided' ? labelsAfter[decision] : 'No longer asked';
    const { text } = replyBody(asked);
    const body = { text: `${text}\n${outcome}.`, edits: asked.platformId, onlyEdits: true };
    await bus.storeReply(newReply(chat, `asked:${approval}`, body));
  }

  #approvalOf(lane: string, code: string): string | undefined {
    const row = this.#parts.ledger.read(
      (sql) => sql.get`SELECT approval FROM chat_asks WHERE lane = ${lane} AND code = ${code}`,
    );
    return row && String(row.approval);
  }

  #codeFor({ lane }: KnownChat, approval: string): string {
    return this.#parts.ledger.write((sql) => {
      const known = sql.get`SELECT code FROM chat_asks WHERE approval = ${approval}`;
      if (known !== undefined) return String(known.code);
      const code = randomInt(36 ** 6)
        .toString(36)
        .toUpperCase()
        .padStart(6, '0');
      sql.run`INSERT INTO chat_asks VALUES (${code}, ${lane}, ${approval}, ${Date.now()})`;
      return code;
    });
  }
}

/** The answers a person can type after the code. */
const decisions: Readonly<Record<string, ApprovalDecision>> = {
  once: 'allow-once',
  session: 'allow-session',
  always: 'allow-always',
};

function buttonsOf({ choices }: Approval, code: string) {
  return choices.map((choice) => ({
    label: labels[choice],
    value: choice === 'deny' ? `/deny ${code}` : `/approve ${code} ${choice.slice('allow-'.length)}`,
  }));
}
