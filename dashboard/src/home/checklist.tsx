import { Check, Info } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { client } from '../api.ts';
import { useOpenApprovals } from '../frame/use-open-approvals.ts';
import { goTo, pathTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Command } from '../ui/command.tsx';
import { Needs } from './needs.tsx';
import { skipChannel } from './setup.ts';
import { type Setup, type SetupStep, setupSteps } from './use-setup.ts';

const ConnectModel = lazy(() => import('../settings/connect-model.tsx'));
const TryCode = lazy(() => import('../code/try-code.tsx'));

const { steps } = text.home;

/** Five steps; the first that is not done is open, and each can be opened. */
export function Checklist({ setup }: { readonly setup: Setup }) {
  const first = setupSteps.find((step) => !(step in setup.results));
  const [chosen, setChosen] = useState<SetupStep>();
  const [isSkipped, setSkipped] = useState(false);
  const open = chosen ?? first;
  // The editor stays with its output when the step is done.
  useEffect(() => {
    if (first === 'code') setChosen('code');
  }, [first]);
  const approvals = useOpenApprovals();
  const hasModel = 'model' in setup.results;
  const skip = () => {
    skipChannel();
    setSkipped(true);
  };
  return (
    <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_19rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <div>
          <h2 className="text-h1 font-semibold">{text.home.setup}</h2>
          <p className="text-chat text-muted">{text.home.setupHow}</p>
        </div>
        {approvals.length > 0 && <Needs />}
        <div className="rounded-card border border-line bg-surface">
          <div className="flex items-center gap-3 border-b border-line px-4 py-3">
            <progress
              className="progress h-1.5 flex-1 text-good"
              max={setup.all}
              value={setup.done}
              aria-label={text.home.setup}
            />
            <span className="figures text-muted">{text.home.doneOf(setup.done, setup.all)}</span>
          </div>
          <ol>
            {setupSteps.map((step, at) => (
              <Step
                key={step}
                number={at + 1}
                step={step}
                result={isSkipped && step === 'channel' ? '' : setup.results[step]}
                isOpen={step === open}
                hasModel={hasModel}
                onOpen={() => setChosen(step)}
                onDone={() => setChosen(undefined)}
                onSkip={skip}
              />
            ))}
          </ol>
        </div>
        <p className="flex items-center gap-2 text-muted">
          <Info aria-hidden size={14} strokeWidth={1.75} className="shrink-0" />
          {text.home.hidden}
        </p>
      </div>
      <aside aria-label={text.home.terminal} className="flex min-w-0 flex-col gap-2">
        <h2>{text.home.terminal}</h2>
        <Command line="geode sandbox create demo" />
        <Command line={'geode run python -c "print(6*7)"'} />
        <Command line="geode onboard provider" />
        <Command line="geode chat demo" />
      </aside>
    </div>
  );
}

interface StepShown {
  readonly number: number;
  readonly step: SetupStep;
  /** Undefined: not done yet. */
  readonly result: string | undefined;
  readonly isOpen: boolean;
  readonly hasModel: boolean;
  readonly onOpen: () => void;
  readonly onDone: () => void;
  readonly onSkip: () => void;
}

function Step({ number, step, result, isOpen, hasModel, onOpen, onDone, onSkip }: StepShown) {
  const isDone = result !== undefined;
  return (
    <li className="border-b border-line px-4 py-3 last:border-b-0">
      <div className="flex flex-wrap items-center gap-3">
        <span
          aria-hidden
          className={`flex size-6 shrink-0 items-center justify-center rounded-full text-sm font-semibold ${isDone ? 'bg-good-soft text-good' : isOpen ? 'bg-accent text-on-accent' : 'border border-control text-muted'}`}
        >
          {isDone ? <Check size={14} /> : number}
        </span>
        <div className="min-w-0 flex-1">
          <h3 className={`text-chat font-medium ${isDone ? 'text-muted' : ''}`}>{steps[step]}</h3>
          <p className="break-words text-muted">
            {isDone ? doneText(step, result) : howText(step, hasModel)}
          </p>
        </div>
        <StepAction {...{ step, result, isOpen, hasModel, onOpen, onDone, onSkip }} />
      </div>
      {isOpen && <div className="md:pl-9">{bodyOf(step, isDone)}</div>}
    </li>
  );
}

function StepAction({
  step,
  result,
  isOpen,
  hasModel,
  onOpen,
  onDone,
  onSkip,
}: Omit<StepShown, 'number'>): ReactNode {
  if (step === 'sandbox')
    return result === undefined ? (
      <ActionButton kind={isOpen ? 'button-main' : ''} act={() => client.sandboxes.getOrCreate('demo')}>
        {steps.make}
      </ActionButton>
    ) : (
      <a className="button button-quiet" href={`#${pathTo('sandboxes', result)}`}>
        {steps.open}
      </a>
    );
  if (step === 'code')
    return isOpen && result === undefined ? null : (
      <button type="button" className="button button-quiet" onClick={isOpen ? onDone : onOpen}>
        {isOpen ? steps.goOn : result === undefined ? steps.code : steps.runMore}
      </button>
    );
  if (step === 'model')
    return result !== undefined || isOpen ? null : (
      <button type="button" className="button" onClick={onOpen}>
        {steps.model}
      </button>
    );
  if (step === 'hello')
    return result === undefined ? (
      <ActionButton
        disabled={!hasModel}
        act={async () => {
          await client.chats.post('hello', { text: text.home.hello });
          goTo('chat', 'hello');
        }}
      >
        {steps.sayHello}
      </ActionButton>
    ) : (
      <a className="button button-quiet" href={`#${pathTo('chat', result)}`}>
        {steps.open}
      </a>
    );
  if (result !== undefined) return null;
  return (
    <>
      <button type="button" className="button button-quiet" onClick={onSkip}>
        {steps.skip}
      </button>
      <a className="button" href="#/settings/channels">
        {steps.choose}
      </a>
    </>
  );
}

function bodyOf(step: SetupStep, isDone: boolean): ReactNode {
  if (step === 'code')
    return (
      <div className="mt-3">
        <Suspense fallback={<p className="text-faint">{text.loading}</p>}>
          <TryCode />
        </Suspense>
      </div>
    );
  if (step === 'model' && !isDone)
    return (
      <div className="mt-3">
        <Suspense fallback={<p className="text-faint">{text.loading}</p>}>
          <ConnectModel />
        </Suspense>
      </div>
    );
  return null;
}

function howText(step: SetupStep, hasModel: boolean): string {
  if (step === 'hello') return hasModel ? steps.helloHow : steps.helloNeeds;
  return { sandbox: steps.sandboxHow, code: steps.codeHow, model: steps.modelHow, channel: steps.channelHow }[
    step
  ];
}

function doneText(step: SetupStep, result: string): string {
  const shown = nameText(result);
  if (step === 'sandbox') return steps.sandboxDone(shown);
  if (step === 'model') return steps.modelDone(shown);
  if (step === 'channel') return shown === '' ? steps.skipped : steps.channelDone(shown);
  return step === 'code' ? steps.codeDone : steps.helloDone;
}
