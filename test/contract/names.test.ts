import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { camelName, snakeName } from '../../src/contract/names.ts';
import { fromWire, toWire } from '../../src/contract/rename.ts';

const document: unknown = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
);

test('every name of the API stays the same when converted to camelCase and back', () => {
  const names = new Set(namesIn(document));
  expect(names.size).toBeGreaterThan(300);
  expect([...names].filter((name) => snakeName(camelName(name)) !== name)).toEqual([]);
  // Two names of the wire must not become one in code.
  expect(new Set([...names].map(camelName)).size).toBe(names.size);
});

test('names chosen by the caller are not converted in either direction', () => {
  const free = { env: true, files: { '*': {} } } as const;
  const env = JSON.parse('{"MY_NAME": "x", "someName": "y", "__proto__": "z"}');
  const own = {
    env,
    files: { 'my_file.py': { sizeBytes: 1 } },
    limitMs: undefined,
    atLast: [{ isNew: true }],
  };
  const wire = { env, files: { 'my_file.py': { size_bytes: 1 } }, at_last: [{ is_new: true }] };
  expect(toWire(own, free)).toEqual(wire);
  expect(JSON.stringify(toWire(own, free))).toBe(JSON.stringify(wire));
  const { limitMs: _, ...given } = own;
  expect(fromWire(wire, free)).toEqual(given);
});

/** Fields of schemas, and names of queries; what a path is called has no form in code. */
function namesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  const fields =
    'properties' in value && typeof value.properties === 'object'
      ? Object.keys(Object(value.properties))
      : [];
  const query =
    'in' in value && value.in === 'query' && 'name' in value && typeof value.name === 'string'
      ? [value.name]
      : [];
  return [...fields, ...query, ...Object.values(value).flatMap(namesIn)];
}
