import { useState } from 'react';
import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { Command } from '../ui/command.tsx';
import { Choice, TextField } from '../ui/field.tsx';
import { useModel } from '../use-model.ts';
import { driverNames, driverText } from './agent-events.ts';
import { uploaded, withPaths } from './attachments.ts';
import { ChatLinks } from './chat-links.tsx';
import { Composer, type Outgoing } from './composer.tsx';
import { useChats } from './use-chats.ts';

const draft = ' new';
const nothingGiven = { words: '', turn: 0 };

/** The first message of a chat. Its name is that of its sandbox; without one it is made of the words. */
export function NewChat() {
  const [name, setName] = useState('');
  const [driver, setDriver] = useState('');
  const chats = useChats();
  const model = useModel();
  const send = async ({ words, files }: Outgoing) => {
    const chat = name.trim() === '' ? freeName(words, new Set(chats.map((each) => each.name))) : name.trim();
    const chosen = driverNames.find((each) => driverText(each) === driver);
    if (chosen !== undefined) await client.agents.open(chat, { driver: chosen });
    await client.chats.post(chat, { text: withPaths(words, await uploaded(chat, files)) });
    goTo('chat', chat);
  };
  return (
    <>
      <Bar title={text.chat.new} />
      <Content width="max-w-[744px]">
        <div className="flex flex-col gap-4 pt-[6dvh]">
          <div>
            <h2 className="text-h1 font-semibold">{text.chat.start}</h2>
            <p className="text-chat text-muted">{text.chat.startHow}</p>
          </div>
          <Composer
            chat={draft}
            isWorking={false}
            onSend={send}
            onStop={() => {}}
            given={nothingGiven}
            lastWords=""
          />
          <div className="grid gap-3 md:grid-cols-2">
            <TextField
              label={text.chat.name}
              maxLength={200}
              value={name}
              placeholder={text.chat.nameHow}
              onChange={({ target }) => setName(target.value)}
            />
            <Choice
              label={text.chat.driver}
              options={[
                model === undefined ? text.chat.usual : `${text.chat.usual}: ${model}`,
                ...driverNames.map(driverText),
              ]}
              value={driver}
              onChange={({ target }) => setDriver(target.value)}
            />
          </div>
        </div>
        {chats.length === 0 && <Command line='geode chat hello -m "Hello! What can you do here?"' />}
        <div className="lg:hidden">
          <ChatLinks />
        </div>
      </Content>
    </>
  );
}

/** A short name of the first words, such as `fix-the-flaky-test`. */
function freeName(words: string, taken: ReadonlySet<string>): string {
  const parts = words.toLowerCase().match(/[a-z0-9]+/g) ?? ['chat'];
  const base = parts.slice(0, 5).join('-').slice(0, 40);
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(name)) return name;
  }
}
