import { useQuery } from '@tanstack/react-query';
import { Archive } from 'lucide-react';
import { useState } from 'react';
import { client } from '../api.ts';
import { bytesText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

const words = text.backups;

/** The backups of the whole host, and a new one. */
export function Backups() {
  const list = useQuery({ queryKey: ['backups'], queryFn: () => client.backups.list(), staleTime: 0 });
  const [progress, setProgress] = useState('');
  const make = async ({ name = '', passphrase = '' }: Readonly<Record<string, string>>) => {
    setProgress(text.loading);
    try {
      const made = await client.backups.create({
        ...(name !== '' && { name }),
        ...(passphrase !== '' && { passphrase }),
        onPart: (part) => setProgress(words.reading(nameText(part))),
      });
      const without = made.withoutFiles.map(nameText).join(', ');
      setProgress(
        `${words.made(nameText(made.name), bytesText(made.bytes))}. ${without === '' ? '' : words.without(without)}`,
      );
    } catch (error) {
      setProgress('');
      throw error;
    }
  };
  return (
    <>
      <Card title={words.title} isFlush>
        <Answer of={list}>
          {(all) =>
            all.length === 0 ? (
              <EmptyPlace icon={Archive} title={words.none} command="geode backup create">
                {words.noneHow}
              </EmptyPlace>
            ) : (
              <ul>
                {all.map(({ name, file, bytes, madeAt, encrypted }) => (
                  <li
                    key={name}
                    className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2 last:border-b-0"
                  >
                    <div className="min-w-0 flex-1">
                      <p className="break-words">{nameText(name)}</p>
                      <p className="text-sm break-all text-faint">
                        {timeText(madeAt)}, <code>{nameText(file)}</code>
                      </p>
                    </div>
                    <Badge tone={encrypted ? 'good' : 'plain'}>
                      {encrypted ? words.encrypted : words.open}
                    </Badge>
                    <span className="figures text-muted">{bytesText(bytes)}</span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Card title={words.make}>
        <ActionForm submit={words.make} act={make}>
          <TextField label={words.name} name="name" maxLength={100} />
          <TextField
            label={words.passphrase}
            name="passphrase"
            type="password"
            autoComplete="new-password"
            minLength={8}
          />
          <p className="text-sm text-muted">{words.passphraseHow}</p>
        </ActionForm>
        <p role="status" className="mt-2 break-words text-muted">
          {progress}
        </p>
      </Card>
      <p className="text-muted">{words.restore}</p>
      <Command line="geode backup verify FILE" />
      <Command line="geode backup restore FILE" />
    </>
  );
}
