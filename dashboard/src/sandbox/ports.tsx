import { useState } from 'react';
import { client } from '../api.ts';
import { text } from '../text.ts';
import { Card } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';

export function Ports({ chat }: { readonly chat: string }) {
  const [links, setLinks] = useState<readonly (readonly [port: number, url: string])[]>([]);
  return (
    <Card title={text.ports.title}>
      <p className="mb-2 text-faint">{text.ports.how}</p>
      <ActionForm
        submit={text.ports.open}
        act={async ({ port = '' }) => {
          const url = await client.sandboxes.of(chat).preview(Number(port));
          setLinks((before) => [[Number(port), url], ...before.filter(([each]) => each !== Number(port))]);
        }}
      >
        <TextField label={text.ports.port} name="port" type="number" min={1} max={65_535} required />
      </ActionForm>
      <ul className="mt-3">
        {links.map(([port, url]) => (
          <li key={port}>
            <a href={url} target="_blank" rel="noopener noreferrer">
              {text.ports.link} {port}
            </a>{' '}
            <span className="text-faint">{text.ports.private}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
