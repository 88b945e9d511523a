import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asObject, operationsOf, requestsFor } from './openapi-fuzz.ts';
import { type Caller, startTestServer, type TestServer } from './server-fixture.ts';

let server: TestServer;
let call: Caller;
let document: ReturnType<typeof asObject>;
let ajv: Ajv2020;

beforeAll(async () => {
  server = await startTestServer();
  call = server.caller('fuzzer');
  document = asObject((await call('/openapi.json')).body);
  ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'api');
});
afterAll(() => server[Symbol.asyncDispose]());

test('the document is OpenAPI 3.1 and names every path', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(Object.keys(asObject(document.paths)).sort()).toEqual([
    '/api/v1/context',
    '/api/v1/context/bulk',
    '/api/v1/context/categories',
    '/api/v1/context/files',
    '/api/v1/context/ingest',
    '/api/v1/context/search',
    '/api/v1/context/{id}',
    '/api/v1/keys',
    '/api/v1/keys/{id}',
    '/api/v1/machine',
    '/api/v1/memory/audit',
    '/api/v1/memory/reindex',
    '/api/v1/memory/stats',
    '/health',
    '/ready',
  ]);
});

test('REL-3: answers random input with a status that the document declares, never a 500', {
  timeout: 300_000,
}, async () => {
  const accepted = new Set<string>();
  for (const operation of operationsOf(document)) {
    await fc.assert(
      fc.asyncProperty(requestsFor(document, operation), async ({ path, body, contentType }) => {
        const reply = await call(path, {
          method: operation.method.toUpperCase(),
          ...(body !== undefined && { body: bodyOf(body, contentType) }),
          ...(contentType === 'application/json' && { headers: { 'content-type': contentType } }),
        });
        expect(reply.status, reply.text).toBeLessThan(500);
        if (reply.status < 300) accepted.add(`${operation.method} ${operation.path}`);
        const pointer = `/paths/${escapePointer(operation.path)}/${operation.method}/responses/${reply.status}`;
        const declared = asObject(asObject(operation.operation.responses)[String(reply.status)]);
        expect(
          declared,
          `${operation.method} ${path} answered ${reply.status}, which is not declared`,
        ).not.toEqual({});
        if (reply.body === undefined) return;
        const matches = ajv.compile({ $ref: `api#${pointer}/content/application~1json/schema` });
        expect(matches(reply.body), `${reply.text}\n${ajv.errorsText(matches.errors)}`).toBe(true);
      }),
      // There is nothing to vary where nothing is taken.
      { numRuns: operation.operation.parameters || operation.operation.requestBody ? 160 : 3 },
    );
  }
  // A fuzz that is always refused proves little. The id of a key is not guessed.
  const refused = operationsOf(document).filter(({ method, path }) => !accepted.has(`${method} ${path}`));
  expect(refused.map(({ method, path }) => `${method} ${path}`)).toEqual(['delete /api/v1/keys/{id}']);
});

function bodyOf(body: unknown, contentType: string | undefined): string | FormData {
  if (contentType !== 'multipart/form-data') return JSON.stringify(body);
  const form = new FormData();
  for (const [name, value] of Object.entries(asObject(body))) {
    for (const each of [value].flat()) {
      const text = String(typeof each === 'object' ? JSON.stringify(each) : each).toWellFormed();
      if (name === 'file') form.append(name, new File([text], `${text.slice(0, 20)}.txt`));
      else form.append(name, text);
    }
  }
  return form;
}

function escapePointer(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'));
}
