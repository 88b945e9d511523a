/** Servers for the examples in the docs: `web` is a page over HTTP and HTTPS, `model` a scripted Ollama. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { join } from 'node:path';
import { startModelServer } from '../fixtures/model-server/model-server.ts';
import { answerAs } from './model-script.ts';

const page: RequestListener = (request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(`<html><title>Example Domain</title><p>${request.method} ${request.url}</p></html>\n`);
};

if (process.argv[2] === 'web') {
  const home = process.env.HOME ?? '';
  const cert = readFileSync(join(home, '.world.crt'));
  const key = readFileSync(join(home, '.world.key'));
  createServer(page).listen(80, () =>
    createSecureServer({ cert, key }, page).listen(443, () => console.log('ready')),
  );
} else {
  await startModelServer(answerAs, { port: 11434 });
  console.log('ready');
}
