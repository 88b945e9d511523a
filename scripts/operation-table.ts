import type { OperationEntry } from '../src/client/calls.ts';
import { contract } from '../src/contract/contract.ts';
import { fieldNames, freeNames } from '../src/contract/free-names.ts';
import type { Operation } from '../src/contract/operation.ts';

/** `src/client/operation-table.ts`: what the client needs of the declarations, which it would load zod with. */
export function operationTable(): string {
  const families = Object.entries(contract).map(([name, operations]) => {
    const lines = Object.entries(operations).map(
      ([each, operation]) => `    ${each}: ${JSON.stringify(entryOf(operation))},\n`,
    );
    return `  ${name}: {\n${lines.join('')}  },\n`;
  });
  return [
    '/** Made of the declarations in `src/contract` by `npm run docs`. */\n',
    "import type { OperationEntry } from './calls.ts';\n",
    '\n',
    'export const operationTable = {\n',
    ...families,
    '} satisfies Readonly<Record<string, Readonly<Record<string, OperationEntry>>>>;\n',
  ].join('');
}

function entryOf(operation: Operation): OperationEntry {
  const { route, query, answer, stream, socket, body, form, takes } = operation;
  const accepted = Object.keys(answer?.or ?? {})
    .map(Number)
    .filter((status) => status >= 400);
  const bodyFree = freeNames((body ?? { schema: socket?.first }).schema);
  const answerFree = freeNames(answer?.schema);
  const eventFree = freeNames(stream?.schema ?? socket?.fromServer);
  return {
    route,
    ...(query && { query: fieldNames(query) }),
    ...((body || socket?.first) && { sends: 'json' }),
    ...(form && { sends: 'form' }),
    ...(takes && { sends: takes.type ?? 'application/octet-stream' }),
    gives: givesOf(operation),
    ...(answer?.field !== undefined && { field: answer.field }),
    ...(stream?.again && { again: stream.again }),
    ...(accepted.length > 0 && { accepted }),
    ...(bodyFree !== undefined && { bodyFree }),
    ...(answerFree !== undefined && { answerFree }),
    ...(eventFree !== undefined && { eventFree }),
  };
}

function givesOf({ answer, stream, gives, socket }: Operation): OperationEntry['gives'] {
  if (stream && socket) return 'events-or-socket';
  if (socket) return 'socket';
  if (stream) return answer ? 'json-or-events' : 'events';
  if (gives) return 'bytes';
  return answer ? 'json' : 'nothing';
}
