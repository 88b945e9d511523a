import { randomInt } from 'node:crypto';
import type { AgentHappening, PermissionAnswer } from '../core/agent.ts';
import type { Bus } from '../core/bus.ts';
import { isGeodeError } from '../core/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { newReply } from './bodies.ts';
import type { KnownChat } from './chat-table.ts';
import type { CommandAnswer, CommandScene } from './commands.ts';
import type { Senders } from './senders.ts';
import { splitText } from './split-text.ts';

type PermissionRequest = Extract<AgentHappening, { readonly type: 'permission-request' }>;

/**
 * What agents ask a person for, in the chat. The person sees exactly what will run; only whoever speaks as the chat's
 * user can answer; a code counts once.
 */
export class Asks {
  readonly #ledger: Ledger;
  readonly #bus: Bus;
  readonly #senders: Senders;

  constructor(ledger: Ledger, bus: Bus, senders: Senders) {
    this.#ledger = ledger;
    this.#bus = bus;
    this.#senders = senders;
  }

  /** Asking twice for the same permission asks once. */
  async ask(
    chat: KnownChat,
    { id, tool, input }: PermissionRequest,
    longestText: number,
    answers: number,
  ): Promise<void> {
    const code = this.#codeFor(chat.lane, id);
    const shown = typeof input === 'string' ? input : JSON.stringify(input, null, 2);
    const parts = splitText(`The agent asks to use **${tool}**:\n\`\`\`\n${shown}\n\`\`\``, longestText);
    for (const [index, text] of parts.entries()) {
      const isLast = index === parts.length - 1;
      const body = isLast ? { text, answers, buttons: buttonsOf(code) } : { text, answers };
      await this.#bus.say(newReply(chat, `ask:${chat.lane}:${id}:${index}`, body));
    }
  }

  async answer({ chat, words, agents, by }: CommandScene, answer: PermissionAnswer): Promise<CommandAnswer> {
    const code = (words.split(/\s+/)[0] ?? '').toUpperCase();
    const permission = this.#permission(chat.lane, code);
    if (permission === undefined)
      return { text: `Nothing waits for an answer under the code ${code || '?'}.` };
    try {
      await agents.answer(chat.name, permission, answer);
    } catch (error) {
      if (!isGeodeError(error, 'permission_not_found') && !isGeodeError(error, 'agent_not_found'))
        throw error;
      return { text: `${code}: it was answered already, or its time was up.` };
    }
    this.#senders.audit(by, 'permission', { lane: chat.lane, permission, answer });
    return { text: answer === 'deny' ? `${code}: denied.` : `${code}: allowed.` };
  }

  #permission(lane: string, code: string): string | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT permission FROM chat_asks WHERE lane = ${lane} AND code = ${code}`,
    );
    return row && String(row.permission);
  }

  #codeFor(lane: string, permission: string): string {
    return this.#ledger.write((sql) => {
      const known = sql.get`SELECT code FROM chat_asks WHERE lane = ${lane} AND permission = ${permission}`;
      if (known !== undefined) return String(known.code);
      const code = randomInt(36 ** 6)
        .toString(36)
        .toUpperCase()
        .padStart(6, '0');
      sql.run`INSERT INTO chat_asks VALUES (${code}, ${lane}, ${permission}, ${Date.now()})`;
      return code;
    });
  }
}

function buttonsOf(code: string) {
  return [
    { label: 'Allow once', value: `/approve ${code}` },
    { label: 'Allow until /new', value: `/approve ${code} session` },
    { label: 'Deny', value: `/deny ${code}` },
  ];
}
