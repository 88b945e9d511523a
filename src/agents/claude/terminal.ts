/** Claude Code's own screen in the sandbox of a chat, for a person at a terminal. */
import { z } from 'zod';
import type { Cancel } from '../../base/cancel.ts';
import { isGeodeError } from '../../base/errors.ts';
import { placeholderKey } from '../../seams/egress.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { ProcessFacts } from '../../seams/process.ts';
import type { DriverTerminal } from '../driver.ts';
import { type ClaudeState, claudeState } from './claude-state.ts';
import { type ClaudeCommand, claudeFolder, claudeTerminal } from './command.ts';

type Place = Pick<PersistentSandbox, 'files' | 'workdir'>;

/** Maximum time for the program of the turns to exit by itself. */
const endingMs = 10_000;

/** The id of the running terminal. Does not query processes where none can run. */
export async function findTerminal(kept: unknown, sandbox: PersistentSandbox): Promise<string | undefined> {
  const { inTerminal, session } = claudeState(kept);
  if (!inTerminal) return undefined;
  const { processes } = await sandbox.processes();
  return processes.find((each) => each.terminal !== null && holds(each, session))?.id;
}

/** Ends the program of the turns: two programs cannot share one session. */
export async function startTerminal(
  given: DriverTerminal,
  commandOf: (state: ClaudeState) => Promise<ClaudeCommand>,
): Promise<string> {
  const { sandbox, size, signal } = given;
  const before = claudeState(given.state);
  await endTurns(sandbox, before);
  const state = { ...(await afterTerminal(before, sandbox)), process: null, calls: {}, asked: [] };
  await acceptAhead(sandbox);
  const command = claudeTerminal(await commandOf(state), size);
  // Stored first: if the host dies after this, the next host finds the terminal.
  given.keep({ ...state, inTerminal: true });
  const { id } = await sandbox.spawn(command, { signal });
  return id;
}

/** Ends everything that uses the session: the program of the turns and the terminal. */
export async function endSession(kept: unknown, sandbox: PersistentSandbox): Promise<void> {
  const { session } = claudeState(kept);
  const { processes } = await sandbox.processes();
  const holding = processes.filter((each) => holds(each, session));
  await Promise.allSettled(holding.map(({ id }) => sandbox.signal(id, 'SIGKILL', { tree: true })));
}

function holds({ state, argv }: ProcessFacts, session: string): boolean {
  return state === 'running' && argv.includes(session);
}

async function endTurns(sandbox: PersistentSandbox, { session }: ClaudeState): Promise<void> {
  const { processes } = await sandbox.processes();
  const found = processes.find((each) => each.terminal === null && holds(each, session));
  if (found === undefined) return;
  const process = await sandbox.attach(found.id, { from: found.offset });
  const timer = setTimeout(() => void process.kill().catch(() => {}), endingMs);
  try {
    await process.closeStdin().catch(() => {});
    for await (const event of process) if (event.type === 'exit') return;
  } finally {
    clearTimeout(timer);
  }
}

const sessionFile = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

function sessionsIn(workdir: string): string {
  return `${claudeFolder}/projects/${workdir.replace(/[^a-zA-Z0-9]/g, '-')}`;
}

/** A program killed in its first turn started a session without reporting it. */
export function hasSession(session: string, { files, workdir }: Place, cancel: Cancel): Promise<boolean> {
  return files.exists(`${sessionsIn(workdir)}/${session}.jsonl`, cancel);
}

/**
 * At a terminal a person may start another session or none. The conversation continues with the session written to
 * last.
 */
export async function afterTerminal(
  state: ClaudeState,
  { files, workdir }: Place,
  signal?: AbortSignal,
): Promise<ClaudeState> {
  if (!state.inTerminal) return state;
  const listed = await files.list(sessionsIn(workdir), { signal }).catch((error) => {
    if (isGeodeError(error, 'file_not_found')) return { entries: [] };
    throw error;
  });
  const sessions = listed.entries.flatMap(({ name, mtimeMs }) => {
    const session = sessionFile.exec(name)?.[1];
    return session === undefined ? [] : [{ session, mtimeMs }];
  });
  const [newest] = sessions.sort((a, b) => b.mtimeMs - a.mtimeMs);
  const found = { session: newest?.session ?? state.session, isBegun: newest !== undefined };
  return { ...state, ...found, inTerminal: false };
}

const looseObject = z.looseObject({});
const mostPreferences = 16 * 1024 ** 2;

/**
 * Answers the program's first-start questions in advance: colours, whether to use the key in its environment (a
 * placeholder), and whether to trust the folder (the sandbox's own). These are preferences, not settings: they grant
 * nothing.
 */
async function acceptAhead({ files, workdir }: Place): Promise<void> {
  const file = `${claudeFolder}/.claude.json`;
  const before = await preferencesIn(files, file);
  const projects = looseObject.safeParse(before.projects).data ?? {};
  const own = looseObject.safeParse(projects[workdir]).data ?? {};
  const accepted = {
    theme: 'dark',
    ...before,
    hasCompletedOnboarding: true,
    // The program would download it from the network.
    officialMarketplaceAutoInstallAttempted: true,
    officialMarketplaceAutoInstalled: true,
    // The program identifies a key by its last characters.
    customApiKeyResponses: { approved: [placeholderKey.slice(-20)], rejected: [] },
    projects: { ...projects, [workdir]: { ...own, hasTrustDialogAccepted: true } },
  };
  await files.write(file, JSON.stringify(accepted, null, 2));
}

async function preferencesIn(files: Place['files'], file: string): Promise<z.output<typeof looseObject>> {
  try {
    const text = await files.readText(file, { length: mostPreferences });
    return looseObject.safeParse(JSON.parse(text)).data ?? {};
  } catch (error) {
    // The agent can write there, so an unreadable file is replaced.
    if (error instanceof SyntaxError || isGeodeError(error, 'file_not_found')) return {};
    throw error;
  }
}
