/** `/execute` and `/contexts`: the code interpreter, on Geode's own contexts in the same sandbox. */
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '../../api/environment.ts';
import { errorOf, problemFor } from '../../api/problems.ts';
import { signalOf } from '../../api/streams.ts';
import { withEvents } from '../../api/with-events.ts';
import { GeodeError } from '../../base/errors.ts';
import type { User } from '../../base/identity.ts';
import type { LiveContexts } from '../../runs/contexts/live-contexts.ts';
import type { ContextEvent } from '../../runs/contexts/result.ts';
import type { Rich } from '../../runs/contexts/rich.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { ContextLanguage } from '../../seams/run.ts';
import { bodyOf } from '../json-body.ts';
import { withVariables } from './call-variables.ts';
import type { ReachSandbox } from './reach.ts';

/** How code of a language of E2B runs: in a context of its own, changed before if needed. */
interface Dialect {
  readonly name: string;
  readonly language: ContextLanguage;
  change(code: string): string;
}

const python: Dialect = { name: 'python', language: 'python', change: unindented };
const javascript: Dialect = { name: 'javascript', language: 'javascript', change: unindented };
const typescript: Dialect = {
  name: 'typescript',
  language: 'javascript',
  change: (code) => `%%typescript\n${unindented(code)}`,
};
/** Each call is a new shell, which continues with the folder, variables and functions of the one before. */
const bash: Dialect = { name: 'bash', language: 'python', change: (code) => `%%bash\n${unindented(code)}` };
const dialects: ReadonlyMap<string, Dialect> = new Map([
  ['python', python],
  ['javascript', javascript],
  ['js', javascript],
  ['typescript', typescript],
  ['ts', typescript],
  ['bash', bash],
]);
const executeBody = z.object({
  code: z.string(),
  context_id: z.string().nullish(),
  language: z.string().nullish(),
  env_vars: z.record(z.string(), z.string()).nullish(),
});
const contextBody = z.object({ language: z.string().nullish(), cwd: z.string().nullish() });

export function codeRoutes(door: Hono<ApiEnv>, reach: ReachSandbox, contexts: LiveContexts): void {
  const usual = new UsualContexts(contexts);
  door.post('/execute', async (context) => {
    const place = placeIn(context, await reach(context));
    const { code, context_id: id, language, env_vars: env } = await bodyOf(context, executeBody);
    const own = id ? ownContext(place, contexts, id).id : await usual.of(place, dialectOf(language));
    const { change } = usual.dialectOf(ownContext(place, contexts, own));
    const { user } = place;
    const signal = signalOf(context);
    const running = withEvents((emit: (event: ContextEvent) => void) =>
      contexts.use(user, own, (live) =>
        withVariables(
          live.language,
          env ?? {},
          (variables) => live.run(variables),
          () => contexts.run(user, own, change(code), { timeoutMs: null, onEvent: emit, signal }),
        ),
      ),
    );
    context.header('Content-Type', 'application/x-ndjson');
    return context.body(
      ReadableStream.from(
        executionLines(context, running, () => contexts.cells(place.user, own).at(-1)?.number ?? 0),
      ),
      200,
    );
  });
  door.get('/contexts', async (context) => {
    const place = placeIn(context, await reach(context));
    // There is always one for Python.
    await usual.of(place, python);
    const own = ownContexts(place, contexts);
    return context.json(
      own.map((each) => wireContext(each, usual.dialectOf(each))),
      200,
    );
  });
  door.post('/contexts', async (context) => {
    const place = placeIn(context, await reach(context));
    const { language, cwd } = await bodyOf(context, contextBody);
    if (cwd && cwd !== '/home/user')
      throw new GeodeError('cannot_enforce', 'A context starts in the workspace.');
    const dialect = dialectOf(language);
    return context.json(wireContext(await usual.open(place, dialect), dialect), 200);
  });
  door.delete('/contexts/:id', async (context) => {
    const place = placeIn(context, await reach(context));
    await contexts.close(place.user, ownContext(place, contexts, context.req.param('id')).id);
    return context.body(null, 204);
  });
  door.post('/contexts/:id/restart', async (context) => {
    const place = placeIn(context, await reach(context));
    const { id } = ownContext(place, contexts, context.req.param('id'));
    await contexts.use(place.user, id, (own) => own.restart({ signal: signalOf(context) }));
    return context.body(null, 204);
  });
}

/** Like notebooks, runs code that is indented because it was embedded in another program. */
function unindented(code: string): string {
  const lines = code.replace(/^(?:[ \t]*\n)+/, '').split('\n');
  const [indent = ''] = /^[ \t]*/.exec(lines[0] ?? '') ?? [];
  return lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join('\n');
}

type OpenContext = ReturnType<LiveContexts['list']>[number];

interface Place {
  readonly user: User;
  readonly chat: string;
}

function placeIn({ var: { caller } }: Context<ApiEnv>, { chat }: PersistentSandbox): Place {
  return { user: caller.user, chat };
}

function ownContexts({ user, chat }: Place, contexts: LiveContexts): readonly OpenContext[] {
  return contexts.list(user).filter((each) => each.chat === chat);
}

function ownContext(place: Place, contexts: LiveContexts, id: string): OpenContext {
  const own = ownContexts(place, contexts).find((each) => each.id === id);
  if (own === undefined) throw new GeodeError('context_not_found', `There is no context ${id}.`);
  return own;
}

const mostRemembered = 1_000;

/**
 * Code without a context runs in a context shared by its language and sandbox, so that variables stay. The first
 * caller creates it.
 */
class UsualContexts {
  readonly #contexts: LiveContexts;
  readonly #known = new Map<string, Promise<string>>();
  readonly #dialects = new Map<string, Dialect>();

  constructor(contexts: LiveContexts) {
    this.#contexts = contexts;
  }

  /** Each call waits for the previous one, so concurrent calls create only one. */
  of(place: Place, dialect: Dialect): Promise<string> {
    const key = JSON.stringify([place.chat, dialect.name]);
    const before = this.#known.get(key)?.catch(() => undefined) ?? Promise.resolve(undefined);
    const next = before.then(async (known) => {
      const own = ownContexts(place, this.#contexts).find(({ id }) => id === known);
      return (own ?? (await this.open(place, dialect))).id;
    });
    remember(this.#known, key, next);
    return next;
  }

  /** Not tied to the request, which the context outlives. */
  async open({ user, chat }: Place, dialect: Dialect): Promise<OpenContext> {
    const made = await this.#contexts.open(user, { language: dialect.language, chat }, {});
    remember(this.#dialects, made.id, dialect);
    return made;
  }

  /** Contexts that were not opened through this door have the dialect of their language. */
  dialectOf({ id, language }: OpenContext): Dialect {
    return this.#dialects.get(id) ?? dialectOf(language);
  }
}

/** The oldest is forgotten. */
function remember<T>(known: Map<string, T>, key: string, value: T): void {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > mostRemembered && oldest !== undefined) known.delete(oldest);
}

function dialectOf(name: string | null | undefined): Dialect {
  const dialect = dialects.get((name || 'python').toLowerCase());
  if (dialect !== undefined) return dialect;
  throw new GeodeError(
    'invalid_input',
    `${name} has no contexts. Available: ${[...dialects.keys()].join(', ')}.`,
  );
}

async function* executionLines(
  context: Context<ApiEnv>,
  running: AsyncGenerator<ContextEvent, Awaited<ReturnType<LiveContexts['run']>>>,
  count: () => number,
): AsyncGenerator<Uint8Array> {
  const line = (message: object) => Buffer.from(`${JSON.stringify(message)}\n`);
  const failure = (name: string, value: string) => line({ type: 'error', name, value, traceback: '' });
  try {
    let step = await running.next();
    for (; !step.done; step = await running.next()) yield line(messageOf(step.value));
    const { status, exit } = step.value;
    const how = exit?.signal ?? `exit code ${exit?.exitCode}`;
    if (status === 'ended')
      yield failure('InterpreterEnded', `The interpreter ended (${how}); the next code starts a new one.`);
    yield line({ type: 'number_of_executions', execution_count: count() });
  } catch (thrown) {
    const error = errorOf(thrown, context);
    yield failure(error.code, problemFor(context, error).error);
  }
  yield line({ type: 'end_of_execution' });
}

function messageOf(event: ContextEvent): object {
  if (event.type === 'result') return { type: 'result', ...resultOf(event.result) };
  // In nanoseconds, as a number that both SDKs can read.
  if (event.type !== 'error')
    return { type: event.type, text: event.text, timestamp: Date.now() * 1_000_000 };
  const { name, message, traceback } = event.error;
  return { type: 'error', name, value: message, traceback };
}

function resultOf({ kind, text, html, markdown, latex, svg, png, jpeg, json, table }: Rich): object {
  const base64 = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('base64');
  const forms = { text, html, markdown, latex, svg, png: base64(png), jpeg: base64(jpeg), json };
  const data = json === undefined && table !== undefined ? columnsOf(table) : undefined;
  return { ...forms, data, is_main_result: kind === 'value' };
}

/** A data frame by columns, as E2B has it; only if all of its rows are there. */
function columnsOf({ columns, rows, totalRows }: NonNullable<Rich['table']>): object | undefined {
  if (rows.length < totalRows) return undefined;
  return Object.fromEntries(columns.map((column, at) => [column, rows.map((row) => row[at] ?? null)]));
}

function wireContext({ id }: OpenContext, { name }: Dialect): object {
  return { id, language: name, cwd: '/home/user' };
}
