import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CircleCheck, LoaderCircle } from 'lucide-react';
import { useState } from 'react';
import { client, readSession } from '../api.ts';
import { costText, durationText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';

const words = text.connect;

const choices = {
  anthropic: { kind: 'anthropic', service: 'anthropic', model: 'claude-sonnet-4-5', address: '' },
  openai: { kind: 'openai', service: 'openai', model: 'gpt-5', address: '' },
  ollama: {
    kind: 'openai-compatible',
    service: 'ollama',
    model: '',
    address: 'http://127.0.0.1:11434/v1',
  },
  other: { kind: 'openai-compatible', service: 'local', model: '', address: '' },
} as const;
type Choice = keyof typeof choices;

/** Tests a provider with one real call, then saves it; the host uses it at once. */
export default function ConnectModel({ onSaved }: { readonly onSaved?: () => void }) {
  const session = useQuery({ queryKey: ['session'], queryFn: readSession });
  if (session.data?.scopes.includes('admin') === false)
    return (
      <div className="flex flex-col gap-2">
        <p className="text-muted">{words.forOperators}</p>
        <Command line="geode onboard provider" />
      </div>
    );
  return <ConnectForm onSaved={onSaved} />;
}

function ConnectForm({ onSaved }: { readonly onSaved: (() => void) | undefined }) {
  const [choice, setChoice] = useState<Choice>('anthropic');
  const [key, setKey] = useState('');
  const [fields, setFields] = useState<{ service: string; model: string; address: string }>(
    choices.anthropic,
  );
  const secrets = useQuery({ queryKey: ['secrets'], queryFn: () => client.secrets.list() });
  const queries = useQueryClient();
  const { kind } = choices[choice];
  const isOwn = kind === 'openai-compatible';
  const hasStoredKey =
    secrets.data?.some(({ name }) => name === fields.service.replaceAll('_', '-')) ?? false;
  const provider = {
    service: fields.service.trim(),
    kind,
    model: fields.model.trim(),
    ...(isOwn && { baseUrl: fields.address.trim() }),
    ...(key !== '' && { key: key.trim() }),
  };
  const test = useMutation({ mutationFn: () => client.providers.test(provider) });
  const save = useMutation({
    mutationFn: async () => {
      // A provider that was tested as it is need not be asked again.
      if (test.data === undefined) await test.mutateAsync();
      return client.providers.connect(provider);
    },
    onSuccess: async () => {
      setKey('');
      await queries.invalidateQueries();
      onSaved?.();
    },
  });
  const change = (next: Partial<typeof fields>) => {
    setFields((now) => ({ ...now, ...next }));
    forget();
  };
  const forget = () => {
    test.reset();
    save.reset();
  };
  const isBusy = test.isPending || save.isPending;
  const isComplete =
    provider.service !== '' &&
    provider.model !== '' &&
    (isOwn ? fields.address.trim() !== '' : key !== '' || hasStoredKey);
  const error = test.error ?? save.error;
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (isComplete && !isBusy) save.mutate();
      }}
    >
      <fieldset className="grid grid-cols-2 gap-2 lg:grid-cols-4">
        <legend className="sr-only">{words.provider}</legend>
        {(Object.keys(choices) as Choice[]).map((each) => (
          <label
            key={each}
            className="flex cursor-pointer flex-col rounded-control border border-control px-3 py-2 has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-offset-1 has-focus-visible:outline-accent-text"
          >
            <input
              type="radio"
              name="provider"
              className="sr-only"
              checked={each === choice}
              disabled={isBusy}
              onChange={() => {
                setChoice(each);
                setKey('');
                change(choices[each]);
              }}
            />
            <span className="font-medium">{words.providers[each].name}</span>
            <span className="text-sm text-muted">{words.providers[each].what}</span>
          </label>
        ))}
      </fieldset>
      <div className="grid gap-3 md:grid-cols-2">
        {choice === 'other' && (
          <TextField
            label={words.service}
            value={fields.service}
            disabled={isBusy}
            onChange={({ target }) => change({ service: target.value })}
          />
        )}
        {isOwn && (
          <TextField
            label={words.address}
            type="url"
            placeholder={choices.ollama.address}
            value={fields.address}
            disabled={isBusy}
            onChange={({ target }) => change({ address: target.value })}
          />
        )}
        {choice !== 'ollama' && (
          <TextField
            label={hasStoredKey ? words.keyStored : isOwn ? words.keyMaybe : words.key}
            type="password"
            autoComplete="off"
            value={key}
            disabled={isBusy}
            onChange={({ target }) => {
              setKey(target.value);
              forget();
            }}
          />
        )}
        <TextField
          label={words.model}
          value={fields.model}
          disabled={isBusy}
          onChange={({ target }) => change({ model: target.value })}
        />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <button type="submit" className="button button-main" disabled={!isComplete || isBusy}>
          {words.save}
        </button>
        <button
          type="button"
          className="button"
          disabled={!isComplete || isBusy}
          onClick={() => test.mutate()}
        >
          {test.data === undefined && error === null ? words.test : words.testAgain}
        </button>
        <p role="status" className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2">
          {isBusy && (
            <>
              <LoaderCircle aria-hidden size={14} className="spin shrink-0" />
              {words.testing}
            </>
          )}
          {!isBusy && (save.data ?? test.data) !== undefined && (
            <span className="flex items-center gap-1.5 text-good">
              <CircleCheck aria-hidden size={14} strokeWidth={1.75} className="shrink-0" />
              {save.data === undefined
                ? words.answered(durationText(test.data?.durationMs ?? 0))
                : words.saved(nameText(save.data.model))}
            </span>
          )}
          {!isBusy && save.data === undefined && test.data?.cost != null && (
            <span className="text-muted">{words.testCost(costText(test.data.cost))}</span>
          )}
        </p>
      </div>
      {save.data?.warning != null && <p className="break-words text-warn">{nameText(save.data.warning)}</p>}
      {error && <Problem error={error} />}
    </form>
  );
}
