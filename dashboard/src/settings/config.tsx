import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Setting } from '../../../src/config/load.ts';
import { client } from '../api.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Card } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { Answer } from '../ui/query.tsx';
import { Scrolled } from '../ui/scrolled.tsx';

/** Every setting with its value and its source. */
export function Config() {
  const settings = useQuery({ queryKey: ['settings'], queryFn: () => client.settings() });
  const [words, setWords] = useState('');
  return (
    <Card title={text.settings.config}>
      <TextField
        label={text.settings.filter}
        type="search"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      <Answer of={settings}>
        {(all) => (
          <Scrolled className="scroll mt-2" label={text.settings.config}>
            <table className="list">
              <thead>
                <tr>
                  <th>{text.settings.setting}</th>
                  <th>{text.settings.value}</th>
                  <th>{text.settings.from}</th>
                </tr>
              </thead>
              <tbody>
                {all
                  .filter(({ name, meaning }) => `${name} ${meaning}`.includes(words))
                  .map(({ name, value, source, meaning }) => (
                    <tr key={name}>
                      <td>
                        <code>{name}</code>
                        <p className="text-faint">{meaning}</p>
                      </td>
                      <td className="max-w-80 break-all">
                        <code>{nameText(JSON.stringify(value) ?? '')}</code>
                      </td>
                      <td className="break-all">{sourceText(source)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scrolled>
        )}
      </Answer>
    </Card>
  );
}

function sourceText(source: Setting['source']): string {
  if (source.from === 'file') return nameText(source.path);
  return source.from === 'variable' ? source.name : source.from;
}
