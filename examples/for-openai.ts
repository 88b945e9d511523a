// A program for OpenAI's API, unchanged: the model is an agent in a sandbox of your own machine.
// OPENAI_BASE_URL=http://127.0.0.1:4430/v1 OPENAI_API_KEY=geode_… node examples/for-openai.ts
import OpenAI from 'openai';

const client = new OpenAI();
const stream = await client.chat.completions.create({
  model: 'geode',
  messages: [{ role: 'user', content: 'Write the word hello to hello.txt, and count its letters.' }],
  stream: true,
});
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '');

// The next question goes to the same sandbox.
const first = await client.responses.create({ model: 'geode', input: 'Remember the number 7.' });
const second = await client.responses.create({
  model: 'geode',
  input: 'Which number was it?',
  previous_response_id: first.id,
});
process.stdout.write(`\n${second.output_text}\n`);
