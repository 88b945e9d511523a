/** Every component in every state, with examples. Nothing on this page comes from the host. */

import { Box } from 'lucide-react';
import type { Approval } from '../../../src/seams/approval.ts';
import { Composer } from '../chat/composer.tsx';
import type { Step } from '../chat/conversation.ts';
import { QueuedMessages } from '../chat/queued-messages.tsx';
import { StepLine, StepsLine, ThinkingLine } from '../chat/step-line.tsx';
import { ApprovalCard } from '../inbox/approval-card.tsx';
import { Markdown } from '../markdown.tsx';
import { text } from '../text.ts';
import { State } from '../ui/badge.tsx';
import { Bar, Content } from '../ui/bar.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { Meter } from '../ui/meter.tsx';
import { Problem } from '../ui/problem.tsx';

const minuteMs = 60_000;
const exampleAt = Date.now();

const base: Approval = {
  id: '0000000000000000',
  user: 'anna',
  sandbox: 'example',
  chat: 'website',
  kind: 'tool',
  title: 'An agent wants to use shell',
  detail: '{"command":"npm install p-retry"}',
  choices: ['allow-once', 'allow-session', 'deny'],
  answers: [],
  askedAt: exampleAt,
  expiresAt: exampleAt + 9 * minuteMs,
  state: 'open',
  decision: null,
  decidedAt: null,
  decidedBy: null,
  byOperator: false,
  answer: null,
  until: null,
};

const decided = { state: 'decided', decidedAt: exampleAt, decidedBy: 'anna' } as const;
const approvals: readonly Approval[] = [
  base,
  {
    ...base,
    id: '0000000000000001',
    kind: 'egress',
    title: 'Connect to api.github.com:443',
    detail: 'api.github.com:443',
    choices: ['allow-once', 'allow-session', 'allow-always', 'deny'],
    expiresAt: exampleAt + 41_000,
  },
  {
    ...base,
    id: '0000000000000002',
    kind: 'question',
    title: 'Which Node version should the tests run on?',
    detail: '',
    answers: ['24', '26', 'Both'],
  },
  { ...base, ...decided, id: '0000000000000003', decision: 'allow-once' },
  { ...base, ...decided, id: '0000000000000004', decision: 'allow-session' },
  { ...base, ...decided, id: '0000000000000005', decision: 'deny' },
  {
    ...base,
    id: '0000000000000006',
    state: 'expired',
    decision: 'deny',
    expiresAt: exampleAt + 10 * minuteMs,
  },
  { ...base, id: '0000000000000007', state: 'withdrawn', decision: 'deny' },
];

function step(key: string, command: string, more: Partial<Step>): Step {
  const numbered = { seq: 1, turn: 'example', at: exampleAt };
  return {
    type: 'step',
    key,
    call: { type: 'tool-call', ...numbered, id: key, tool: 'shell', input: { command } },
    result: undefined,
    isStopped: false,
    ...more,
  };
}

function result(key: string, output: string, failed: boolean): Step['result'] {
  return {
    type: 'tool-result',
    seq: 2,
    turn: 'example',
    at: exampleAt + 1400,
    id: key,
    tool: 'shell',
    output,
    failed,
  };
}

const steps: readonly Step[] = [
  step('a', 'npm test -- wait', {}),
  step('b', 'npm test -- retry', { result: result('b', '200 passed', false) }),
  step('c', 'npm test -- retry', { result: result('c', '2 of 20 failed', true) }),
  step('d', 'npm run bench', { isStopped: true }),
];

const colours = [
  'bg-canvas',
  'bg-surface',
  'bg-sunken',
  'bg-hover',
  'bg-selected',
  'bg-line-strong',
  'bg-ink',
  'bg-muted',
  'bg-faint',
  'bg-accent',
  'bg-accent-text',
  'bg-accent-soft',
  'bg-good',
  'bg-warn',
  'bg-bad',
  'bg-good-soft',
  'bg-warn-soft',
  'bg-bad-soft',
];

export function ComponentsPage() {
  const ignored = async () => {};
  return (
    <>
      <Bar title={text.settings.components} />
      <Content>
        <p className="text-muted">{text.components.how}</p>
        <div className="grid gap-5 lg:grid-cols-2">
          <div className="flex min-w-0 flex-col gap-5">
            <Card title={text.components.approvals}>
              <ul inert className="flex flex-col gap-3">
                {approvals.map((approval) => (
                  <li key={approval.id}>
                    <ApprovalCard approval={approval} isInChat />
                  </li>
                ))}
              </ul>
            </Card>
            <Card title={text.components.markdown}>
              <Markdown
                source={
                  'Two retries run **in either order**: `wait.ts`.\n\n```ts\nconst now = clock.monotonic(); // not the wall clock\n```\n\n| name | answer |\n|---|---|\n| empty | refused |'
                }
              />
            </Card>
          </div>
          <div className="flex min-w-0 flex-col gap-5">
            <Card title={text.components.steps}>
              {steps.map((each) => (
                <StepLine key={each.key} step={each} />
              ))}
              <StepsLine steps={steps.slice(1)} />
              <ThinkingLine item={{ type: 'thinking', key: 't', text: 'The log first.', isGrowing: false }} />
              <ThinkingLine item={{ type: 'thinking', key: 'u', text: 'The log first.', isGrowing: true }} />
            </Card>
            <Card title={text.components.composer}>
              <Composer
                chat=" example"
                isWorking={false}
                onSend={ignored}
                onStop={() => {}}
                given={{ words: '', turn: 0 }}
                lastWords=""
              />
              <div className="h-4" />
              <QueuedMessages
                queue={['Also add a line to the changelog.']}
                onSayNow={() => {}}
                onEdit={() => {}}
                onDrop={() => {}}
              />
              <Composer
                chat=" working"
                isWorking
                onSend={ignored}
                onStop={() => {}}
                given={{ words: '', turn: 0 }}
                lastWords=""
              />
            </Card>
            <Card title={text.components.buttons}>
              <div className="flex flex-wrap gap-2">
                <button type="button" className="button button-main">
                  {text.actions.save}
                </button>
                <button type="button" className="button">
                  {text.snapshots.fork}
                </button>
                <button type="button" className="button button-quiet">
                  {text.home.dismiss}
                </button>
                <button type="button" className="button button-bad">
                  {text.actions.remove}
                </button>
                <button type="button" className="button" disabled>
                  {text.components.off}
                </button>
                <button type="button" className="button button-small">
                  {text.components.small}
                </button>
              </div>
              <div className="mt-3 flex flex-wrap gap-2">
                <State state="running">{text.sandboxes.states.running}</State>
                <State state="waiting">{text.chat.states.waiting}</State>
                <State state="working">{text.chat.states.working}</State>
                <State state="paused">{text.sandboxes.states.paused}</State>
                <State state="stopped">{text.sandboxes.states.stopped}</State>
                <State state="failed">{text.runs.failed}</State>
              </div>
            </Card>
            <Card title={text.components.fields}>
              <div className="flex flex-col gap-3">
                <TextField label={text.sandboxes.name} defaultValue="website" />
                <Problem error={new Error(text.components.badName)} />
                <Meter label={text.home.memory} share={0.4} />
                <Command line="geode sandbox create demo" />
              </div>
            </Card>
            <Card title={text.components.empty}>
              <EmptyPlace icon={Box} title={text.sandboxes.none} command="geode sandbox create demo">
                {text.sandboxes.what}
              </EmptyPlace>
            </Card>
            <Card title={text.components.colours}>
              <ul className="grid grid-cols-2 gap-2">
                {colours.map((name) => (
                  <li key={name} className="flex items-center gap-2">
                    <span aria-hidden className={`size-6 rounded-chip border border-line ${name}`} />
                    <code>{name.slice(3)}</code>
                  </li>
                ))}
              </ul>
            </Card>
          </div>
        </div>
      </Content>
    </>
  );
}
