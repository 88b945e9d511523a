/** Attacks each runtime from inside a live sandbox, and says what stopped each attempt. */

import { reasonOf } from '../../base/errors.ts';
import type { Geode } from '../../host/geode.ts';
import type { Limits } from '../../seams/limits.ts';
import type { ExecResult } from '../../seams/process.ts';
import type { PullEvent } from '../../seams/run.ts';
import type { Available, RuntimeName } from '../../seams/runtime.ts';
import type { Sandbox } from '../../seams/sandbox.ts';
import { type Attack, attackKinds, attackLimits, attempts } from './attempts.ts';
import type { Targets } from './targets.ts';

/** `not-tried`: the sandbox has no program for it, so that it says nothing about the walls. */
type Verdict = 'stopped' | 'got-through' | 'not-tried';

interface AttemptResult {
  readonly kind: Attack['kind'];
  readonly name: string;
  readonly verdict: Verdict;
  /** The protection that stopped it. */
  readonly by: string;
  /** The last words of the attempt itself. */
  readonly evidence: string;
}

export interface Scorecard {
  readonly runtime: RuntimeName;
  readonly grade: string;
  readonly attempts: readonly AttemptResult[];
}

export interface AttackOptions {
  readonly geode: Geode;
  readonly targets: Targets;
  readonly onPull: (event: PullEvent) => void;
  readonly signal: AbortSignal;
}

const attemptTimeoutMs = 30_000;

/** Attempts that share a sandbox: what one that exhausts it leaves behind must not stop the next. */
const rounds: readonly (readonly Attack[])[] = attackKinds.flatMap((kind) => {
  const ofKind = attempts.filter((each) => each.kind === kind);
  return kind === 'exhaustion' ? ofKind.map((each) => [each]) : [ofKind];
});

export async function attack(
  { name, ...found }: { readonly name: RuntimeName } & Available,
  options: AttackOptions,
): Promise<Scorecard> {
  const limits = enforceable(found);
  const results: AttemptResult[] = [];
  let { grade }: { grade: string } = found;
  for (const together of rounds) {
    const { onPull, signal } = options;
    await using sandbox = await options.geode.open({ limits }, { runtime: name, onPull, signal });
    grade = sandbox.grade;
    for (const attempt of together) results.push(await tryAttempt(attempt, sandbox, options));
  }
  return { runtime: name, grade, attempts: results };
}

/** A runtime that cannot hold a limit refuses to be asked for it; the attempt then shows what that means. */
function enforceable({ capabilities }: Available): Limits {
  const { limits } = capabilities;
  return {
    ...(limits.memory ? { memoryBytes: attackLimits.memoryBytes } : {}),
    ...(limits.pids ? { pids: attackLimits.pids } : {}),
    ...(limits.disk ? { diskBytes: attackLimits.diskBytes } : {}),
  };
}

async function tryAttempt(
  { kind, name, script, sign, needs }: Attack,
  sandbox: Sandbox,
  { targets, signal }: AttackOptions,
): Promise<AttemptResult> {
  if (needs !== undefined && targets.env[needs] === '')
    return { kind, name, verdict: 'not-tried', by: 'this machine has none', evidence: '' };
  const command = { argv: ['/bin/sh', '-c', script], env: targets.env, timeoutMs: attemptTimeoutMs } as const;
  try {
    const result = await sandbox.exec(command, { signal });
    if (await targets.gotThrough(sign, result.stdout))
      return { kind, name, verdict: 'got-through', by: 'nothing', evidence: lastLine(result.stdout) };
    return { kind, name, ...stoppedBy(kind, result) };
  } catch (error) {
    if (signal.aborted) throw error;
    const evidence = reasonOf(error);
    return { kind, name, verdict: 'stopped', by: 'the sandbox ended the command', evidence };
  }
}

const noNetwork = 'no network: only its own loopback is there';

/** The kernel's word for each wall. */
const walls: readonly (readonly [RegExp, string])[] = [
  [/read-only file system/i, 'a file system that is read-only'],
  [/no space left|disk quota|i\/o error/i, 'the disk limit'],
  [/can(no|')t fork|resource temporarily unavailable/i, 'the limit of processes'],
  [/no such process/i, 'processes of its own: the one outside does not exist inside'],
  [
    /operation not permitted|permission denied|superuser|are you root/i,
    'missing privileges: capabilities, seccomp or its user',
  ],
  [/no such (file|device)|nonexistent/i, 'a file system of its own: the path does not exist inside'],
];

function stoppedBy(
  kind: Attack['kind'],
  result: ExecResult,
): Pick<AttemptResult, 'verdict' | 'by' | 'evidence'> {
  const { stderr, exitCode, signal, oomKilled, timedOut } = result;
  const evidence = lastLine(stderr);
  if (oomKilled || exitCode === 137 || signal === 'SIGKILL')
    return { verdict: 'stopped', by: 'the memory limit', evidence: evidence || 'killed' };
  if (timedOut) return { verdict: 'stopped', by: 'its deadline', evidence };
  if (/: not found|unrecognized option|invalid option|applet not found|^usage:/im.test(stderr))
    return { verdict: 'not-tried', by: 'no program for it in the sandbox', evidence };
  const wall = kind === 'egress' ? noNetwork : walls.find(([words]) => words.test(stderr))?.[1];
  return {
    verdict: 'stopped',
    by: wall ?? 'nothing came of it',
    evidence: evidence || `exit code ${exitCode ?? signal}`,
  };
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 160) ?? '';
}
