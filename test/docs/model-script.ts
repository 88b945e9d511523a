/** The scripted model of the examples in the docs: what it answers to each message, round for round. */
import { z } from 'zod';
import type { ModelCall, Reply } from '../fixtures/model-server/model-server.ts';

const shell = (command: string): Reply => ({ text: '', calls: [{ tool: 'shell', input: { command } }] });

const answers: Readonly<Record<string, readonly Reply[]>> = {
  'write primes.py, which prints the primes below 20, and run it': [
    shell(
      "printf 'print([n for n in range(2, 20) if all(n %% d for d in range(2, n))])\\n' > primes.py && python3 primes.py",
    ),
    { text: 'primes.py prints 2, 3, 5, 7, 11, 13, 17 and 19.' },
  ],
  'Write hello.py that prints hello, and run it': [
    shell(`echo 'print("hello")' > hello.py && python3 hello.py`),
    { text: 'hello.py prints hello.' },
  ],
  'hello there': [{ text: 'Hello to you.' }],
  'What does it print?': [{ text: 'hello' }],
  'which files are here?': [shell('ls'), { text: 'Two files: note.txt and primes.py.' }],
};

const messagesSchema = z.object({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});

/** The reply after as many tool results as came since the last message of a person. */
export function answerAs({ body }: ModelCall): Reply {
  const { messages } = messagesSchema.parse(body);
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const asked = JSON.stringify(messages[last]?.content);
  const results = messages.slice(last).filter(({ role }) => role === 'tool').length;
  const [, replies = []] = Object.entries(answers).find(([words]) => asked.includes(words)) ?? [];
  return replies[results] ?? { text: `Nothing is scripted for ${asked}` };
}
