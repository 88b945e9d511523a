/** Builds chats from channels, the bus, the lanes that call agents, and the outbox. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Ledger } from '../ledger/ledger.ts';
import { budgetRefusal, type DailyBudget, dayOf, spentOn } from '../ledger/spending.ts';
import type { Agents } from '../seams/agent.ts';
import type { Approvals } from '../seams/approval.ts';
import type { Channel } from '../seams/channel.ts';
import type { Chats, DuringTurn } from '../seams/chat.ts';
import type { Events } from '../seams/events.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { ApprovalPrompts } from './approval-prompts.ts';
import { ChatAudit } from './audit.ts';
import { LedgerBus } from './bus/ledger-bus.ts';
import { busChapter } from './bus/tables.ts';
import { openWebChannel } from './channels/web.ts';
import { ChatTable, controlLane, laneOf, webAddress, webChannel } from './chat-table.ts';
import { closedPauseMs, openDelivery } from './delivery.ts';
import { chatRecords } from './export.ts';
import { Feed } from './feed.ts';
import { openLanes } from './lanes.ts';
import { inArrivalSpan, inMessageSpan } from './message-spans.ts';
import { Pairings } from './pairings.ts';
import type { ChatParts } from './parts.ts';
import { longestMessage, putMessage, receive } from './receive.ts';
import { Schedules } from './schedules.ts';
import { SenderRate } from './sender-rate.ts';
import { type SenderOptions, Senders } from './senders.ts';
import { chatChapter } from './tables.ts';
import { workOn } from './work.ts';

export interface OpenChatsOptions {
  readonly stateDir: string;
  /** The address of a PostgreSQL that several hosts share as their bus; in the ledger if not set. */
  readonly postgres?: string | undefined;
  readonly agents: Agents;
  readonly sandboxes: Sandboxes;
  readonly approvals: Approvals;
  readonly events: Events;
  readonly log: Log;
  readonly telemetry?: Telemetry | undefined;
  /** In addition to the web. Closed together with the chats. */
  readonly channels?: readonly Channel[];
  readonly allowed?: SenderOptions['allowed'];
  readonly pairingMs: number;
  /** Maximum turns at once, in total and of one user. */
  readonly concurrency: number;
  readonly mostPerUser: number;
  /** Maximum messages accepted from one sender in a minute. */
  readonly messagesPerMinute: number;
  readonly mostFileBytes: number;
  /** Time zone of schedules that name none. */
  readonly timeZone: string;
  /** Handling of messages during a turn, in chats without a choice of their own. */
  readonly duringTurn: DuringTurn;
  readonly dailyBudget: DailyBudget;
  /** Returns what is wrong with a model name. Default: accepts all. */
  readonly refusedModel?: (name: string) => string | undefined;
}

/** Control messages are short, so many can run at once. */
const controlAtOnce = 8;

/** For the holder of the host lock: messages in progress of an earlier host continue. */
export async function openChats(options: OpenChatsOptions): Promise<Chats> {
  const { agents, approvals, sandboxes, events, log, concurrency, mostPerUser, mostFileBytes } = options;
  await using opened = new AsyncDisposableStack();
  const ledger = opened.use(
    new Ledger(join(options.stateDir, 'ledger.db'), [busChapter, chatChapter], 'durable'),
  );
  const { bus, leases } = await openBus(options, ledger, opened);
  const senders = new Senders(ledger, { allowed: options.allowed ?? {}, pairingMs: options.pairingMs });
  const chats = new ChatTable(ledger);
  const audit = new ChatAudit(ledger);
  const feed = new Feed(bus);
  const money = budgetOf(ledger, options.dailyBudget);
  const channels = new Map([openWebChannel(), ...(options.channels ?? [])].map((each) => [each.name, each]));
  const longestText = (name: string) => channels.get(name)?.longestText ?? Number.MAX_SAFE_INTEGER;
  const canEdit = (name: string, address: string) =>
    (channels.get(name)?.editEveryMs(address) ?? null) !== null;
  const approvalPrompts = opened.use(
    new ApprovalPrompts({ ledger, bus, chats, approvals, events, log, longestText, canEdit }),
  );
  const pairings = new Pairings({ senders, chats, bus, events });
  const parts: ChatParts = {
    bus,
    chats,
    senders,
    pairings,
    approvalPrompts,
    schedules: opened.use(new Schedules({ ledger, bus, events, log, zone: options.timeZone })),
    agents,
    sandboxes,
    events,
    log,
    mostFileBytes,
    during: options.duringTurn,
    refusedModel: options.refusedModel ?? (() => undefined),
    ...money,
  };
  const readFile = workspaceFile(sandboxes, mostFileBytes);
  for (const channel of channels.values()) {
    opened.use(channel);
    opened.use(openDelivery({ bus, channel, readFile, log, ...leases }));
  }
  const scene = {
    parts,
    channel: (name: string) => channels.get(name),
    emit: feed.notify.bind(feed),
  };
  // Messages of a channel that is not open here wait for a host that has it open.
  const lanes = [...channels.keys()].flatMap((name) => [laneOf(name, ''), controlLane(laneOf(name, ''))]);
  const { telemetry } = options;
  const work = (claim: Parameters<typeof workOn>[1], signal: AbortSignal) =>
    inMessageSpan(telemetry, claim.message, () => workOn(scene, claim, signal));
  opened.use(openLanes({ bus, kinds: ['control'], lanes, concurrency: controlAtOnce, work, log, ...leases }));
  opened.use(
    openLanes({
      bus,
      kinds: ['interactive', 'scheduled'],
      lanes,
      concurrency,
      mostPerUser,
      work,
      log,
      ...leases,
    }),
  );
  const reception = {
    bus,
    senders,
    rate: new SenderRate(options.messagesPerMinute),
    concurrency,
    during: (lane: string) => chats.at(lane)?.during ?? options.duringTurn,
  };
  for (const channel of channels.values())
    channel.start(
      (incoming) => inArrivalSpan(telemetry, channel.name, () => receive(reception, incoming)),
      async (platformId, reason) => {
        await bus.takeBack(channel.name, platformId, { due: Date.now() + closedPauseMs, reason });
      },
    );

  /** A chat with a new name starts on the web. */
  const chatOf = (user: string, name: string) =>
    chats.named(user, name) ?? chats.meet(user, webChannel, webAddress(user, name));
  const laneNamed = (user: string, name: string) =>
    chats.named(user, name)?.lane ?? laneOf(webChannel, webAddress(user, name));

  const all = opened.move();
  return {
    channels: () => [...channels.values()].map(({ status }) => status),
    webhook: (name) => channels.get(name)?.webhook,
    pairings: () => senders.pairings(),
    senders: () => senders.list(),
    audit: ({ limit }) => audit.list(limit),
    unpair(channel, sender, by) {
      const user = senders.userOf(channel, sender);
      if (!senders.unpair(channel, sender, by)) return false;
      // End the schedules: nobody is left on that channel who could.
      if (user !== undefined && !senders.speaks(channel, user)) parts.schedules.removeOf(user, channel, by);
      return true;
    },
    pair: (code, options) => pairings.letIn(code, options),
    of: (user) => ({
      list: () => chats.list(user),
      schedules: {
        list(name) {
          const lane = name === undefined ? undefined : chats.named(user, name)?.lane;
          if (name === undefined) return parts.schedules.listOf(user);
          return lane === undefined ? [] : parts.schedules.list({ lane });
        },
        add: (name, schedule, by, most) => parts.schedules.add(chatOf(user, name), schedule, by, most),
        remove: (id, by) => parts.schedules.remove(user, id, by),
      },
      export: (name, cancel) =>
        chatRecords(feed, laneNamed(user, name), agents.of(user).transcript(name), cancel),
      async post(name, { text, key, during }) {
        checkMessage(text);
        const { channel, address } = chatOf(user, name);
        const sender = { channel: webChannel, id: user, name: user };
        const body = {
          channel,
          address,
          sender,
          text: text.toWellFormed(),
          files: [],
          isGroup: false,
          during,
        };
        const given = key ?? randomUUID();
        const stored = await putMessage(bus, body, { key: `web:${user}/${name}:${given}`, user });
        return { ...stored, place: (await bus.place(stored.id)) ?? null };
      },
      async *events(name, { after, follow, signal } = {}) {
        yield* feed.read(laneNamed(user, name), {
          signal,
          ...(after !== undefined && { after }),
          ...(follow !== undefined && { follow }),
        });
      },
    }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/**
 * Only one host uses a bus in the ledger, so everything in progress was left by an earlier one. A shared bus has
 * leases.
 */
async function openBus({ postgres, log }: OpenChatsOptions, ledger: Ledger, opened: AsyncDisposableStack) {
  if (postgres !== undefined) {
    const { PostgresBus } = await import('./bus/postgres/postgres-bus.ts');
    return { bus: opened.use(await PostgresBus.open({ url: postgres, log })), leases: sharedLeases };
  }
  const bus = new LedgerBus(ledger);
  const left = await bus.recover();
  if (left.messages + left.replies > 0) log.info(left, 'Messages and replies of an earlier host were found');
  return { bus, leases: {} };
}

/** After this time another host takes over the messages of a dead host. */
const sharedLeases = { leaseMs: 20_000 };

function checkMessage(text: string): void {
  if (text.trim() === '') throw new GeodeError('invalid_input', 'The message has no text.');
  if (text.length > longestMessage)
    throw new GeodeError('too_large', `A message may have at most ${longestMessage} characters.`);
}

/** The same total as the user's spending on models. */
function budgetOf(ledger: Ledger, budget: DailyBudget): Pick<ChatParts, 'checkBudget' | 'spending'> {
  const spent = (user: string) => spentOn(ledger, user, dayOf(new Date()));
  const limits = {
    usd: budget.usd === null ? '' : ` of $${budget.usd.toFixed(2)}`,
    tokens: budget.tokens === null ? '' : ` of ${budget.tokens}`,
  };
  return {
    checkBudget(user) {
      const refusal = budgetRefusal(spent(user), budget);
      if (refusal !== undefined)
        throw new GeodeError('budget_spent', `The model was not called: ${refusal}.`);
    },
    spending(user) {
      const { usd, tokens } = spent(user);
      return `Spent today: $${usd.toFixed(2)}${limits.usd}, ${tokens}${limits.tokens} tokens`;
    },
  };
}

function workspaceFile(sandboxes: Sandboxes, mostBytes: number) {
  return async ({ user, chat, path }: { user: string; chat: string; path: string }) => {
    const { files } = await sandboxes.of(user).start(chat);
    const { size } = await files.stat(path);
    if (size > mostBytes)
      throw new GeodeError('too_large', `${path} has ${size} bytes; the maximum is ${mostBytes}.`);
    return files.read(path);
  };
}
