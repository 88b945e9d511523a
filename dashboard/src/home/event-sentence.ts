/** Events of the host as sentences: who did what, and how long it took. */
import {
  Ban,
  Bell,
  Box,
  CalendarClock,
  CircleCheck,
  CircleX,
  Gem,
  Hammer,
  KeyRound,
  type LucideIcon,
  Pause,
  Play,
  ShieldCheck,
  ShieldQuestionMark,
  SquareTerminal,
} from 'lucide-react';
import type { HostEvent } from '../../../src/seams/events.ts';
import { durationText, hostText, nameText } from '../shown.ts';
import { languageText, text } from '../text.ts';

export interface Sentence {
  /** The sandbox or chat that it is about. */
  readonly about: string | undefined;
  readonly words: string;
  readonly icon: LucideIcon;
  readonly isBad?: boolean;
}

/** Undefined for events that say nothing to a person. */
export function sentenceOf(event: HostEvent): Sentence | undefined {
  const about = 'chat' in event && event.chat !== null ? event.chat : undefined;
  const say = (icon: LucideIcon, words: string, isBad = false): Sentence => ({ about, words, icon, isBad });
  switch (event.type) {
    case 'sandbox-start':
      return say(Box, event.made ? 'was made' : 'started');
    case 'sandbox-stop':
      return say(Pause, event.cause === 'idle' ? 'stopped, it had nothing to do' : 'stopped');
    case 'sandbox-pause':
      return say(Pause, 'was paused');
    case 'sandbox-resume':
      return say(Play, 'continued');
    case 'sandbox-remove':
      return say(Box, 'was removed');
    case 'sandbox-rename':
      return say(Box, `has a new name, it was ${nameText(event.from)}`);
    case 'process-start':
      return say(SquareTerminal, `${programText(event.program)} started`);
    case 'process-exit':
      return processEnd(event, say);
    case 'egress-denied':
      return say(Ban, `${text.log.blocked} ${hostText(event.host, event.port)}`, true);
    case 'egress-default':
      return say(Ban, 'The default network policy changed');
    case 'run-end':
      return runEnd(event, say);
    case 'cell-end':
      return event.status === 'done'
        ? say(CircleCheck, 'A notebook cell finished')
        : say(CircleX, `A notebook cell ${event.status === 'failed' ? 'failed' : 'stopped'}`, true);
    case 'turn-start':
      return say(Bell, 'the agent began');
    case 'turn-end':
      return turnEnd(event.outcome, say);
    case 'image-build':
      return event.outcome === 'ok'
        ? say(Hammer, `Built the image ${nameText(event.image)}`)
        : say(Hammer, `The image ${nameText(event.image)} could not be built`, true);
    case 'image-remove':
      return say(Hammer, `Removed the image ${nameText(event.image)}`);
    default:
      return laterSentence(event, say);
  }
}

type Say = (icon: LucideIcon, words: string, isBad?: boolean) => Sentence;

function laterSentence(event: HostEvent, say: Say): Sentence | undefined {
  switch (event.type) {
    case 'entry-stored':
      return event.key.startsWith('crystallized:')
        ? undefined
        : say(Gem, `Remembered ${nameText(event.key)}`);
    case 'entries-stored':
      return say(Gem, `Remembered ${event.count} entries`);
    case 'entry-removed':
      return say(Gem, 'Forgot an entry');
    case 'sender-paired':
      return say(Bell, `Paired a person on ${nameText(event.channel)}`);
    case 'schedule-add':
      return say(CalendarClock, 'has a new schedule');
    case 'schedule-remove':
      return say(CalendarClock, 'a schedule ended');
    case 'schedule-run':
      return say(CalendarClock, event.isSkipped ? 'a scheduled time was missed' : 'a schedule ran');
    case 'approval-asked':
      return say(ShieldQuestionMark, 'a question waits for you');
    case 'approval-decided':
      return approvalEnd(event, say);
    case 'solve-end':
      return event.outcome === 'solved'
        ? say(Gem, 'Solved a problem')
        : say(Gem, `A solve ended without a solution`, true);
    case 'crystal-change':
      return event.change === 'created' ? say(Gem, 'Learned a solution') : undefined;
    case 'provider-connect':
      return say(CircleCheck, `Connected the model ${nameText(event.model)}`);
    case 'webhook-change':
      return event.change === 'disabled'
        ? say(CircleX, `The webhook ${nameText(event.webhook)} is off: its address is gone`, true)
        : undefined;
    case 'key-create':
      return say(KeyRound, 'An API key was made');
    case 'key-revoke':
      return say(KeyRound, 'An API key was revoked');
    default:
      return undefined;
  }
}

function programText(program: string): string {
  return nameText(program.split('/').at(-1) ?? program);
}

function processEnd(event: Extract<HostEvent, { type: 'process-exit' }>, say: Say): Sentence {
  const { exitCode, signal, durationMs } = event;
  const took = durationText(durationMs);
  if (signal !== null) return say(CircleX, `a process was stopped after ${took}`, true);
  return exitCode === 0
    ? say(CircleCheck, `a process finished in ${took}`)
    : say(CircleX, `a process failed after ${took}, exit ${exitCode}`, true);
}

function runEnd(event: Extract<HostEvent, { type: 'run-end' }>, say: Say): Sentence {
  const language = languageText(event.language);
  const took = durationText(event.durationMs);
  if (event.exitCode === null) return say(CircleX, `${language} was stopped`, true);
  return event.exitCode === 0
    ? say(CircleCheck, `${language} finished in ${took}`)
    : say(CircleX, `${language} failed after ${took}, exit ${event.exitCode}`, true);
}

function turnEnd(outcome: Extract<HostEvent, { type: 'turn-end' }>['outcome'], say: Say): Sentence {
  if (outcome === 'done') return say(Bell, 'the agent has finished');
  if (outcome === 'interrupted') return say(Bell, 'the agent was stopped');
  return say(Bell, outcome === 'limit' ? 'the agent reached its limit' : 'the agent could not finish', true);
}

function approvalEnd(event: Extract<HostEvent, { type: 'approval-decided' }>, say: Say): Sentence {
  if (event.state === 'expired') return say(ShieldQuestionMark, 'a question expired, so it was denied');
  if (event.state === 'withdrawn') return say(ShieldQuestionMark, 'a question was withdrawn');
  return say(ShieldCheck, event.decision === 'deny' ? 'a request was denied' : 'a request was allowed');
}
